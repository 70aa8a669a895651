import pytest

from pybroker.control.spec import Refused


def test_no_password_lets_in_any_more_not_even_an_empty_one(operator):
    assert operator.ask("clear_password", username="guest") is None
    users = operator.world.broker.users
    assert users.authenticate("guest", "guest") is None
    assert users.authenticate("guest", "") is None


def test_an_unknown_user_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("clear_password", username="x")
    assert refused.value.exit_code == 67
