import pytest

from pybroker.control.spec import Refused


def test_who_may_do_what(operator):
    operator.ask("add_user", username="u", password="p")
    assert operator.list("list_permissions") == [["guest", ".*", ".*", ".*"]]
    operator.ask("set_permissions", username="u", configure="", write="^w", read="r$")
    assert operator.list("list_permissions") == [["guest", ".*", ".*", ".*"], ["u", "", "^w", "r$"]]


def test_nobody_may_enter_a_new_virtual_host(operator):
    operator.ask("add_vhost", vhost_name="v")
    assert operator.list("list_permissions", vhost="v") == []
    with pytest.raises(Refused):
        operator.list("list_permissions", vhost="w")
