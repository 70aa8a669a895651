"""The node's name, imports, and requests that do nothing."""

import pytest


def test_the_name_of_the_cluster(api, world):
    assert api.send("PUT", "/api/cluster-name", {"name": "c"})[0] == 204
    assert world.broker.settings.cluster_name == "c"
    assert api.send("PUT", "/api/cluster-name", {})[1]["reason"] == "[{key_missing,name}]"
    assert api.send("PUT", "/api/cluster-name", {"name": ""})[0] == 400


def test_definitions_are_imported_whole_or_not_at_all(api, world):
    queue = {"name": "q", "durable": True, "auto_delete": False, "arguments": {}}
    assert api.send("POST", "/api/definitions", {"queues": [{**queue, "vhost": "/"}]})[0] == 204
    assert api.send("POST", "/api/definitions/%2F", {"queues": [{**queue, "name": "r"}]})[0] == 204
    assert set(world.vhost.queues) == {"q", "r"}
    both = {"queues": [{**queue, "name": "s", "vhost": "/"}, {**queue, "vhost": "none"}]}
    status, document = api.send("POST", "/api/definitions", both)
    assert (status, document["error"]) == (400, "bad_request")
    assert "virtual host 'none' does not exist" in document["reason"]
    assert "s" not in world.vhost.queues


def test_definitions_that_are_none(api):
    response = api.request("POST", "/api/definitions", data="nojson")
    assert (response.status_code, response.get_json()["reason"]) == (400, "failed_to_parse_json")
    assert api.send("POST", "/api/definitions", [1])[1]["reason"] == "failed_to_parse_json"
    assert api.send("POST", "/api/definitions", {"queues": 5})[0] == 400
    assert api.send("POST", "/api/definitions", {"queues": ["x" * 600_000]})[1]["reason"].startswith("an item has")
    missing = {"error": "not_found", "reason": "vhost_not_found"}
    assert api.send("POST", "/api/definitions/none", {}) == (404, missing)


def test_requests_that_do_nothing(api):
    assert api.send("POST", "/api/rebalance/queues")[0] == 204
    assert api.send("PUT", "/api/feature-flags/implicit_default_bindings/enable")[0] == 204
    assert api.send("PUT", "/api/feature-flags/none/enable")[0] == 400


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/cluster-name"),
        ("POST", "/api/definitions"),
        ("POST", "/api/definitions/other"),
        ("POST", "/api/rebalance/queues"),
        ("PUT", "/api/feature-flags/none/enable"),
    ],
)
def test_only_administrators_may(api, ann, method, path):
    for user in (ann, "monitoring", "policymaker"):
        expected = {"error": "not_authorised", "reason": "Not administrator user"}
        assert api.send(method, path, {}, user) == (401, expected)
