"""Bindings, in RabbitMQ's shape."""

from urllib.parse import quote

import pytest

from tests.fakes import Exchange, Queue
from tests.http.conftest import DONE, NO_VHOST, NOT_FOUND, VHOST_NOT_FOUND, bad, refused


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


# -- made and taken away ----------------------------------------------------------------------------------------------


def test_a_binding_has_a_place(api, peer):
    peer.declare("to q")
    response = api.request("POST", "/api/bindings/%2F/e/amq.direct/q/to%20q", json={"routing_key": "k /"})
    assert (response.status_code, response.headers["Location"]) == (201, "to%20q/k%2B%252F")
    place = f"/api/bindings/%2F/e/amq.direct/q/{response.headers['Location']}"
    assert api.get(place)["routing_key"] == "k /"
    assert api.send("DELETE", place) == DONE
    assert api.send("DELETE", place) == NOT_FOUND


def test_each_of_several_bindings_goes_alone(api, peer):
    peer.declare("q")
    ends = "/api/bindings/%2F/e/amq.topic/q/q"
    for body in ({}, {"routing_key": 5}, {"routing_key": "k", "arguments": {"x": [1, "y"]}}):
        assert api.send("POST", ends, body)[0] == 201
    keys = [each["properties_key"] for each in api.get(ends)]
    assert len(keys) == 3
    for key in keys:
        assert api.send("DELETE", f"{ends}/{quote(key, safe='')}") == DONE
    assert api.get(ends) == []


def test_exchanges_are_bound_too(api):
    ends = "/api/bindings/%2F/e/amq.topic/e/amq.fanout"
    response = api.request("POST", ends, json={"routing_key": "k"})
    assert response.headers["Location"] == "amq.fanout/k"
    assert api.send("DELETE", f"{ends}/k") == DONE


def test_refused_bindings(api, ann, world, peer):
    peer.declare("q")
    assert api.send("POST", "/api/bindings/%2F/e/amq.topic/x/q", {}) == NOT_FOUND
    assert api.send("POST", "/api/bindings/none/e/amq.topic/q/q", {}) == VHOST_NOT_FOUND
    missing = {"error": "not_found", "reason": "no exchange 'none' in vhost '/'"}
    assert api.send("POST", "/api/bindings/%2F/e/none/q/q", {}) == (404, missing)
    assert api.send("POST", "/api/bindings/%2F/e/amq.default/q/q", {}) == refused(
        "operation not permitted on the default exchange"
    )
    assert api.send("DELETE", "/api/bindings/%2F/e/amq.default/q/q/q") == refused(
        "operation not permitted on the default exchange"
    )
    assert api.send("POST", "/api/bindings/%2F/e/amq.topic/q/q", {}, ann) == NO_VHOST
    world.broker.users.set_permissions("ann", "/", ".*", "^r$", ".*")
    assert api.send("POST", "/api/bindings/%2F/e/amq.topic/q/q", {}, ann) == refused(
        "write access to queue 'q' in vhost '/' refused for user 'ann'"
    )
    assert api.send("DELETE", "/api/bindings/%2F/e/amq.topic/q/q/none", None, ann) == refused(
        "write access to queue 'q' in vhost '/' refused for user 'ann'"
    )
    odd = bad('Invalid x-match field value <<"odd">>; expected all, any, all-with-x, or any-with-x')
    assert api.send("POST", "/api/bindings/%2F/e/amq.headers/q/q", {"arguments": {"x-match": "odd"}}) == odd
