"""Messages as the HTTP API has them."""

from base64 import b64encode

import pytest

from pybroker.control import codec
from pybroker.http import messages
from pybroker.http.errors import HttpError

DOCUMENT = {
    "size": 5,
    "redelivered": True,
    "exchange": "e",
    "routing_key": "k",
    "properties": {"priority": 3},
    "headers": {"a": 1},
}


def test_properties():
    given = {"priority": 1, "app_id": "x", "headers": {"a": [1]}, "odd": 1}
    assert messages.properties_of(given) == {"priority": 1, "app_id": "x", "headers": {"a": [1]}}
    assert messages.properties_of({}) == {"headers": {}}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([], "properties is not an object"),
        ({"priority": "1"}, ["not_int", "priority"]),
        ({"timestamp": True}, ["not_int", "timestamp"]),
        ({"expiration": 5}, ["not_string", "expiration"]),
        ({"headers": {"a": None}}, "null_not_allowed"),
    ],
)
def test_bad_properties(given, reason):
    with pytest.raises(HttpError) as caught:
        messages.properties_of(given)
    assert caught.value.reason == reason


def test_bodies_go_in_parts(monkeypatch):
    monkeypatch.setattr(messages, "PART_OCTETS", 3)
    lines = [codec.decode(line) for line in messages.body_lines("hällo", "string")]
    assert lines == [*(b64encode(part).decode() for part in ("hä".encode(), b"llo")), {"end": 2}]
    assert messages.body_lines("", "base64") == [b'{"end":0}\n']
    assert codec.decode(messages.body_lines("AAE=", "base64")[0]) == "AAE="


@pytest.mark.parametrize(
    ("payload", "encoding", "reason"),
    [
        (5, "string", "payload_not_string"),
        ("!!", "base64", ["not_base64", "!!"]),
        ("ä", "base64", ["not_base64", "ä"]),
        ("x", "hex", ["unsupported_encoding", "hex"]),
    ],
)
def test_bad_bodies(payload, encoding, reason):
    with pytest.raises(HttpError) as caught:
        messages.body_lines(payload, encoding)
    assert caught.value.reason == reason


def test_parts_are_joined():
    parts = [b64encode(part).decode() for part in (b"a" * 6, b"b")]
    documents = [{"body": parts[0], "body_parts": 1}, {"body_part": parts[1]}, {"body": parts[1]}]
    assert [body for _, body in messages.joined(iter(documents))] == [b"aaaaaab", b"b"]


def test_a_message_as_it_is_shown():
    assert messages.shown(DOCUMENT, b"hello", 4, as_text=True, octets_max=None) == {
        "payload_bytes": 5,
        "redelivered": True,
        "exchange": "e",
        "routing_key": "k",
        "message_count": 4,
        "properties": {"priority": 3, "headers": {"a": 1}},
        "payload": "hello",
        "payload_encoding": "string",
    }
    cut = messages.shown({**DOCUMENT, "properties": {}, "headers": {}}, b"h\xffllo", 4, as_text=True, octets_max=2)
    assert (cut["payload"], cut["payload_encoding"], cut["properties"]) == ("aP8=", "base64", [])
    assert messages.shown(DOCUMENT, b"x", 0, as_text=False, octets_max=-1)["payload"] == ""
