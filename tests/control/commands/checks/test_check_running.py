import pytest

from pybroker.control.spec import Refused


def test_it_fails_unless_clients_are_served(operator):
    assert operator.ask("check_running") == "RabbitMQ on node pybroker@vm is fully booted and running"
    operator.daemon.app_running = False
    with pytest.raises(Refused) as refused:
        operator.ask("check_running")
    assert refused.value.exit_code == 69
    assert "not running or has not fully booted yet" in refused.value.text
