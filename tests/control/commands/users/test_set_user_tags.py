import pytest

from pybroker.control.spec import Refused


def test_tags_are_replaced_each_once(operator):
    operator.ask("set_user_tags", username="guest", tags=["monitoring", "policymaker", "monitoring"])
    assert operator.list("list_users") == [["guest", ["monitoring", "policymaker"]]]


def test_none_takes_them_away(operator):
    operator.ask("set_user_tags", username="guest")
    assert operator.list("list_users") == [["guest", []]]


def test_an_unknown_user_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("set_user_tags", username="nobody", tags=[])
    assert refused.value.exit_code == 67
