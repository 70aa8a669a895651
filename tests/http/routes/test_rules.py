"""Policies, parameters and limits, in RabbitMQ's shape."""

import pytest


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
