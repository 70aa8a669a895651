import pytest

from pybroker.control.spec import Refused


def test_the_hash_is_what_add_user_takes(operator):
    hashed = operator.ask("hash_password", password="secret")["message"]
    assert hashed != operator.ask("hash_password", password="secret")["password_hash"]
    operator.ask("add_user", username="u", password=hashed, pre_hashed_password=True)
    assert operator.ask("authenticate_user", username="u", password="secret") == "Success"


def test_an_empty_password_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("hash_password", password="")
    assert (refused.value.text, refused.value.exit_code) == ("password cannot be an empty string", 65)
