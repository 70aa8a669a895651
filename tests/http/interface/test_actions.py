"""Changes through the interface in Chromium: each form once, and then a look at the node."""

import json

from tests.http.interface.steps import answer, go, of, press, submit

NAME = "a/b <i>"
QUEUE = of("queues", "/", NAME)


def test_the_life_of_a_queue(page, node):
    go(page, "#/queues")
    press(page, "Add queue")
    answer(page, name=NAME, **{"x-max-length": "5", "more": '{"x-single-active-consumer": true}'})
    page.wait(f"document.querySelector('main h1')?.textContent === {json.dumps(NAME)}")
    (queue,) = [each for each in node("list_queues", "name", "arguments") if each["name"] == NAME]
    assert {name: value for name, _, value in queue["arguments"]} == {
        "x-max-length": 5,
        "x-single-active-consumer": True,
    }
    go(page, f"{QUEUE}?tab=publish")
    page.fill("[name=payload]", "<b>hello</b>")
    page.fill("[name=headers]", '{"country": "fr"}')
    submit(page)
    page.wait_for_text("Published.")
    go(page, f"{QUEUE}?tab=messages")
    page.wait("document.querySelector('[name=ackmode]')")
    page.click("main .card form button")
    page.wait_for_text("<b>hello</b>")
    go(page, f"{QUEUE}?tab=bindings")
    page.wait("document.querySelectorAll('tbody tr').length === 1")  # the form is drawn anew with them
    page.fill("[name=source]", "amq.topic")
    page.fill("[name=routing_key]", "a.#")
    submit(page)
    page.wait("document.querySelectorAll('tbody tr').length === 2")
    press(page, "Delete")
    answer(page)
    page.wait("document.querySelectorAll('tbody tr').length === 1")
    press(page, "Delete …")
    page.wait("document.querySelector('dialog [name=confirm]')")
    page.fill("dialog [name=confirm]", "another")
    page.click("dialog footer button:last-child")
    page.wait_for_text("The name is another one.")
    page.press("Escape")
    press(page, "Purge …")
    answer(page)
    page.wait_for_text("purged")
    page.wait(f"document.querySelector('main h1')?.textContent === {json.dumps(NAME)}")
    assert [each["messages"] for each in node("list_queues", "name", "messages") if each["name"] == NAME] == [0]
    go(page, "#/queues?name=" + NAME.partition("/")[0])
    page.wait("document.querySelector('tbody input')")
    page.click("thead input")
    press(page, "Delete …")
    answer(page)
    page.wait_for_text("1 queue deleted.")
    assert NAME not in [each["name"] for each in node("list_queues", "name")]


def test_the_life_of_an_exchange(page, node):
    go(page, "#/exchanges")
    press(page, "Add exchange")
    answer(page, name=NAME, alternate="amq.fanout")
    page.wait(f"document.querySelector('main h1')?.textContent === {json.dumps(NAME)}")
    assert NAME in [each["name"] for each in node("list_exchanges", "name")]
    press(page, "Delete …")
    answer(page)
    page.wait_for_text("deleted")
    assert NAME not in [each["name"] for each in node("list_exchanges", "name")]


def test_the_life_of_a_user_and_of_a_virtual_host(page, node):
    go(page, "#/vhosts")
    press(page, "Add virtual host")
    answer(page, name="shop", description="A shop", tags="one, two")
    page.wait("document.querySelector('main h1')?.textContent === 'shop'")
    go(page, "#/users")
    press(page, "Add user")
    answer(page, name="ann", password="secret", tags="monitoring")
    page.wait("document.querySelector('main h1')?.textContent === 'ann'")
    press(page, "Give permissions …")
    page.wait("document.querySelector('dialog select')")
    page.run("document.querySelector('dialog select').value = 'shop'")
    answer(page, configure="", write="^out")
    page.wait_for_text("^out")
    assert node("list_user_permissions", "ann") == [{"vhost": "shop", "configure": "", "write": "^out", "read": ".*"}]
    press(page, "Change …")
    answer(page, tags="management")
    page.wait_for_text("User changed.")
    assert [each["tags"] for each in node("list_users") if each["user"] == "ann"] == [["management"]]
    node("authenticate_user", "ann", "secret")
    press(page, "Delete …")
    answer(page)
    page.wait_for_text("deleted")
    go(page, "#/vhosts/shop")
    press(page, "Delete …")
    answer(page, confirm="shop")
    page.wait_for_text("deleted")
    assert [each["name"] for each in node("list_vhosts", "name")] == ["/"]


def test_policies_and_limits(page, node):
    go(page, "#/policies")
    press(page, "Add …")
    answer(page, name="short", pattern="^short", definition='{"max-length": 10}')
    page.wait_for_text("^short")
    assert [(each["name"], each["pattern"]) for each in node("list_policies")] == [("short", "^short")]
    press(page, "Clear")
    answer(page)
    page.wait_for_text("There are no policies.")
    go(page, "#/limits")
    press(page, "Set limits …")
    answer(page, **{"max-queues": "100"})
    page.wait_for_text("100")
    assert "100" in str(node("list_vhost_limits"))


def test_a_refusal_stays_in_the_dialog(page):
    go(page, "#/queues")
    press(page, "Add queue")
    page.wait("document.querySelector('dialog[open]')")
    page.fill("dialog [name=name]", "amq.mine")
    page.click("dialog footer button:last-child")
    page.wait("document.querySelector('dialog .error').innerText")
    page.fill("dialog [name=more]", "{")
    page.click("dialog footer button:last-child")
    page.wait_for_text("Further arguments is not JSON")
    page.press("Escape")
    page.wait("!document.querySelector('dialog')")
