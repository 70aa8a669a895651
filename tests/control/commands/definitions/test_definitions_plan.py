import pytest

from pybroker.control.spec import Refused

QUEUE = {"name": "q", "vhost": "/"}


def plan(operator, *lines, **given):
    operator.lines = list(lines)
    return operator.list("definitions_plan", **given)


def test_nothing_to_do(operator):
    assert [] == plan(operator)
    assert [] == plan(operator, ["vhosts", [{"name": "/", "description": "Default virtual host", "tags": []}]])


def test_what_would_be_made_changed_and_left(operator):
    operator.world.connect().declare("old", durable=True, arguments={"x-max-length": 5})
    rows = plan(
        operator,
        ["users", [{"name": "guest", "tags": ["monitoring"], "password": "other"}]],
        ["permissions", [{"user": "guest", "vhost": "/", "configure": "", "write": ".*", "read": ".*"}]],
        ["queues", [QUEUE, {**QUEUE, "name": "old", "arguments": {}}, {**QUEUE, "name": "amq.x"}]],
        ["bindings", [_binding("q")]],
        ["parameters", [{"vhost": "/", "component": "c", "name": "n", "value": 1}]],
    )
    assert [
        ["update", "users", "", "guest", "password", "***", "***"],
        ["update", "users", "", "guest", "tags", ["administrator"], ["monitoring"]],
        ["update", "permissions", "/", "guest", "configure", ".*", ""],
        ["create", "parameters", "/", "c n", "", None, None],
        ["create", "queues", "/", "q", "", None, None],
        ["conflict", "queues", "/", "old", "arguments", {"x-max-length": 5}, {}],
        ["skip", "queues", "/", "amq.x", "", "its name begins with 'amq.'", None],
        ["create", "bindings", "/", "amq.direct queue q '' {}", "", None, None],
    ] == rows
    assert ["old"] == list(operator.world.vhost.queues)


def _binding(name):
    return {"vhost": "/", "source": "amq.direct", "destination": name, "destination_type": "queue", "routing_key": ""}


def test_what_cannot_be_imported_is_no_plan(operator):
    with pytest.raises(Refused) as refused:
        plan(operator, ["queues", [{"name": "q"}]])
    assert 65 == refused.value.exit_code


def test_into_one_virtual_host(operator):
    assert "/" == plan(operator, ["queues", [{"name": "q"}]], vhost="/")[0][2]


def test_messages_that_a_policy_would_drop_are_told_of(operator, peer):
    peer.declare("q")
    for _ in range(3):
        peer.publish("", "q", b"x")
    policy = {"vhost": "/", "name": "p", "pattern": "^q", "definition": {"max-length": 1}, "priority": 0}
    rows = plan(operator, ["policies", [{**policy, "apply-to": "all"}]])
    assert ["create", "policies", "/", "p", "messages dropped", None, 2] in rows
    value = {"pattern": "^q", "definition": {"max-length": 2}, "priority": 0, "apply-to": "all"}
    rows = plan(operator, ["parameters", [{"vhost": "/", "component": "operator_policy", "name": "o", "value": value}]])
    assert ["create", "parameters", "/", "operator_policy o", "messages dropped", None, 1] in rows
    assert operator.world.vhost.queues["q"].messages == 3
