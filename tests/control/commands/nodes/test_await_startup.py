import pytest

from pybroker.control.spec import Refused


def test_a_node_that_serves_is_up(operator):
    assert operator.ask("await_startup") is None


def test_one_that_does_not_asks_for_patience(operator):
    operator.daemon.app_running = False
    with pytest.raises(Refused) as refused:
        operator.ask("await_startup")
    assert (refused.value.text, refused.value.exit_code) == ("node pybroker@vm does not serve clients yet", 75)
