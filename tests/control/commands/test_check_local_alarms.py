import pytest

from pybroker.control.spec import Refused


def test_there_are_none(operator):
    assert operator.ask("check_local_alarms") == "Node pybroker@vm reported no local alarms"


def test_it_fails_while_there_is_one(operator):
    operator.world.broker.alarms.set("disk", "no room")
    with pytest.raises(Refused) as refused:
        operator.ask("check_local_alarms")
    assert (refused.value.text, refused.value.exit_code) == ("Free disk space alarm on node pybroker@vm: no room", 69)
