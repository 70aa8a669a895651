"""Policies, parameters and limits."""

from pybroker.control.objects.rules import LIMITS, PARAMETERS, POLICIES
from tests.control.objects.conftest import facts


def test_policies_are_no_parameters(world, operator):
    operator.ask("set_policy", name="p", pattern="", definition='{"max-length":1}')
    operator.ask("set_operator_policy", name="o", pattern="", definition='{"max-length":1}')
    operator.ask("set_vhost_limits", definition='{"max-queues":1}')
    assert facts(world, POLICIES, "definition") == [{"max-length": 1}]
    assert facts(world, PARAMETERS, "component") == ["vhost-limits"]
    assert facts(world, LIMITS, "value") == [{"max-queues": 1}]
