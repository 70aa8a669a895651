"""Exchanges, in RabbitMQ's shape."""

import pytest

from tests.fakes import Exchange, Queue

RABBITMQ = {"arguments", "auto_delete", "durable", "internal", "name", "type", "user_who_performed_action", "vhost"}


def test_one_exchange(api, peer):
    document = api.get("/api/exchanges/%2F/amq.direct")
    assert document.keys() >= RABBITMQ
    assert (document["type"], document["user_who_performed_action"]) == ("direct", "rmq-internal")
    assert api.get("/api/exchanges/%2F/amq.default")["name"] == ""


def test_counters(api, peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    stats = api.get("/api/exchanges/%2F/amq.default")["message_stats"]
    assert (stats["publish_in"], stats["publish_out"]) == (1, 1)


def test_lists(api, ann):
    assert len(api.get("/api/exchanges")) == len(api.get("/api/exchanges/%2F")) + len(api.get("/api/exchanges/other"))


def test_bindings_on_both_ends(api, peer, world):
    peer.declare("q")
    peer.call(Queue.Bind(0, "q", "amq.topic", "a.#"))
    peer.call(Exchange.Bind(0, "amq.fanout", "amq.topic", "b"))
    found = api.get("/api/exchanges/%2F/amq.topic/bindings/source")
    assert [(each["destination_type"], each["destination"]) for each in found] == [
        ("exchange", "amq.fanout"),
        ("queue", "q"),
    ]
    (found,) = api.get("/api/exchanges/%2F/amq.fanout/bindings/destination")
    assert (found["source"], found["routing_key"]) == ("amq.topic", "b")


@pytest.mark.parametrize("path", ["none", "none/bindings/source", "amq.topic/bindings/middle"])
def test_what_is_not_there(api, path):
    api.get(f"/api/exchanges/%2F/{path}", status=404)
