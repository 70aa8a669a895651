import pytest

from pybroker.control.spec import Refused


def test_there_are_none(operator):
    assert operator.ask("check_local_alarms") == "Node pybroker@vm reported no local alarms"


def test_it_fails_while_there_is_one(operator):
    operator.world.broker.alarms.set("disk", "no room")
    with pytest.raises(Refused) as refused:
        operator.ask("check_local_alarms")
    expected = "Free disk space alarm on node pybroker@vm: no room (for 0.0 s)"
    assert (refused.value.text, refused.value.exit_code) == (expected, 69)
    assert ["alarms", "local"] == sorted(refused.value.facts)


def test_b21_an_alarm_of_another_node_is_none_of_ours(operator):
    operator.world.broker.alarms.set("disk", "no room", "pybroker@other")
    assert operator.ask("check_local_alarms") == "Node pybroker@vm reported no local alarms"
