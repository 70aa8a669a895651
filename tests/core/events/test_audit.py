import json

import pytest

from pybroker.core.events.audit import OCTETS_MAX, SHOWN, Entry, capped, document, is_logged, line, shown
from pybroker.core.events.cause import Cause

CLIENT = Cause("client", "guest", "10.0.0.7:4711 -> 10.0.0.1:5672")


def entry(event: str, cause: Cause | None = CLIENT, more=None, **facts: object) -> Entry:
    return Entry(1_700_000_000_123, event, facts, cause, more or {})


def test_a_line_is_one_json_object_with_the_same_keys_always():
    text = line(entry("queue.created", name="q", vhost="/", durable=True, arguments={"x-max-length": 5}, owner_pid=""))
    assert text.endswith("}\n")
    assert {
        "time": "2023-11-14T22:13:20.123+00:00",
        "event": "queue.created",
        "vhost": "/",
        "name": "q",
        "user": "guest",
        "connection": "10.0.0.7:4711 -> 10.0.0.1:5672",
        "peer": "10.0.0.7:4711",
        "cause": "client",
        "facts": {"durable": True, "arguments": {"x-max-length": 5}},
    } == json.loads(text)


@pytest.mark.parametrize("event", sorted(SHOWN))
def test_no_event_shows_what_its_name_does_not_promise(event):
    """No secret leaves, whatever an event carries."""
    secrets = dict.fromkeys(("password", "password_hash", "value", "client_properties", "response"), "hunter2")
    facts = {"name": "n", "username": "n", "user": "n", "source": "n", "destination_name": "n", "vhost": "/", **secrets}
    assert "hunter2" not in line(entry(event, None, **facts))


@pytest.mark.parametrize(
    ("event", "facts", "name"),
    [
        ("binding.deleted", {"destination_name": "q", "source_name": "x"}, "q"),
        ("permission.created", {"user": "ann"}, "ann"),
        ("topic.permission.deleted", {"user": "ann"}, "ann"),
        ("alarm.set", {"source": "memory"}, "memory"),
        ("user.limits.set", {"name": "limits", "username": "ann"}, "ann"),
        ("user.created", {"name": "ann"}, "ann"),
    ],
)
def test_the_name_is_that_of_what_it_is_about(event, facts, name):
    assert name == document(entry(event, **facts))["name"]


def test_who_came_and_went_is_known_without_a_cause():
    gone = entry("connection.closed", None, {"user": "ann", "vhost": "v", "reason": "missed"}, name="a:1 -> b:2")
    found = document(gone)
    assert ("ann", "v", "a:1 -> b:2", "a:1", "missed") == tuple(
        found[key] for key in ("user", "vhost", "connection", "peer", "cause")
    )
    failed = entry("user.authentication.failure", None, name="ann", connection_name="a:1 -> b:2", error="invalid")
    found = document(failed)
    assert ("ann", "", "a:1", "invalid") == tuple(found[key] for key in ("name", "user", "peer", "cause"))


@pytest.mark.parametrize("name", ["\n\x1b[31m", "é" * 300, "\ud800", '"}', "\x00", "\u202e"])
def test_hostile_texts_are_escaped_and_capped(name):
    text = line(entry("queue.created", name=name, vhost=name, arguments={name: name}))
    assert text.isascii()
    assert 1 == text.count("\n")
    found = json.loads(text)
    assert len(found["name"].encode()) <= OCTETS_MAX
    assert len(text) < 8 * 4 * OCTETS_MAX


def test_a_long_text_is_cut_at_a_character():
    assert "é" * 126 + "..." == capped("é" * 300)
    assert "é" * 128 == capped("é" * 128)


def test_what_is_nested_is_shown_if_it_is_short():
    assert {"a": [1, "x"]} == shown({"a": [1, "x"]})
    assert 3 == shown(3)
    assert shown({"a": "x" * 1_000}).startswith('{"a": "xxx')
    assert OCTETS_MAX == len(shown({"a": "x" * 1_000}))
    assert {"at": "b'x'"} == shown({"at": b"x"})


def test_numbers_that_json_does_not_have_are_texts():
    assert "nan" == shown(float("nan"))
    assert {"a": ["Infinity", "NaN", 1.5]} == shown({"a": [float("inf"), float("nan"), 1.5]})


def test_what_every_virtual_host_has_and_what_comes_and_goes_is_not_logged():
    assert is_logged("exchange.created", {"name": "x"})
    assert is_logged("exchange.created", {"name": "amqp"})
    assert not is_logged("exchange.created", {"name": "amq.topic"})
    assert not is_logged("exchange.deleted", {"name": ""})
    assert not is_logged("channel.created", {})
    assert not is_logged("consumer.deleted", {})
    assert is_logged("command", {"name": "reset"})
