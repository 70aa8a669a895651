from base64 import b64encode

import pytest

from pybroker.control.spec import Refused
from pybroker.core.auth.users import hash_password


def refusal(operator, **given):
    with pytest.raises(Refused) as refused:
        operator.ask("add_user", **given)
    return refused.value.exit_code, refused.value.text


def test_the_user_can_log_in_afterwards(operator):
    answer = operator.ask("add_user", username="u", password="p")
    assert answer.startswith("Done. Don't forget to grant the user permissions to some virtual hosts!")
    assert operator.world.broker.users.authenticate("u", "p") is not None
    assert operator.world.broker.users.authenticate("u", "q") is None


def test_a_user_that_exists_is_refused(operator):
    assert refusal(operator, username="guest", password="p") == (70, 'User "guest" already exists')


def test_a_user_without_a_name_is_refused(operator):
    assert refusal(operator, username="", password="p") == (65, "user cannot be an empty string")


def test_an_empty_password_lets_nobody_in(operator):
    operator.ask("add_user", username="u", password="")
    assert operator.world.broker.users.authenticate("u", "") is None


def test_a_hash_in_base64_stands_for_its_password(operator):
    hashed = b64encode(hash_password("p")).decode()
    operator.ask("add_user", username="u", password=hashed, pre_hashed_password=True)
    assert operator.world.broker.users.authenticate("u", "p") is not None


@pytest.mark.parametrize("hashed", ["*", "AAAA", ""])
def test_what_is_no_hash_is_refused(operator, hashed):
    expected = (65, "Could not Base64 decode provided password hash value")
    assert refusal(operator, username="u", password=hashed, pre_hashed_password=True) == expected
    assert operator.world.broker.users.get("u") is None
