import pytest

from pybroker.control.spec import Refused


def test_there_are_none(operator):
    assert operator.ask("check_alarms") == "Node pybroker@vm reported no alarms, local or clusterwide"


@pytest.mark.parametrize("node", ["", "pybroker@other"])
def test_it_fails_while_there_is_one_also_of_another_node(operator, node):
    operator.world.broker.alarms.set("disk", "no room", node)
    with pytest.raises(Refused) as refused:
        operator.ask("check_alarms")
    expected = f"Free disk space alarm on node {node or 'pybroker@vm'}: no room (for 0.0 s)"
    assert (refused.value.text, refused.value.exit_code) == (expected, 69)


def test_programs_get_what_it_was_made_of(operator):
    operator.world.broker.alarms.set("memory", "much")
    with pytest.raises(Refused) as refused:
        operator.ask("check_alarms")
    facts = refused.value.facts
    assert (["Memory alarm on node pybroker@vm: much"], []) == (facts["local"], facts["global"])
    assert [("memory", "pybroker@vm", "much")] == [(a["resource"], a["node"], a["why"]) for a in facts["alarms"]]
