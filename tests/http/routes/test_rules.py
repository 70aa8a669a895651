"""Policies, parameters and limits, in RabbitMQ's shape."""

import pytest

from tests.http.conftest import DONE, MADE, NO_VHOST, NOT_FOUND, VHOST_NOT_FOUND, bad


@pytest.fixture
def ruled(api, node, ann):
    ask = node.operator.ask
    ask("set_policy", name="p", pattern="^q", definition='{"max-length":5}', priority=1, apply_to="queues")
    ask("set_operator_policy", name="o", pattern="^q", definition='{"max-length":7}', vhost="other")
    ask("set_vhost_limits", definition='{"max-queues":10}', vhost="other")
    ask("set_global_parameter", name="g", value='{"a":1}')
    return api


def test_policies(ruled):
    document = {
        "apply-to": "queues",
        "definition": {"max-length": 5},
        "name": "p",
        "pattern": "^q",
        "priority": 1,
        "vhost": "/",
    }
    assert ruled.get("/api/policies/%2F/p") == document
    assert ruled.get("/api/policies") == ruled.get("/api/policies/%2F") == [document]
    assert ruled.get("/api/policies/other") == []
    assert [each["name"] for each in ruled.get("/api/operator-policies")] == ["o"]
    assert ruled.get("/api/operator-policies/other/o")["definition"] == {"max-length": 7}
    assert ruled.get("/api/policies", "ann") == []


def test_parameters(ruled):
    limits = {"component": "vhost-limits", "name": "limits", "value": {"max-queues": 10}, "vhost": "other"}
    assert limits in ruled.get("/api/parameters")
    assert ruled.get("/api/parameters/vhost-limits") == [limits]
    assert ruled.get("/api/parameters/vhost-limits/other") == [limits]
    assert ruled.get("/api/parameters/vhost-limits/other/limits") == limits
    assert ruled.get("/api/parameters/shovel") == []


def test_global_parameters(ruled):
    assert {"name": "g", "value": {"a": 1}} in ruled.get("/api/global-parameters")
    assert ruled.get("/api/global-parameters/g") == {"name": "g", "value": {"a": 1}}


def test_limits(ruled):
    assert ruled.get("/api/vhost-limits") == [{"value": {"max-queues": 10}, "vhost": "other"}]
    assert ruled.get("/api/vhost-limits/other", "ann") == ruled.get("/api/vhost-limits")
    assert ruled.get("/api/vhost-limits/%2F") == []


@pytest.mark.parametrize(
    "path",
    [
        *("policies/%2F/none", "policies/none", "operator-policies/%2F/o", "parameters/vhost-limits/%2F/limits"),
        *("global-parameters/none", "vhost-limits/none"),
    ],
)
def test_what_is_not_there(ruled, path):
    ruled.get(f"/api/{path}", status=404)


# -- set and cleared --------------------------------------------------------------------------------------------------

POLICY = {"pattern": "^q", "definition": {"max-length": 5}}


def failed(text):
    return bad(f"Validation failed\n\n{text}\n")


@pytest.mark.parametrize("kind", ["policies", "operator-policies"])
def test_policies_are_set_and_cleared(api, kind):
    path = f"/api/{kind}/%2F/p"
    assert api.send("PUT", path, POLICY) == MADE
    assert api.send("PUT", path, {**POLICY, "priority": 3, "apply-to": "queues"}) == DONE
    expected = {"vhost": "/", "name": "p", "apply-to": "queues", "priority": 3, **POLICY}
    assert api.get(path) == expected
    assert api.send("DELETE", path) == DONE
    assert api.send("DELETE", path) == NOT_FOUND


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"definition": {}}, "no policy provided"),
        ({"definition": {"odd": 5}}, '[{<<"odd">>,5}] are not recognised policy settings'),
        ({"definition": {"max-length": -5}}, "-5 is not a valid maximum length"),
        ({"priority": "x"}, 'priority should be a number, actually was <<"x">>'),
        ({"pattern": 5}, "pattern should be a binary but was 5"),
    ],
)
def test_bad_policies(api, more, text):
    assert api.send("PUT", "/api/policies/%2F/p", {**POLICY, **more}) == failed(text)
    assert api.get("/api/policies") == []


def test_incomplete_policies(api):
    assert api.send("PUT", "/api/policies/%2F/p", {"pattern": ""}) == bad("[{key_missing,definition}]")
    assert api.send("PUT", "/api/policies/%2F/p", {}) == bad("[{key_missing,pattern},{key_missing,definition}]")
    assert api.send("PUT", "/api/policies/none/p", POLICY) == VHOST_NOT_FOUND
    assert api.send("PUT", "/api/policies/%2F/p", {**POLICY, "apply-to": 5}) == bad("apply-to is not a text")


def test_who_sets_policies(api, ann, world):
    refused = (401, {"error": "not_authorised", "reason": "User not authorised to access object"})
    for user in (ann, "monitoring"):
        assert api.send("PUT", "/api/policies/other/p", POLICY, user) == refused
        assert api.send("DELETE", "/api/policies/other/p", None, user) == refused
    assert api.send("PUT", "/api/policies/other/p", POLICY, "policymaker") == NO_VHOST
    world.broker.users.set_permissions("policymaker", "other", "", "", "")
    assert api.send("PUT", "/api/policies/other/p", POLICY, "policymaker") == MADE
    assert api.send("PUT", "/api/operator-policies/other/p", POLICY, "policymaker")[1]["reason"] == (
        "Not administrator user"
    )


def test_parameters_are_set_and_cleared(api):
    path = "/api/parameters/vhost-limits/%2F/limits"
    assert api.send("PUT", path, {"value": {"max-queues": 5}}) == MADE
    assert api.send("PUT", path, {"value": {"max-queues": 6}}) == DONE
    assert api.get(path)["value"] == {"max-queues": 6}
    assert api.send("DELETE", path) == DONE
    assert api.send("DELETE", path) == NOT_FOUND
    assert api.send("PUT", path, {}) == bad("[{key_missing,value}]")


@pytest.mark.parametrize("component", ["shovel", "federation-upstream", "federation-upstream-set", "odd"])
def test_components_of_absent_plugins(api, component):
    path = f"/api/parameters/{component}/%2F/p"
    assert api.send("PUT", path, {"value": {}}) == failed(f"component {component} not found")
    assert api.send("DELETE", path) == NOT_FOUND


def test_policies_are_no_parameters(api):
    body = {"value": POLICY}
    assert api.send("PUT", "/api/parameters/policy/%2F/p", body) == bad("policies may not be set using this method")


def test_global_parameters_are_set_and_cleared(api, ann):
    path = "/api/global-parameters/g"
    assert api.send("PUT", path, {"value": {"a": 1}}) == MADE
    assert api.send("PUT", path, {"value": [1]}, "policymaker") == DONE
    assert api.get(path) == {"name": "g", "value": [1]}
    refused = (401, {"error": "not_authorised", "reason": "User not authorised to access object"})
    assert api.send("PUT", path, {"value": 1}, ann) == refused
    assert api.send("DELETE", path) == DONE
    assert api.send("DELETE", path) == NOT_FOUND
