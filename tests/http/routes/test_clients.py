"""Connections, channels and consumers, in RabbitMQ's shape."""

from urllib.parse import quote

import pytest

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
    assert listed == {key: value for key, value in document.items() if key != "consumer_details"}
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
