"""Virtual hosts, in RabbitMQ's shape."""

from tests.http.conftest import DONE, MADE, NOT_FOUND, VHOST_NOT_FOUND, bad

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
    assert api.get("/api/vhosts/%2F/connections") == api.get("/api/connections")
    assert api.get("/api/vhosts/%2F/channels") == api.get("/api/channels")
    assert api.get("/api/vhosts/other/connections") == []
    for what in ("permissions", "connections"):
        api.get(f"/api/vhosts/none/{what}", status=404)


# -- made, changed, deleted -------------------------------------------------------------------------------------------


def test_a_virtual_host_is_made_and_changed(api, world):
    path = "/api/vhosts/a%2Fb"
    what = {"description": "d", "tags": "x,y", "default_queue_type": "quorum", "tracing": True}
    assert api.send("PUT", path, what) == MADE
    vhost = world.broker.vhosts["a/b"]
    assert (vhost.description, vhost.tags, vhost.default_queue_type, vhost.firehose) == (
        "d",
        ("x", "y"),
        "quorum",
        True,
    )
    assert api.send("PUT", path, {"tags": ["z"], "tracing": False}) == DONE
    assert (vhost.description, vhost.tags, vhost.default_queue_type, vhost.firehose) == ("", ("z",), "quorum", False)
    assert api.request("PUT", "/api/vhosts/none").status_code == 201


def test_its_maker_may_do_everything_there(api, world):
    world.broker.users.add("root", "root", ("administrator",))
    assert api.send("PUT", "/api/vhosts/v", {}, "root") == MADE
    assert api.send("PUT", "/api/queues/v/q", {}, "root") == MADE
    world.broker.users.clear_permissions("root", "v")
    assert api.send("PUT", "/api/vhosts/v", {}, "root") == DONE
    assert "v" not in world.broker.users.get("root").permissions, "once is enough"


def test_bad_virtual_hosts(api, world):
    assert api.send("PUT", "/api/vhosts/v", {"tracing": "x"}) == bad(["not_boolean", "x"])
    assert api.send("PUT", "/api/vhosts/v", {"default_queue_type": "odd"}) == bad("Unsupported default queue type")
    assert api.send("PUT", "/api/vhosts/v", {"default_queue_type": ["x"]}) == bad("default_queue_type is not a text")
    assert api.send("PUT", "/api/vhosts/v", {"tags": 5})[0] == 400
    assert "v" not in world.broker.vhosts


def test_protection_from_deletion(api, world):
    assert api.send("PUT", "/api/vhosts/v", {"protected_from_deletion": True}) == MADE
    status, document = api.send("DELETE", "/api/vhosts/v")
    assert (status, document["error"]) == (412, "precondition_failed")
    assert api.send("DELETE", "/api/vhosts/v/deletion/protection") == DONE
    assert api.send("POST", "/api/vhosts/v/deletion/protection") == DONE
    assert world.broker.vhosts["v"].protected
    assert api.send("PUT", "/api/vhosts/v", {"protected_from_deletion": False}) == DONE
    assert api.send("DELETE", "/api/vhosts/v") == DONE
    assert api.send("DELETE", "/api/vhosts/v") == NOT_FOUND
    assert api.send("DELETE", "/api/vhosts/v/deletion/protection") == NOT_FOUND


def test_they_run_as_long_as_the_node(api):
    assert api.send("POST", "/api/vhosts/%2F/start/pybroker@vm") == DONE
    failed = "Request to node {} failed with {}"
    reason = failed.format("pybroker@vm", '{no_such_vhost,<<"none">>}')
    assert api.send("POST", "/api/vhosts/none/start/pybroker@vm") == bad(reason)
    assert api.send("POST", "/api/vhosts/%2F/start/x@vm") == bad(failed.format("x@vm", "nodedown"))


def test_limits(api, world):
    path = "/api/vhost-limits/%2F"
    assert api.send("PUT", f"{path}/max-queues", {"value": 5}) == DONE
    assert api.send("PUT", f"{path}/max-connections", {"value": 6}) == DONE
    assert api.get(path) == [{"vhost": "/", "value": {"max-queues": 5, "max-connections": 6}}]
    assert api.send("DELETE", f"{path}/max-queues") == DONE
    assert api.send("DELETE", f"{path}/max-queues") == DONE
    assert api.get(path) == [{"vhost": "/", "value": {"max-connections": 6}}]
    assert api.send("DELETE", f"{path}/max-connections") == DONE
    assert api.get(path) == [{"vhost": "/", "value": {}}]
    odd = bad('Validation failed\n\nUnrecognised terms [{<<"odd">>,5}] in limits\n')
    assert api.send("PUT", f"{path}/odd", {"value": 5}) == odd
    assert api.send("PUT", f"{path}/max-queues", {}) == bad("[{key_missing,value}]")
    assert api.send("PUT", "/api/vhost-limits/none/max-queues", {"value": 5}) == VHOST_NOT_FOUND


def test_only_administrators_change_virtual_hosts(api, ann):
    expected = (401, {"error": "not_authorised", "reason": "Not administrator user"})
    for user in (ann, "monitoring", "policymaker"):
        assert api.send("PUT", "/api/vhosts/other", {}, user) == expected
        assert api.send("DELETE", "/api/vhosts/other", None, user) == expected
        assert api.send("DELETE", "/api/vhosts/other/deletion/protection", None, user) == expected
        assert api.send("PUT", "/api/vhost-limits/other/max-queues", {"value": 1}, user) == expected
