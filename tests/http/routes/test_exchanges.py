"""Exchanges, in RabbitMQ's shape."""

import pytest

from tests.fakes import Exchange, Queue
from tests.http.conftest import DONE, MADE, NO_VHOST, NOT_FOUND, VHOST_NOT_FOUND, bad, refused

RABBITMQ = {"arguments", "auto_delete", "durable", "internal", "name", "type", "user_who_performed_action", "vhost"}


def test_one_exchange(api, peer):
    document = api.get("/api/exchanges/%2F/amq.direct")
    assert document.keys() >= RABBITMQ
    assert (document["type"], document["user_who_performed_action"]) == ("direct", "rmq-internal")
    assert api.get("/api/exchanges/%2F/amq.default")["name"] == ""


def test_the_name_of_the_default_exchange_may_be_left_out(api, peer):
    peer.declare("q")
    message = {"routing_key": "q", "properties": {}, "payload": "x", "payload_encoding": "string"}
    assert api.send("POST", "/api/exchanges/%2F//publish", message) == (200, {"routed": True})
    assert api.get("/api/exchanges/%2F//") == api.get("/api/exchanges/%2F/amq.default")
    assert len(api.get("/api/bindings/%2F/e//q/q")) == 1
    assert len(api.get("/api/exchanges/%2F/")) > 5
    api.get("/api/exchanges//amq.topic", status=404)


def test_figures_for_each_queue_and_channel_are_not_counted(api, peer):
    document = api.get("/api/exchanges/%2F/amq.topic")
    assert (document["incoming"], document["outgoing"]) == ([], [])


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
    for end in ("source", "destination"):
        assert api.get(f"/api/exchanges/%2F/none/bindings/{end}") == []
    assert (found["source"], found["routing_key"]) == ("amq.topic", "b")


@pytest.mark.parametrize("path", ["none", "amq.topic/bindings/middle"])
def test_what_is_not_there(api, path):
    api.get(f"/api/exchanges/%2F/{path}", status=404)


# -- declared, deleted, published to ----------------------------------------------------------------------------------

MESSAGE = {"properties": {}, "routing_key": "q", "payload": "x", "payload_encoding": "string"}


def test_an_exchange_is_declared_once(api):
    what = {"type": "topic", "durable": True, "arguments": {"alternate-exchange": "amq.fanout"}}
    assert api.send("PUT", "/api/exchanges/%2F/e", what) == MADE
    assert api.send("PUT", "/api/exchanges/%2F/e", what) == DONE
    assert api.get("/api/exchanges/%2F/e")["arguments"] == {"alternate-exchange": "amq.fanout"}
    assert api.send("PUT", "/api/exchanges/%2F/d", {}) == MADE
    assert api.get("/api/exchanges/%2F/d")["type"] == "direct"


def test_refused_declarations(api, ann, world):
    world.broker.users.set_permissions("ann", "other", "^a", "", "")
    assert api.send("PUT", "/api/exchanges/other/b", {}, ann) == refused(
        "configure access to exchange 'b' in vhost 'other' refused for user 'ann'"
    )
    assert api.send("PUT", "/api/exchanges/%2F/a", {}, ann) == NO_VHOST
    assert api.send("PUT", "/api/exchanges/none/a", {}) == VHOST_NOT_FOUND
    assert api.send("PUT", "/api/exchanges/%2F/amq.default", {}) == refused(
        "operation not permitted on the default exchange"
    )
    assert api.send("PUT", "/api/exchanges/%2F/e", {"type": "odd"}) == bad("unknown exchange type 'odd'")


def test_an_exchange_is_deleted(api, peer):
    peer.declare("q")
    api.send("PUT", "/api/exchanges/%2F/e", {})
    api.send("POST", "/api/bindings/%2F/e/e/q/q", {})
    in_use = bad("exchange 'e' in vhost '/' in use")
    assert api.send("DELETE", "/api/exchanges/%2F/e?if-unused=true") == in_use
    assert api.send("DELETE", "/api/exchanges/%2F/e") == DONE
    assert api.send("DELETE", "/api/exchanges/%2F/e") == NOT_FOUND
    assert api.send("DELETE", "/api/exchanges/%2F/amq.default") == refused(
        "operation not permitted on the default exchange"
    )


def test_a_message_is_published(api, peer):
    peer.declare("q")
    path = "/api/exchanges/%2F/amq.default/publish"
    assert api.send("POST", path, MESSAGE) == (200, {"routed": True})
    assert api.send("POST", path, {**MESSAGE, "routing_key": "none"}) == (200, {"routed": False})
    octets = {"payload": "AAE=", "payload_encoding": "base64", "properties": {"delivery_mode": 2, "headers": {"a": 1}}}
    assert api.send("POST", path, {**MESSAGE, **octets}) == (200, {"routed": True})
    assert peer.get("q").body == b"x"
    got = peer.get("q")
    assert (got.body, got.headers, got.properties.delivery_mode) == (b"\0\1", {"a": 1}, 2)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"payload": 5}, "payload_not_string"),
        ({"payload_encoding": "hex"}, ["unsupported_encoding", "hex"]),
        ({"properties": {"priority": "x"}}, ["not_int", "priority"]),
        (
            {"properties": {"user_id": "bob"}},
            "406 PRECONDITION_FAILED - user_id property set to 'bob' but authenticated user was 'guest'",
        ),
    ],
)
def test_bad_messages(api, more, reason):
    assert api.send("POST", "/api/exchanges/%2F/amq.default/publish", {**MESSAGE, **more}) == bad(reason)


def test_who_may_publish(api, ann, world):
    # RabbitMQ's advisory CVE-2026-67218: HTTP skipped the permissions of AMQP.
    world.broker.users.set_permissions("ann", "other", ".*", "", ".*")
    reason = "403 ACCESS_REFUSED - write access to exchange 'amq.direct' in vhost 'other' refused for user 'ann'"
    assert api.send("POST", "/api/exchanges/other/amq.direct/publish", MESSAGE, ann) == bad(reason)
    assert api.send("POST", "/api/exchanges/%2F/amq.direct/publish", MESSAGE, ann) == NO_VHOST
    missing = bad("404 NOT_FOUND - no exchange 'none' in vhost '/'")
    assert api.send("POST", "/api/exchanges/%2F/none/publish", MESSAGE) == missing
    empty = api.send("POST", "/api/exchanges/%2F/none/publish", {})[1]
    assert empty["reason"].startswith("[{key_missing,routing_key},")


def test_a_body_has_a_limit(api):
    # RabbitMQ's advisory GHSA-w6cq-9cf4-gqpg: it had none.
    response = api.request("POST", "/api/exchanges/%2F/amq.default/publish", data=b" " * 1_000_001)
    assert response.status_code == 413
