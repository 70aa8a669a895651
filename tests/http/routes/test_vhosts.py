"""Virtual hosts, in RabbitMQ's shape."""

RABBITMQ = {
    *("cluster_state", "default_queue_type", "description", "messages", "messages_ready", "messages_unacknowledged"),
    *("metadata", "name", "recv_oct", "send_oct", "tags", "tracing"),
}


def test_one_virtual_host(api, peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    document = api.get("/api/vhosts/%2F")
    assert document.keys() >= RABBITMQ
    assert (document["messages"], document["cluster_state"]) == (1, {"pybroker@vm": "running"})
    assert document["message_stats"]["publish"] == 1
    assert document["recv_oct"] == peer.session.recv_octets
    assert api.get("/api/vhosts") == [document]
    api.get("/api/vhosts/none", status=404)


def test_what_belongs_to_it(api, ann, peer):
    assert [each["user"] for each in api.get("/api/vhosts/other/permissions")] == ["ann"]
    assert api.get("/api/vhosts/other/topic-permissions") == []
    assert [each["vhost"] for each in api.get("/api/vhosts/%2F/connections")] == ["/"]
    assert [each["number"] for each in api.get("/api/vhosts/%2F/channels")] == [1]
    assert api.get("/api/vhosts/other/connections") == []
    for what in ("permissions", "connections"):
        api.get(f"/api/vhosts/none/{what}", status=404)
