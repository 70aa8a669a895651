"""The broker's own questions over HTTP."""

from urllib.parse import quote


def test_nobody_is_held_back(api):
    found = api.get("/api/pybroker/why-blocked")
    assert (found["node"], found["connections"], found["alarms"]) == ("pybroker@vm", [], [])
    assert found["message"] == "No connection is blocked or throttled. No open connection ever was."


def test_one_connection_may_be_asked_for(api, peer):
    pid = peer.session.pid
    found = api.get(f"/api/pybroker/why-blocked?connection={quote(pid)}")
    assert found["message"] == f"{pid} is not blocked or throttled. It never was."


def test_publishers_that_wait_are_told_with_the_cause(api, world, peer):
    peer.declare("q")
    world.broker.alarms.set("memory", "2 B used, 1 B allowed")
    peer.publish("", "q", b"x")
    (held,) = api.get("/api/pybroker/why-blocked")["connections"]
    assert (held["name"], held["state"], held["causes"][0]["cause"]) == (peer.session.name, "blocked", "memory")
    assert [each["resource"] for each in api.get("/api/pybroker/alarms")["alarms"]] == ["memory"]


def test_tags_decide_who_may_ask(api, ann):
    assert api.get("/api/pybroker/alarms", user=ann)["alarms"] == []
    api.get("/api/pybroker/why-blocked", user=ann, status=401)
    api.get("/api/pybroker/why-blocked", user="monitoring")
    api.get("/api/pybroker/audit", user="monitoring", status=401)


def test_the_audit_log_is_read_as_the_command_reads_it(api, node):
    entry = b'{"time":"2026-05-01T12:00:00.000+00:00","event":"queue.deleted","name":"%s","vhost":"/"}'
    node.operator.daemon.audited = [entry % name for name in (b"one", b"two", b"three")]
    assert [each["name"] for each in api.get("/api/pybroker/audit")] == ["one", "two", "three"]
    assert [each["name"] for each in api.get("/api/pybroker/audit?number=2&event=queue")] == ["two", "three"]
    assert api.get("/api/pybroker/audit?name=two")[0].keys() >= {"time", "user", "peer", "cause", "detail", "facts"}


def test_a_bad_filter_is_refused(api):
    assert "number" in api.get("/api/pybroker/audit?number=x", status=400)["reason"]
    assert "--since" in api.get("/api/pybroker/audit?since=x", status=400)["reason"]
