"""Handles of users who logged in over HTTP, and the end of each."""

import pytest

from pybroker.control import web_sessions
from pybroker.control.web_sessions import WebSessions


@pytest.fixture
def users(world):
    world.broker.users.add("ann", "secret", ("management",))
    return world.broker.users


@pytest.fixture
def sessions(world):
    return WebSessions(world.broker)


@pytest.fixture
def handle(users, sessions):
    return sessions.begin(users.get("ann"), "10.0.0.1", idle_s=60, life_s=100)


def test_a_handle_stands_for_its_user(sessions, handle):
    found = sessions.find(handle)
    assert (found.name, found.tags, found.facts) == ("ann", ("management",), {"peer_host": "10.0.0.1"})
    assert len(handle) >= 43
    assert sessions.find(handle + "x") is None
    assert sessions.find("") is None


def test_it_ends_when_nobody_uses_it(world, sessions, handle):
    world.advance(59_000)
    assert sessions.find(handle) is not None
    world.advance(39_000)
    assert sessions.find(handle) is not None
    world.advance(2_000)
    assert sessions.find(handle) is None


def test_a_long_request_keeps_it(world, users, sessions, handle):
    world.advance(70_000)
    assert sessions.still_stands(handle)
    world.advance(20_000)
    assert sessions.find(handle) is not None
    users.set_tags("ann", ())
    assert not sessions.still_stands(handle)
    sessions.end(handle)
    assert not sessions.still_stands(handle)


def test_a_request_ends_when_its_time_is_over(world, sessions, handle):
    world.advance(100_000)
    assert not sessions.still_stands(handle)


def test_it_ends_after_an_idle_time(world, sessions, handle):
    world.advance(60_000)
    assert sessions.find(handle) is None
    assert len(sessions) == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda users: users.set_hashed(
            "ann", b"other hash, of 36 octets to be one..", "rabbit_password_hashing_sha256"
        ),
        lambda users: users.set_tags("ann", ("administrator",)),
        lambda users: users.clear_password("ann"),
        lambda users: users.delete("ann"),
        lambda users: (users.delete("ann"), users.add("ann", "secret", ("management",))),
    ],
)
def test_it_ends_with_the_user_that_it_was_made_for(users, sessions, handle, change):
    change(users)
    assert sessions.find(handle) is None


def test_permissions_may_change(users, sessions, handle):
    users.set_permissions("ann", "/", "", "", "")
    assert sessions.find(handle) is not None


def test_it_can_be_ended(sessions, handle):
    sessions.end(handle)
    sessions.end(handle)
    assert sessions.find(handle) is None


def test_the_idle_give_way_to_the_new(users, sessions, handle, monkeypatch):
    monkeypatch.setattr(web_sessions, "SESSIONS_MAX", 3)
    others = [sessions.begin(users.get("ann"), "10.0.0.1", 60, 100) for _ in range(2)]
    assert sessions.find(handle) is not None
    sessions.begin(users.get("ann"), "10.0.0.1", 60, 100)
    assert len(sessions) == 3
    assert [sessions.find(each) is not None for each in (handle, *others)] == [True, False, True]


def test_nobody_pushes_out_others_by_logging_in_again_and_again(users, sessions, handle, monkeypatch):
    monkeypatch.setattr(web_sessions, "SESSIONS_MAX", 3)
    users.add("ben", "secret", ("management",))
    for _ in range(5):
        sessions.begin(users.get("ben"), "10.0.0.2", 60, 100)
    assert len(sessions) == 3
    assert sessions.find(handle) is not None
