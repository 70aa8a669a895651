import pytest

from pybroker.control.spec import Refused


def test_limits_are_cleared_once(operator):
    operator.ask("set_vhost_limits", definition='{"max-queues": 7}')
    operator.ask("clear_vhost_limits")
    assert operator.list("list_vhost_limits", all_vhosts=True) == []
    with pytest.raises(Refused) as refused:
        operator.ask("clear_vhost_limits")
    assert (refused.value.text, refused.value.exit_code) == ("Parameter does not exist", 69)


def test_an_unknown_virtual_host_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("clear_vhost_limits", vhost="x")
    assert (refused.value.text, refused.value.exit_code) == ("Virtual host 'x' does not exist", 65)
