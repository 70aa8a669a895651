import pytest

from pybroker.control.spec import Refused


def test_it_passes_and_fails_with_an_alarm_of_this_node(operator):
    assert "Health check passed" == operator.ask("node_health_check")
    operator.world.broker.alarms.set("memory", "much", "pybroker@other")
    assert "Health check passed" == operator.ask("node_health_check")
    operator.world.broker.alarms.set("disk", "little")
    with pytest.raises(Refused) as refused:
        operator.ask("node_health_check")
    assert 69 == refused.value.exit_code
