import pytest

from pybroker.control.spec import Refused


def test_the_right_password_succeeds(operator):
    assert operator.ask("authenticate_user", username="guest", password="guest") == "Success"


@pytest.mark.parametrize("name", ["guest", "nosuch"])
def test_a_wrong_one_fails_and_does_not_tell_whether_there_is_such_a_user(operator, name):
    with pytest.raises(Refused) as refused:
        operator.ask("authenticate_user", username=name, password="wrong")
    assert refused.value.exit_code == 65
    assert refused.value.text == f"failed to authenticate user \"{name}\"\nuser '{name}' - invalid credentials"
