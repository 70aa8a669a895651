import pytest

from pybroker.control.spec import Refused


def test_the_limits_of_one_user_are_a_document(operator):
    assert operator.ask("list_user_limits")["message"] == "{}"
    operator.ask("set_user_limits", username="guest", definition='{"max-connections": 2}')
    assert operator.ask("list_user_limits", user="guest")["message"] == '{"max-connections":2}'


def test_all_users_are_those_with_limits(operator):
    operator.ask("add_user", username="u", password="p")
    operator.ask("add_user", username="w", password="p")
    operator.ask("set_user_limits", username="w", definition='{"max-channels": 0}')
    assert operator.list("list_user_limits", all_users=True) == [["w", '{"max-channels":0}']]


def test_an_unknown_user_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("list_user_limits", user="x")
    assert (refused.value.text, refused.value.exit_code) == ('User "x" does not exist', 67)
