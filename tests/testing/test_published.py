import pika
import pytest

from pybroker.testing.published import BODY_CHARACTERS_SHOWN, SHOWN_MAX, Published, shown


def message(**facts):
    given = {"exchange": "x", "routing_keys": ("k",), "body": b"1", "properties": {}, "queues": ("q",)}
    return Published(**{**given, "connection": "c", **facts})


def test_a_message_is_told_in_a_line():
    assert str(message()) == "exchange 'x', key 'k': '1' -> q"
    assert str(message(queues=())).endswith("-> no queue")
    assert str(message(body=b"y" * 100)).endswith(f"{'y' * BODY_CHARACTERS_SHOWN}... (100 octets)' -> q")


def test_of_very_many_the_last_are_shown():
    lines = shown([message(body=b"%d" % n) for n in range(SHOWN_MAX + 2)]).splitlines()
    assert lines[0] == "  (2 earlier ones)"
    assert len(lines) == SHOWN_MAX + 1
    assert f"'{SHOWN_MAX + 1}'" in lines[-1]


def test_bodies_as_text_and_json():
    found = message(body=b'{"id": 7}', properties={"headers": {"a": 1}})
    assert found.json() == {"id": 7}
    assert found.text == '{"id": 7}'
    assert found.headers == {"a": 1}
    assert message().headers == {}


def test_the_recorder_has_what_was_published_and_nothing_changes_for_others(vhost, connect):
    _, channel = connect()
    channel.exchange_declare("events", "topic")
    channel.queue_declare("all")
    channel.queue_bind("all", "events", "order.#")
    properties = pika.BasicProperties(content_type="text/plain", headers={"n": 1, "o": b"\x01"}, delivery_mode=2)
    channel.basic_publish("events", "order.created", b"\xff", properties)
    channel.basic_publish("events", "unknown", b"lost")
    with pytest.raises(pika.exceptions.UnroutableError):
        channel.basic_publish("", "nowhere", b"returned", mandatory=True)
    first, second, third = vhost.messages
    assert (first.exchange, first.routing_key, first.body, list(first.queues)) == (
        "events",
        "order.created",
        b"\xff",
        ["all"],
    )
    assert first.properties["content_type"] == "text/plain"
    assert first.headers["n"] == 1
    assert [list(each.queues) for each in (second, third)] == [[], []]
    assert vhost.queues == ["all"]
    assert vhost.messages[:3] == [first, second, third]


def test_a_policy_of_the_application_does_not_reach_the_recorder(vhost, connect):
    definition = '{"max-length":0,"message-ttl":0,"expires":1}'
    for command in ("set_policy", "set_operator_policy"):
        words = {"name": "mine", "pattern": "", "definition": definition, "priority": 1_000_000}
        vhost.broker.request(command, vhost=vhost.name, apply_to="queues", **words)
    _, channel = connect()
    for n in range(5):
        channel.basic_publish("amq.fanout", "", b"%d" % n)
    assert [each.body for each in vhost.messages] == [b"0", b"1", b"2", b"3", b"4"]
