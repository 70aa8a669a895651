"""Orders of operators in Chromium: messages looked at, moved, redriven, traced; queues paused; definitions imported."""

import json
import time

import pika
import pytest

from tests.http.interface.browser import WAIT_S
from tests.http.interface.steps import answer, choose, go, of, press, submit
from tests.interop.stream.client import Client

COUNTRIES = ("fr", "de", "fr")


@pytest.fixture(scope="module")
def client(site):
    """A client's channel."""
    parameters = pika.ConnectionParameters("127.0.0.1", site.daemon.port, heartbeat=0)
    connection = pika.BlockingConnection(parameters)
    channel = connection.channel()
    channel.confirm_delivery()
    yield channel
    connection.close()


@pytest.fixture
def queue(client):
    """A queue with three messages, by name and address."""
    client.queue_declare("letters", durable=True)
    for number, country in enumerate(COUNTRIES):
        properties = pika.BasicProperties(headers={"country": country}, delivery_mode=2)
        client.basic_publish("", "letters", f"<b>letter {number}</b>".encode(), properties)
    yield of("queues", "/", "letters")
    client.queue_delete("letters")


def counts(node, *columns):
    return {each["name"]: [each[name] for name in columns] for each in node("list_queues", "name", *columns)}


def test_a_look_changes_nothing(page, node, client, queue):
    go(page, f"{queue}?tab=messages")
    page.wait("document.querySelector('[name=where]')")
    page.fill("[name=where]", "country=fr")
    submit(page)
    page.wait_for_text("2 messages seen, none touched")
    assert page.run("[...document.querySelectorAll('.message pre')].map((one) => one.textContent)") == [
        "<b>letter 0</b>",
        "<b>letter 2</b>",
    ]
    press(page, "Hex")
    page.wait_for_text("000000  3c 62 3e")
    assert counts(node, "messages_ready")["letters"] == [3]
    method, _, body = client.basic_get("letters", auto_ack=True)
    assert (method.redelivered, body) == (False, b"<b>letter 0</b>")


def test_messages_are_moved_after_a_dry_run(page, node, client, queue):
    client.queue_declare("others")
    go(page, f"{queue}?tab=move")
    page.wait("document.querySelector('[name=target]')")
    page.fill("[name=target]", "others")
    page.fill("[name=where]", "country=fr")
    press(page, "Dry run")
    page.wait_for_text("2 messages would be moved")
    assert counts(node, "messages")["others"] == [0]
    press(page, "Move messages")
    page.wait_for_text("2 messages moved")
    assert (counts(node, "messages")["letters"], counts(node, "messages")["others"]) == ([1], [2])
    client.queue_delete("others")


def test_dead_letters_go_back(page, node, client):
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    client.queue_declare("alive", arguments=arguments)
    client.queue_declare("dead")
    client.basic_publish("", "alive", b"x")
    method, _, _ = client.basic_get("alive")
    client.basic_reject(method.delivery_tag, requeue=False)
    go(page, "#/queues?preset=dead")
    page.wait("document.querySelector('tbody th')?.innerText === 'alive'")
    go(page, of("queues", "/", "dead") + "?tab=move")
    page.wait("document.querySelector('[name=reason]')")
    page.run("document.querySelector('[name=reason]').form.requestSubmit()")
    page.wait_for_text("would be moved")
    press(page, "Redrive dead letters")
    page.wait_for_text("1 message moved")
    assert counts(node, "messages") == {"alive": [1], "dead": [0]}
    client.queue_delete("alive")
    client.queue_delete("dead")


def test_a_queue_is_paused_and_resumed(page, node, queue):
    go(page, queue)
    press(page, "Pause …")
    answer(page, why="The printer burns")
    page.wait_for_text("Publishers and consumers wait: The printer burns. Paused by guest")
    assert counts(node, "paused")["letters"] == ["publish,consume"]
    press(page, "Resume")
    page.wait("!document.querySelector('main .banner')")
    assert counts(node, "paused")["letters"] == [""]


@pytest.mark.usefixtures("queue")
def test_a_message_is_followed(page, client):
    go(page, "#/trace")
    page.wait("document.querySelector('[name=queue]')")
    page.fill("[name=queue]", "letters")
    submit(page)
    page.wait_for_text("No such message has been published yet.")
    # Nothing tells that the node has begun to look.
    deadline = time.monotonic() + WAIT_S
    while not page.run("Boolean(document.querySelector('tbody tr'))"):
        assert time.monotonic() < deadline
        client.basic_publish("", "letters", b"followed")
        time.sleep(0.02)
    page.wait("[...document.querySelectorAll('tbody b')].some((one) => one.innerText === 'published')")
    # It may end by itself.
    page.run("[...document.querySelectorAll('main button')].find((one) => one.innerText === 'Stop')?.click()")
    page.wait("[...document.querySelectorAll('main button')].some((one) => one.innerText === 'Start')")


