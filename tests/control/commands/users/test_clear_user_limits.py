import pytest

from pybroker.control.spec import BadArguments, Refused


@pytest.fixture
def limits(operator):
    operator.ask("set_user_limits", username="guest", definition='{"max-connections": 2, "max-channels": 5}')
    return lambda: operator.world.broker.users.named("guest").limits


def test_one_is_cleared_and_the_other_stays(operator, limits):
    operator.ask("clear_user_limits", username="guest", limit_type="max-connections")
    assert limits() == {"max-channels": 5}
    operator.ask("clear_user_limits", username="guest", limit_type="max-connections")
    assert limits() == {"max-channels": 5}


def test_all_are_cleared(operator, limits):
    operator.ask("clear_user_limits", username="guest", limit_type="all")
    assert limits() == {}


def test_another_kind_is_refused(operator, limits):
    with pytest.raises(BadArguments):
        operator.ask("clear_user_limits", username="guest", limit_type="max-queues")
    assert len(limits()) == 2


def test_an_unknown_user_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("clear_user_limits", username="x", limit_type="all")
    assert (refused.value.text, refused.value.exit_code) == ('User "x" does not exist', 67)
