"""Bindings, in RabbitMQ's shape."""

import pytest

from tests.fakes import Exchange, Queue


@pytest.fixture
def bound(api, peer):
    peer.declare("q")
    for arguments in ({}, {"k": 1}, {"k": 2}):
        peer.call(Queue.Bind(0, "q", "amq.topic", "a/b.#", False, arguments))
    peer.call(Queue.Bind(0, "q", "amq.topic", ""))
    peer.call(Exchange.Bind(0, "amq.fanout", "amq.topic", "x"))
    return api


def test_all_of_them(bound):
    found = bound.get("/api/bindings")
    assert found == bound.get("/api/bindings/%2F")
    assert found[0] == {
        "arguments": {},
        "destination": "q",
        "destination_type": "queue",
        "properties_key": "q",
        "routing_key": "q",
        "source": "",
        "vhost": "/",
    }


def test_those_between_two_ends(bound):
    found = bound.get("/api/bindings/%2F/e/amq.topic/q/q")
    keys = [each["properties_key"] for each in found]
    assert keys[:2] == ["~", "a%2Fb.%23"]
    assert all(key.startswith("a%2Fb.%23~") for key in keys[2:])
    assert len(set(keys)) == 4
    (found,) = bound.get("/api/bindings/%2F/e/amq.topic/e/amq.fanout")
    assert found["properties_key"] == "x"
    assert bound.get("/api/bindings/%2F/e/amq.default/q/q")[0]["source"] == ""


def test_each_is_found_by_its_key(bound):
    place = "/api/bindings/%2F/e/amq.topic/q/q"
    for each in bound.get(place):
        assert bound.get(f"{place}/{each['properties_key'].replace('%', '%25')}") == each
        assert bound.get(f"{place}/{each['properties_key']}") == each


@pytest.mark.parametrize("path", ["e/amq.topic/q/q/none", "e/amq.topic/x/q", "e/amq.topic/q/q/a/b"])
def test_what_is_not_there(bound, path):
    bound.get(f"/api/bindings/%2F/{path}", status=404)
