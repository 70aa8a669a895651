"""Orders of operators: look, move, redrive, pause, trace, preview."""

import json

import pytest

from tests.http.conftest import NO_VHOST, bad

NO_ADMINISTRATOR = (401, {"error": "not_authorised", "reason": "Not administrator user"})
Q = "/api/pybroker/queues/%2F/q"


@pytest.fixture
def filled(peer, world):
    peer.declare("q")
    peer.declare("r")
    for body in (b"one", b"\xff" * 5_000, b'{"a": 1}'):
        peer.publish("", "q", body, headers={"n": len(body)})
    return world.vhost.queues


def streamed(api, path, document, user="guest"):
    """Return the lines of a stream."""
    response = api.request("POST", path, user, json=document)
    assert (response.status_code, response.content_type) == (200, "application/x-ndjson"), response.text
    assert "Content-Length" not in response.headers
    return [json.loads(line) for line in response.text.splitlines() if line]


def test_peeking_touches_nothing(api, filled):
    status, found = api.send("POST", f"{Q}/peek", {"number": 500, "body_size": 10_000})
    assert status == 200
    assert [each["body_format"] for each in found["messages"]] == ["text", "base64", "json"]
    assert [each["size"] for each in found["messages"]] == [3, 5_000, 8]
    assert len(found["messages"][1]["body"]) == 6_668
    assert (found["messages_ready"], found["messages_unacknowledged"], found["messages_delayed"]) == (3, 0, 0)
    assert [each["redelivered"] for each in found["messages"]] == [False] * 3
    chosen = api.send("POST", f"{Q}/peek", {"where": ["n=3"], "newest_first": True, "start": "tail"})[1]
    assert [each["body"] for each in chosen["messages"]] == ["one"]


def test_refused_peeks(api, filled, ann):
    assert api.send("POST", f"{Q}/peek", {"number": 501}) == bad("number may be 500 at most")
    assert api.send("POST", f"{Q}/peek", {"odd": 1, "queue": "r"}) == bad("unknown members: odd, queue")
    assert api.send("POST", f"{Q}/peek", {"number": "x"}) == bad("Bad argument: --count must be an integer")
    assert api.send("POST", f"{Q}/peek", {}, ann) == NO_VHOST
    status, document = api.send("POST", "/api/pybroker/queues/%2F/none/peek", {})
    assert (status, document["error"], document["missing"]) == (404, "not_found", "queue")
    assert document["reason"].startswith("queue 'none' was not found in virtual host '/'")


def test_a_move_tells_how_it_ended(api, filled):
    (rehearsed,) = streamed(api, f"{Q}/move", {"to": "r", "dry_run": True})[-1:]
    assert (rehearsed["value"]["messages"], rehearsed["value"]["dry_run"]) == (3, True)
    *steps, last = streamed(api, f"{Q}/move", {"to": "r", "number": 2})
    assert all(set(step) == {"progress"} for step in steps)
    assert (last["value"]["messages"], last["value"]["message"]) == (2, "2 messages moved")
    assert (filled["q"].messages_ready, filled["r"].messages_ready) == (1, 2)


def test_a_move_needs_a_target(api, filled):
    # LavinMQ's advisory 2041: without one the messages were deleted.
    assert api.send("POST", f"{Q}/move", {}) == bad("Bad argument: specify --to or --to-exchange")
    assert api.send("POST", f"{Q}/move", {"to": "none"})[0] == 404
    assert api.send("POST", f"{Q}/move", {"to": "q"})[0] == 400
    assert filled["q"].messages_ready == 3


def test_a_redrive(api, filled, peer):
    peer.declare("dead")
    to_dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    peer.declare("died", arguments={**to_dead, "x-max-length": 1})
    for body in (b"1", b"2"):
        peer.publish("", "died", body)
    peer.get("died")
    *_, last = streamed(api, "/api/pybroker/queues/%2F/dead/redrive", {"reason": "maxlen"})
    assert last["value"]["messages"] == 1
    assert filled["died"].messages_ready == 1


def test_a_pause(api, filled):
    status, document = api.send("PUT", f"{Q}/pause", {"why": "repair", "publish": True, "mode": "refuse"})
    assert (status, document["paused"], document["why"]) == (200, "publish", "repair")
    assert filled["q"].paused is not None
    status, document = api.send("DELETE", f"{Q}/pause")
    assert (status, document["paused"]) == (200, "")
    assert api.send("DELETE", f"{Q}/pause") == bad("queue 'q' in vhost '/' is not paused")
    assert api.send("PUT", f"{Q}/pause", {}) == bad("[{key_missing,why}]")


def test_refused_traces(api, filled):
    assert api.send("POST", "/api/pybroker/trace", {"queue": "none"}) == bad(
        "there is no queue 'none' in virtual host '/'"
    )
    assert api.send("POST", "/api/pybroker/trace", {})[0] == 400


def test_a_preview(api, filled):
    path = "/api/pybroker/policies/%2F/p/preview"
    what = {"pattern": "^q", "apply-to": "queues", "priority": 1, "definition": {"max-length": 1}}
    assert api.send("POST", path, what) == (
        200,
        {
            "queues": 1,
            "exchanges": 0,
            "matched": [{"type": "queue", "name": "q", "policy": ""}],
            "messages_dropped": 2,
        },
    )
    assert filled["q"].messages_ready == 3
    odd = bad('Validation failed\n\n[{<<"odd">>,1}] are not recognised policy settings\n')
    assert api.send("POST", path, {**what, "definition": {"odd": 1}}) == odd
    assert api.send("POST", path, {"pattern": ""}) == bad("[{key_missing,definition}]")


def test_who_may(api, ann, filled):
    for user in (ann, "monitoring", "policymaker"):
        for method, path in [
            ("POST", f"{Q}/move"),
            ("POST", f"{Q}/redrive"),
            ("PUT", f"{Q}/pause"),
            ("DELETE", f"{Q}/pause"),
            ("POST", "/api/pybroker/trace"),
            ("POST", "/api/pybroker/definitions/plan"),
        ]:
            assert api.send(method, path, {}, user) == NO_ADMINISTRATOR
    assert api.send("POST", "/api/pybroker/policies/other/p/preview", {}, ann)[0] == 401
