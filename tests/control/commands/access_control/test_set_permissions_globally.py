import pytest

from pybroker.control.spec import Refused


def test_permissions_are_set_in_all_virtual_hosts_there_are(operator):
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("add_user", username="u", password="p")
    operator.ask("set_permissions_globally", username="u", configure="c", write="w", read="r")
    operator.ask("add_vhost", vhost_name="later")
    assert operator.list("list_user_permissions", username="u") == [["/", "c", "w", "r"], ["v", "c", "w", "r"]]


def test_a_pattern_that_does_not_compile_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("set_permissions_globally", username="guest", configure="(", write="", read="")
    assert refused.value.text.startswith("a permission pattern is not a regular expression: ")


def test_an_unknown_user_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("set_permissions_globally", username="x", configure="", write="", read="")
    assert (refused.value.text, refused.value.exit_code) == ('User "x" does not exist', 67)
