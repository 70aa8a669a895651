import pytest

from pybroker.control.spec import Refused


def test_limits_of_one_or_of_all_virtual_hosts_are_shown(operator):
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("add_vhost", vhost_name="w")
    operator.ask("set_vhost_limits", definition='{"max-queues": 7}', vhost="v")
    # As RabbitMQ exports one.
    operator.ask("set_vhost_limits", definition='[["max-connections", 0]]')
    # Of one RabbitMQ shows the bare document, and in JSON as `value`.
    shown = operator.ask("list_vhost_limits")
    assert ('{"max-connections":0}', '{"max-connections":0}') == (shown["message"], shown["value"])
    both = [["/", '{"max-connections":0}'], ["v", '{"max-queues":7}']]
    assert operator.list("list_vhost_limits", all_vhosts=True) == both
    assert operator.ask("list_vhost_limits", vhost="w")["message"] == ""


def test_an_unknown_virtual_host_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("list_vhost_limits", vhost="x")
    assert (refused.value.text, refused.value.exit_code) == ("Virtual host 'x' does not exist", 65)
