"""Super streams over HTTP."""

import pytest

from tests.http.conftest import MADE, VHOST_NOT_FOUND, bad

PATH = "/api/stream/super-streams/%2F/x"


def test_a_super_stream_with_numbered_partitions(api):
    assert api.send("PUT", PATH, {"partitions": 2, "arguments": {"x-max-age": "1h", "max-length-bytes": "9"}}) == MADE
    assert [queue["name"] for queue in api.get("/api/queues")] == ["x-0", "x-1"]
    assert api.get("/api/exchanges/%2F/x")["arguments"] == {"x-super-stream": True}
    assert api.get("/api/queues/%2F/x-1")["arguments"] == {
        "x-queue-type": "stream",
        "x-max-age": "1h",
        "x-max-length-bytes": 9,
    }


def test_one_with_keys(api):
    assert api.send("PUT", PATH, {"binding-keys": "emea, apac,"}) == MADE
    bindings = api.get("/api/exchanges/%2F/x/bindings/source")
    assert [(each["routing_key"], each["destination"]) for each in bindings] == [("apac", "x-apac"), ("emea", "x-emea")]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "Must specify partitions or binding keys"),
        ({"partitions": 1, "binding-keys": "a"}, "Specify partitions or binding keys, not both"),
        ({"partitions": 0}, "Bad argument: a super stream has from 1 to 1000 partitions"),
        ({"partitions": 1_001}, "Bad argument: a super stream has from 1 to 1000 partitions"),
        ({"partitions": "many"}, ["not_integer", "many"]),
        ({"binding-keys": " , "}, "Bad argument: a super stream has from 1 to 1000 partitions"),
        ({"partitions": 1, "arguments": {"x-max-length": 5}}, "a super stream has no argument x-max-length"),
        ({"partitions": 1, "arguments": {"x-max-age": 5}}, "x-max-age is not a text"),
    ],
)
def test_what_cannot_be_is_refused(api, given, reason):
    assert api.send("PUT", PATH, given) == bad(reason)
    assert api.get("/api/queues") == []


def test_what_exists_is_no_new_one(api):
    api.send("PUT", PATH, {"partitions": 1})
    status, answer = api.send("PUT", PATH, {"partitions": 1})
    assert (status, answer["error"]) == (400, "bad_request")
    assert "exists already" in answer["reason"]


def test_the_virtual_host_has_to_exist(api):
    assert api.send("PUT", "/api/stream/super-streams/none/x", {"partitions": 1}) == VHOST_NOT_FOUND