@pytest.mark.usefixtures("queue")
def test_a_policy_is_tried_before_it_is_set(page, node):
    go(page, "#/policies")
    press(page, "Add …")
    page.wait("document.querySelector('dialog[open]')")
    page.fill("dialog [name=pattern]", "^let")
    page.fill("dialog [name=definition]", '{"max-length": 1}')
    page.wait_for_text("Would apply to 1 queue and 0 exchanges. 2 messages would be dropped at once.")
    page.press("Escape")
    page.wait("!document.querySelector('dialog')")
    assert node("list_policies") == []


def test_definitions_are_imported_after_a_look_at_the_plan(page, node, tmp_path):
    document = {
        "vhosts": [{"name": "imported"}],
        "queues": [{"name": "<q>", "vhost": "imported", "durable": True, "auto_delete": False, "arguments": {}}],
    }
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(document))
    go(page, "#/definitions")
    page.wait("document.querySelector('[type=file]')")
    page.attach("[type=file]", file)
    page.wait_for_text("Plan: definitions.json")
    assert "<q>" in page.run("document.querySelector('main table').innerText")
    assert [each["name"] for each in node("list_vhosts", "name")] == ["/"]
    press(page, "Import")
    page.wait_for_text("definitions.json imported.")
    assert [each["name"] for each in node("list_queues", "name", "--vhost", "imported")] == ["<q>"]
    node("delete_vhost", "imported")


def test_permissions_are_changed_and_taken_away(page, node):
    node("add_user", "eve", "secret")
    node("set_permissions", "eve", "^a", "^b", "^c")
    go(page, of("users", "eve"))
    press(page, "Change")
    answer(page, read="^d")
    page.wait_for_text("^d")
    assert node("list_user_permissions", "eve") == [{"vhost": "/", "configure": "^a", "write": "^b", "read": "^d"}]
    press(page, "Restrict …")
    answer(page, exchange="amq.topic", write="^orders")
    page.wait_for_text("^orders")
    assert [each["write"] for each in node("list_user_topic_permissions", "eve")] == ["^orders"]
    press(page, "Lift")
    answer(page)
    page.wait_for_text("routing keys are not restricted")
    press(page, "Take away")
    answer(page)
    page.wait_for_text("This user may enter no virtual host.")
    assert node("list_user_permissions", "eve") == []
    node("delete_user", "eve")


def test_a_stream_has_a_form_and_a_page_of_its_own(page, node, client):
    go(page, "#/queues")
    press(page, "Add queue")
    page.wait("document.querySelector('dialog [name=x-max-priority]')")
    choose(page, "x-queue-type", "stream")
    page.wait("!document.querySelector('dialog [name=x-max-priority]')")
    answer(page, name="log", **{"x-max-age": "7D"})
    page.wait_for_text("First offset")
    (found,) = [each for each in node("list_queues", "name", "type", "arguments") if each["name"] == "log"]
    assert (found["type"], {name: value for name, _, value in found["arguments"]}) == (
        "stream",
        {"x-queue-type": "stream", "x-max-age": "7D"},
    )
    client.basic_publish("", "log", b"kept")
    assert "Move and redrive" not in page.text()
    buttons = page.run("[...document.querySelectorAll('main button')].map((each) => each.innerText)")
    assert "Delete …" in buttons
    assert "Purge …" not in buttons
    go(page, f"{of('queues', '/', 'log')}?tab=messages")
    submit(page)
    page.wait_for_text("kept")
    assert "Get messages" not in page.text()
    assert "Unacknowledged too" not in page.text()
    go(page, f"{of('queues', '/', 'log')}?tab=consumers")
    page.wait_for_text("Nobody consumes from this queue.")
    go(page, "#/queues")
    page.wait_for_text("stream")
    node("delete_queue", "log")


def stream_place(site):
    """Return the address of the node's listener of the stream protocol."""
    return "127.0.0.1", int(site.daemon.places["stream listener"][0].rpartition(":")[2])


def test_clients_of_streams_are_shown_where_they_are(page, node, site):
    with Client(stream_place(site)).open() as reader, Client(stream_place(site)).open() as writer:
        writer.create("log")
        writer.declare(7, "log", "billing")
        writer.number(7, range(1, 4))
        for client in (writer, reader):
            client.subscribe(5, "log", credit=0, name="tally")
        name = f"127.0.0.1:{writer.socket.getsockname()[1]} -> 127.0.0.1:{stream_place(site)[1]}"
        go(page, f"{of('queues', '/', 'log')}?tab=publishers")
        page.wait_for_text("billing")
        go(page, f"{of('queues', '/', 'log')}?tab=consumers")
        page.wait("document.querySelectorAll('tbody tr').length === 2")
        cells = page.run("[...document.querySelector('tbody tr').children].map((each) => each.innerText)")
        assert "3" in cells
        links = page.run("[...document.querySelectorAll('tbody a')].map((each) => each.innerText)")
        assert name in links
        go(page, "#/connections")
        page.wait_for_text(name)
        go(page, of("connections", name))
        page.wait_for_text("Publishers")
        assert "Channels" not in page.text().split("Publishers", 1)[1]
        for words in ("billing", "name = tally", "Behind by"):
            assert words in page.text()
        assert page.run("[...document.querySelectorAll('main table')].length") == 2
        assert page.run("document.querySelectorAll('main .banner').length") == 0
        go(page, "#/queues")
        writer.delete("log")
