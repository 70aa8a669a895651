import pytest

from pybroker.core.auth.users import User
from pybroker.core.events import admin as admin_events
from pybroker.core.events.cause import because

CAUSE = because("a test")


@pytest.fixture
def told():
    return []


@pytest.fixture
def notify(told):
    def notify(event, facts, cause) -> None:
        assert cause is CAUSE
        told.append((event, dict(facts)))

    return notify


def test_a_policy_is_told_as_such_and_an_operators_as_a_parameter_too(told, notify):
    value = {"pattern": "^q", "definition": {"max-length": 5}, "priority": 0, "apply-to": "all"}
    admin_events.parameter_set(notify, "/", "policy", "p", value, CAUSE)
    admin_events.parameter_set(notify, "/", "operator_policy", "p", value, CAUSE)
    admin_events.parameter_cleared(notify, "/", "policy", "p", CAUSE)
    admin_events.parameter_cleared(notify, "/", "operator_policy", "p", CAUSE)
    parameter, named = {"vhost": "/", "component": "operator_policy", "name": "p"}, {"name": "p", "vhost": "/"}
    assert [
        ("policy.set", {**named, **value}),
        ("parameter.set", {**parameter, "value": value}),
        ("policy.set", {**named, **value}),
        ("policy.cleared", named),
        ("parameter.cleared", parameter),
        ("operator.policy.cleared", named),
    ] == told


@pytest.mark.parametrize("value", [{"max-queues": 5}, [["max-queues", 5]]])
def test_limits_of_a_virtual_host_are_told_whatever_form_they_have(told, notify, value):
    admin_events.parameter_set(notify, "v", "vhost-limits", "limits", value, CAUSE)
    admin_events.parameter_cleared(notify, "v", "vhost-limits", "limits", CAUSE)
    parameter = {"vhost": "v", "component": "vhost-limits", "name": "limits"}
    assert [
        ("parameter.set", {**parameter, "value": value}),
        ("vhost.limits.set", {"name": "limits", "max-queues": 5}),
        ("parameter.cleared", parameter),
        ("vhost.limits.cleared", {"name": "limits"}),
    ] == told


def test_a_global_parameter_is_told_as_set_and_as_cleared(told, notify):
    admin_events.global_parameter(notify, "parameter.set", "color", CAUSE, value="red")
    admin_events.global_parameter(notify, "parameter.cleared", "color", CAUSE)
    facts = {"component": "global", "name": "color"}
    assert [("parameter.set", {**facts, "value": "red"}), ("parameter.cleared", facts)] == told


def test_limits_of_a_user_are_told_as_set_or_cleared(told, notify):
    user = User("ann")
    user.limits = {"max-channels": 7}
    admin_events.user_limits(notify, user, {}, CAUSE)
    admin_events.user_limits(notify, user, {"max-channels": 7, "max-connections": 5}, CAUSE)
    named = {"name": "limits", "username": "ann"}
    assert [("user.limits.set", {**named, "max-channels": 7}), ("user.limits.cleared", named)] == told


def test_a_user_is_told_of_with_what_it_has(told, notify):
    user = User("ann", tags=("monitoring",))
    admin_events.user_created(notify, user, CAUSE)
    assert [("user.created", {"name": "ann"}), ("user.tags.set", {"name": "ann", "tags": ["monitoring"]})] == told
