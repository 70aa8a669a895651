import base64
import hashlib

import pytest

from pybroker.core.auth.password import MD5, SHA256, SHA512, hash_password
from pybroker.core.auth.users import NoSuchUserError, UserExistsError, Users
from pybroker.core.events.cause import BROKER


def test_the_right_password_lets_in_and_no_other():
    users = Users()
    users.add("u", "secret", ["administrator"])
    user = users.named("u")
    assert users.authenticate("u", "secret") is user
    for name, password in [("u", "Secret"), ("u", ""), ("u", "secret "), ("nobody", "secret"), ("", "")]:
        assert users.authenticate(name, password) is None
    assert user.tags == ("administrator",)


def test_a_hash_out_of_rabbitmqs_documentation_fits():
    # The worked example of its page on passwords: salt 908DC60A, password test12.
    known = base64.b64decode("kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR")
    users = Users()
    users.add_hashed("u", known, SHA256)
    user = users.named("u")
    assert users.authenticate("u", "test12") is user
    assert users.authenticate("u", "test13") is None


@pytest.mark.parametrize(
    ("algorithm", "digest"), [(SHA256, hashlib.sha256), (SHA512, hashlib.sha512), (MD5, hashlib.md5)]
)
def test_every_hash_of_a_definitions_file_is_understood(algorithm, digest):
    users = Users()
    users.add_hashed("u", b"salt" + digest(b"saltpw").digest(), algorithm)
    assert users.authenticate("u", "pw") is not None
    assert users.authenticate("u", "px") is None


def test_an_unknown_hash_algorithm_is_refused():
    users = Users()
    with pytest.raises(ValueError, match="unknown password hashing algorithm 'rot13'"):
        users.add_hashed("u", b"x", "rot13")
    users.add("u", "p")
    with pytest.raises(ValueError, match="unknown password hashing algorithm 'rot13'"):
        users.set_hashed("u", b"x", "rot13")
    assert users.authenticate("u", "p") is not None


@pytest.mark.parametrize("password_hash", [b"", b"sal", b"salt", b"salt" + b"\0" * 31, b"salt" + b"\0" * 33])
def test_a_broken_or_empty_hash_lets_nobody_in(password_hash):
    users = Users()
    users.add_hashed("u", password_hash, SHA256)
    assert users.authenticate("u", "") is None
    assert users.authenticate("u", "x") is None


def test_a_user_without_a_password_lets_nobody_in():
    users = Users()
    users.add("u", "")
    assert users.authenticate("u", "") is None


def test_an_md5_hash_is_warned_about_once(caplog):
    users = Users()
    for name in ("a", "b"):
        users.add_hashed(name, hash_password("p", MD5), MD5)
    users.set_hashed("a", hash_password("q", MD5), MD5)
    assert [record.message[:45] for record in caplog.records] == ["the password of user 'a' is stored as an MD5 h"[:45]]


def test_a_password_is_octets_whatever_their_encoding():
    raw = b"caf\xe9\xff"
    users = Users()
    users.add("u", "caf\xe9")
    assert users.authenticate("u", "caf\xe9") is not None
    assert users.authenticate("u", raw.decode(errors="surrogateescape")) is None


def test_an_unknown_name_gets_a_hash_that_nothing_fits_always_the_same():
    users = Users()
    user, password_hash, algorithm = users.asked("nobody", SHA256)
    assert (user, len(password_hash), algorithm) == (None, 36, SHA256)
    assert users.asked("another", SHA256) == (None, password_hash, SHA256)
    assert users.asked("another", SHA512)[1:] != (password_hash, SHA256)


def test_users_are_made_changed_and_deleted():
    users = Users()
    users.add("a", "1")
    users.add("b", "2")
    assert [user.name for user in users] == ["a", "b"]
    assert (len(users), users.get("a") is users.named("a"), users.get("c")) == (2, True, None)
    with pytest.raises(UserExistsError):
        users.add("a", "3")
    users.set_hashed("a", hash_password("3"), SHA256)
    assert (users.authenticate("a", "1"), users.authenticate("a", "3")) == (None, users.get("a"))
    users.set_tags("a", ["monitoring"])
    assert users.named("a").tags == ("monitoring",)
    users.clear_password("a")
    assert users.authenticate("a", "3") is None
    users.delete("a")
    assert users.get("a") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda users: users.delete("u"),
        lambda users: users.set_hashed("u", b"", SHA256),
        lambda users: users.clear_password("u"),
        lambda users: users.set_limits("u", {}),
        lambda users: users.set_tags("u", []),
        lambda users: users.set_permissions("u", "/", "", "", ""),
        lambda users: users.clear_permissions("u", "/"),
        lambda users: users.set_topic_permissions("u", "/", "x", "", ""),
        lambda users: users.clear_topic_permissions("u", "/"),
    ],
)
def test_changing_who_is_not_there_is_said(change):
    with pytest.raises(NoSuchUserError, match="u"):
        change(Users())


def test_topic_permissions_are_cleared_at_one_exchange_or_at_all():
    users = Users()
    users.add("u", "x")
    user = users.named("u")
    for vhost_name, exchange_name in [("/", "a"), ("/", "b"), ("/", "c"), ("v", "a")]:
        users.set_topic_permissions("u", vhost_name, exchange_name, "", "")
    users.clear_topic_permissions("u", "/", "a")
    assert sorted(user.topic_permissions) == [("/", "b"), ("/", "c"), ("v", "a")]
    users.clear_topic_permissions("u", "/")
    assert sorted(user.topic_permissions) == [("v", "a")]


def test_a_virtual_host_that_goes_takes_its_permissions_along():
    users = Users()
    for name in ("u", "w"):
        users.add(name, "x")
        for vhost_name in ("/", "v"):
            users.set_permissions(name, vhost_name, ".*", ".*", ".*")
            users.set_topic_permissions(name, vhost_name, "x", "", "")
    assert 2 == len(list(users.forget_vhost("v", BROKER)))
    assert [sorted(user.permissions) for user in users] == [["/"], ["/"]]
    assert [sorted(user.topic_permissions) for user in users] == [[("/", "x")], [("/", "x")]]


def test_a_deleted_user_is_without_permissions_for_whoever_still_holds_it():
    users = Users()
    users.add("u", "x")
    user = users.named("u")
    users.set_permissions("u", "/", ".*", ".*", ".*")
    generation = users.generation
    users.delete("u")
    assert (user.permissions, users.generation > generation) == ({}, True)
