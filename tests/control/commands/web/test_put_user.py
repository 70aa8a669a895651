"""Users that an administrator makes and changes over the HTTP API."""

import pytest

from pybroker.control.spec import BadArguments, Refused

HASH = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"


def test_made_and_replaced(run, world):
    users = world.broker.users
    assert run("put_user", username="u", password="p", tags=["a", "b", "a"]) == {"created": True}
    assert users.get("u").tags == ("a", "b")
    assert users.authenticate("u", "p") is not None
    assert run("put_user", username="u", password_hash=HASH) == {"created": False}
    assert (users.get("u").tags, users.get("u").hashing_algorithm) == ((), "rabbit_password_hashing_sha256")
    assert users.authenticate("u", "test12") is not None
    run("put_user", username="u")
    assert users.get("u").password_hash == b""
    assert users.authenticate("u", "") is None


@pytest.mark.parametrize("given", [{"password": "p", "password_hash": HASH}, {"username": ""}, {"username": "u" * 256}])
def test_bad_arguments(run, given):
    with pytest.raises(BadArguments):
        run("put_user", **{"username": "u", **given})


def test_a_hash_must_be_one(run, world):
    with pytest.raises(Refused, match="Could not Base64 decode"):
        run("put_user", username="u", password_hash="abc")
    assert world.broker.users.get("u") is None


def test_only_administrators_may(run, ann):
    with pytest.raises(Refused, match="Not administrator user"):
        run("put_user", ann, username="ann", tags=["administrator"])
