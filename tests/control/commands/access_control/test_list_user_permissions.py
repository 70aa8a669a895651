import pytest

from pybroker.control.spec import Refused


def test_the_patterns_in_every_virtual_host_are_shown(operator):
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("set_permissions", username="guest", configure="^c", write="^w", read="", vhost="v")
    assert operator.list("list_user_permissions", username="guest") == [["/", ".*", ".*", ".*"], ["v", "^c", "^w", ""]]


def test_an_unknown_user_is_refused_as_everywhere(operator):
    with pytest.raises(Refused) as refused:
        operator.list("list_user_permissions", username="gest")
    assert refused.value.text == "User \"gest\" does not exist. Did you mean 'guest'?"
    assert refused.value.exit_code == 67
