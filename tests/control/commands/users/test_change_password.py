import pytest

from pybroker.control.spec import Refused


def test_the_new_password_lets_in_and_the_old_one_does_not(operator, peer):
    assert operator.ask("change_password", username="guest", password="new") is None
    users = operator.world.broker.users
    assert users.authenticate("guest", "new") is not None
    assert users.authenticate("guest", "guest") is None
    # Open connections stay open.
    peer.declare("q")


def test_an_unknown_user_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("change_password", username="x", password="p")
    assert (refused.value.text, refused.value.exit_code) == ('User "x" does not exist', 67)
