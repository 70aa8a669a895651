"""The process that asks, as people know it."""

import os
import pwd

import pytest

from pybroker.control import identity
from pybroker.control.identity import NO_LOGIN, Identity, login_uid, user_name


@pytest.mark.parametrize(
    ("name", "login", "called"),
    [
        ("", "", "uid 7 (pid 4)"),
        ("root", "", "root (uid 7, pid 4)"),
        ("root", "root", "root (uid 7, pid 4)"),
        ("root", "ann", "ann as root (uid 7, pid 4)"),
    ],
)
def test_a_caller_has_the_names_of_its_user_and_its_login(name, login, called):
    assert Identity(4, 7, 7).called(name, login) == called


def test_users_are_called_as_the_system_calls_them():
    assert user_name(os.getuid()) == pwd.getpwuid(os.getuid()).pw_name
    assert user_name((1 << 32) - 2) == ""


@pytest.mark.parametrize(("text", "expected"), [("1000", 1000), (str(NO_LOGIN), None), ("", None)])
def test_a_session_may_have_begun_with_another_user(monkeypatch, text, expected):
    monkeypatch.setattr(identity.Path, "read_text", lambda _: text)
    assert login_uid(4) == expected


def test_a_process_that_is_gone_has_no_login():
    assert login_uid(1 << 30) is None
