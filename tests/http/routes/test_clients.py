"""Connections, channels and consumers, in RabbitMQ's shape."""

from urllib.parse import quote

import pytest

from tests.http.conftest import DONE, NOT_FOUND, bad

CONNECTION = {
    *("auth_mechanism", "channel_max", "channels", "client_properties", "connected_at", "frame_max", "host", "name"),
    *("node", "peer_cert_issuer", "peer_cert_subject", "peer_cert_validity", "peer_host", "peer_port", "port"),
    *("protocol", "recv_cnt", "recv_oct", "send_cnt", "send_oct", "send_pend", "ssl", "ssl_cipher", "ssl_hash"),
    *("ssl_key_exchange", "ssl_protocol", "state", "timeout", "type", "user", "user_who_performed_action", "vhost"),
}
CHANNEL = {
    *("acks_uncommitted", "confirm", "connection_details", "consumer_count", "consumer_details"),
    *("global_prefetch_count", "messages_unacknowledged", "messages_uncommitted", "messages_unconfirmed", "name"),
    *("node", "number", "prefetch_count", "state", "transactional", "user", "user_who_performed_action", "vhost"),
}


@pytest.fixture
def name(api, peer):
    peer.declare("q")
    peer.consume("q", tag="ct")
    (connection,) = api.get("/api/connections")
    return quote(connection["name"], safe="")


# Members that lists have not.
ONE_ALONE = {"consumer_details", "deliveries", "publishes"}


def test_a_connection(api, name):
    document = api.get(f"/api/connections/{name}")
    assert document.keys() >= CONNECTION
    assert (document["protocol"], document["type"], document["ssl_protocol"]) == ("AMQP 0-9-1", "network", None)
    assert document["client_properties"]["capabilities"]["basic.nack"] is True
    assert api.get("/api/connections/username/guest") == [document]
    assert api.get("/api/connections/username/ann") == []


def test_a_channel(api, name):
    document = api.get(f"/api/channels/{name}%20(1)")
    assert document.keys() >= CHANNEL
    assert (document["confirm"], document["consumer_count"]) == (False, 1)
    assert document["consumer_details"] == api.get("/api/consumers")
    (listed,) = api.get(f"/api/connections/{name}/channels")
    assert listed == {key: value for key, value in document.items() if key not in ONE_ALONE}
    assert api.get("/api/channels") == [listed]


def test_a_consumer(api, name):
    (document,) = api.get("/api/consumers/%2F")
    assert document.pop("channel_details").keys() == {
        *("connection_name", "name", "node", "number", "peer_host", "peer_port", "user"),
    }
    assert document == {
        "ack_required": True,
        "active": True,
        "activity_status": "up",
        "arguments": {},
        "consumer_tag": "ct",
        "exclusive": False,
        "prefetch_count": 0,
        "queue": {"name": "q", "vhost": "/"},
    }


def test_what_is_not_there(api):
    for path in (
        "connections/none",
        "connections/none/channels",
        "connections/none/sessions",
        "channels/none",
        "channels/none%20(1)",
    ):
        api.get(f"/api/{path}", status=404)
    api.get("/api/consumers/none", status=404)


def test_there_are_no_sessions_of_amqp_1_0(api, name):
    assert api.get(f"/api/connections/{name}/sessions") == []


# -- closed -----------------------------------------------------------------------------------------------------------


def reasons(peer):
    peer.world.run()
    return [each.reply_text for each in peer.take(0)]


def test_a_connection_is_closed_with_a_reason(api, world):
    first, second = (world.connect(peer=("127.0.0.1", port)) for port in (50_001, 50_002))
    path = f"/api/connections/{quote(first.session.name)}"
    assert api.send("DELETE", path, headers={"X-Reason": "it is time"}) == DONE
    assert reasons(first) == ["CONNECTION_FORCED - it is time"]
    assert api.send("DELETE", "/api/connections/username/guest") == DONE
    assert reasons(second) == ["CONNECTION_FORCED - Closed via management plugin"]
    assert api.send("DELETE", "/api/connections/none") == NOT_FOUND


@pytest.mark.parametrize("reason", ["x" * 256, "a\tb"])
def test_a_reason_has_limits(api, world, reason):
    # RabbitMQ's advisory CVE-2019-11287: a long one ended the node.
    peer = world.connect(peer=("127.0.0.1", 50_001))
    response = api.send("DELETE", "/api/connections/username/guest", headers={"X-Reason": reason})
    assert response == bad("X-Reason has more than 255 octets, or control characters")
    assert reasons(peer) == []


def test_users_close_their_own_connections(api, ann, world):
    own = world.connect(user=ann, password=ann, vhost="other", peer=("127.0.0.1", 50_001))
    other = world.connect(peer=("127.0.0.1", 50_002))
    assert api.send("DELETE", f"/api/connections/{quote(other.session.name)}", user=ann)[0] == 401
    assert api.send("DELETE", f"/api/connections/{quote(own.session.name)}", user=ann) == DONE
    assert (len(reasons(own)), len(reasons(other))) == (1, 0)
