"""Passwords checked in turn: lines, bounds, what is remembered, and what a change in between does."""

import pytest

from pybroker.core.auth import login as module
from pybroker.core.auth.login import BLANK, BUSY, INVALID, KNOWN_MS, WAITING_MAX, Verdict
from pybroker.core.auth.password import ARGON2ID, SHA256, SHA512
from pybroker.line_limit import LINES_MAX
from tests.fakes import World
from tests.inline_worker import InlineWorker


class Thread(InlineWorker):
    """A worker that hashes nothing: what fits is what ends in `!`. `checked` are the passwords in their order."""

    def __init__(self, monkeypatch) -> None:
        super().__init__()
        self.checked = []
        monkeypatch.setattr(module, "password_fits", self.fits)
        monkeypatch.setattr(module, "hash_password", lambda password, _algorithm: f"hash of {password}".encode())

    def fits(self, password, _password_hash, _algorithm) -> bool:
        self.checked.append(password)
        return password.endswith("!")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def thread(monkeypatch):
    return Thread(monkeypatch)


@pytest.fixture
def logins(world, thread):
    world.broker.logins.worker = thread
    for name in ("a", "b"):
        world.broker.users.add_hashed(name, b"", ARGON2ID)
    return world.broker.logins


@pytest.fixture
def ask(logins):
    """Ask for a user; return the list that the verdict will be in."""

    def ask(name: str, password: str = "p!", peer: str = "here", wanted: bool = True) -> list[Verdict]:
        verdicts: list[Verdict] = []
        logins.check(name, password, peer, lambda: wanted, verdicts.append)
        return verdicts

    return ask


def test_a_right_password_is_answered_when_it_is_hashed(world, thread, ask):
    verdicts = ask("a")
    assert verdicts == []
    thread.run()
    assert verdicts == [Verdict(world.broker.users.named("a"))]


@pytest.mark.parametrize("name", ["a", "nobody"])
def test_a_wrong_password_and_an_unknown_name_cost_the_same_and_are_told_the_same(thread, ask, name):
    verdicts = ask(name, "wrong")
    thread.run()
    assert (verdicts, thread.checked) == ([Verdict(None, INVALID)], ["wrong"])


def test_an_unknown_name_is_not_let_in_by_any_password(thread, ask):
    verdicts = ask("nobody", "p!")
    thread.run()
    assert verdicts == [Verdict(None, INVALID)]


def test_a_blank_password_is_not_even_looked_at(thread, ask):
    assert ask("a", "") == [Verdict(None, BLANK)]
    assert len(thread) == 0


def test_quick_hashes_are_answered_at_once(world, thread, ask, monkeypatch):
    monkeypatch.undo()
    world.broker.users.add("q", "secret")
    user = world.broker.users.named("q")
    assert ask("q", "secret") == [Verdict(user)]
    assert ask("q", "wrong") == [Verdict(None, INVALID)]
    world.broker.settings.password_hashing = SHA512
    assert ask("nobody", "secret") == [Verdict(None, INVALID)]
    assert len(thread) == 0


# -- what is remembered ------------------------------------------------------------------------------------------------


def test_a_password_that_was_right_is_known_for_five_minutes(world, thread, ask):
    ask("a")
    thread.run()
    user = world.broker.users.named("a")
    assert ask("a") == [Verdict(user)]
    assert ask("a", "other!") == []
    thread.run()
    assert thread.checked == ["p!", "other!"]
    assert ask("a", "other!") == [Verdict(user)]
    world.clock.advance(KNOWN_MS)
    assert ask("a", "other!") == []
    assert user.known_password is None


def test_a_wrong_password_is_never_remembered(world, thread, ask):
    ask("a", "wrong")
    thread.run()
    assert world.broker.users.named("a").known_password is None
    assert ask("a", "wrong") == []


@pytest.mark.parametrize(
    "change",
    [
        lambda users: users.set_hashed("a", b"", ARGON2ID),
        lambda users: users.clear_password("a"),
        lambda users: users.set_tags("a", ["management"]),
        lambda users: users.set_limits("a", {"max-channels": 1}),
        lambda users: users.set_permissions("a", "/", "", "", ""),
        lambda users: users.clear_permissions("a", "/"),
        lambda users: users.set_topic_permissions("a", "/", "x", "", ""),
        lambda users: users.clear_topic_permissions("a", "/"),
    ],
)
def test_any_change_of_the_user_ends_that_at_once(world, thread, ask, change):
    ask("a")
    thread.run()
    user = world.broker.users.named("a")
    assert user.known_password is not None
    change(world.broker.users)
    assert user.known_password is None


def test_what_is_remembered_is_not_the_password(world, thread, ask):
    ask("a", "geheim!")
    thread.run()
    known, _ = world.broker.users.named("a").known_password
    assert len(known) == 32
    assert b"geheim" not in known


# -- changes in between ------------------------------------------------------------------------------------------------


def test_a_password_that_is_changed_while_it_is_hashed_lets_nobody_in(world, thread, ask):
    verdicts = ask("a")
    world.broker.users.set_hashed("a", b"salt" + b"x" * 32, SHA256)
    thread.run()
    assert [verdict.user for verdict in verdicts] == [None]


def test_a_user_that_is_deleted_and_made_again_meanwhile_is_another_one(world, thread, ask):
    verdicts = ask("a")
    world.broker.users.delete("a")
    world.broker.users.add_hashed("a", b"", ARGON2ID)
    thread.run()
    assert [verdict.user for verdict in verdicts] == [None]
    assert world.broker.users.named("a").known_password is None


def test_nobody_hashes_for_a_peer_that_has_gone(thread, ask):
    ask("a", "first")
    gone = ask("b", "second", wanted=False)
    ask("nobody", "third")
    thread.run()
    assert (thread.checked, gone) == (["first", "third"], [])


def test_a_hash_that_fails_refuses_and_the_next_one_is_served(thread, ask, monkeypatch):
    def broken(*_):
        raise MemoryError("no memory")

    first, second = ask("a"), ask("b")
    assert second == []
    monkeypatch.setattr(module, "password_fits", broken)
    third = ask("a")
    thread.run()
    assert [first[0].user is None, second[0].user is None] == [False, False]
    assert third == [Verdict(None, "the password could not be checked: no memory", busy=True)]
    assert third[0].busy


# -- lines -------------------------------------------------------------------------------------------------------------


def test_lines_are_served_in_turn(thread, ask):
    for n in range(3):
        ask("a", f"a{n}")
    ask("b", "b")
    ask("a", "a from elsewhere", peer="elsewhere")
    for n in range(3):
        ask(f"unknown {n}", f"u{n}")
    thread.run()
    # The first one went to the thread at once, when there was no other.
    assert thread.checked == ["a0", "a1", "b", "a from elsewhere", "u0", "a2", "u1", "u2"]


def test_a_flood_is_bounded_and_does_not_keep_others_out(logins, thread, ask):
    floods = [ask("a", f"wrong {n}") for n in range(WAITING_MAX + 10)]
    # One is in the thread's hands; what comes too late is told at once.
    assert logins.waiting == WAITING_MAX
    assert [len(verdicts) for verdicts in floods].count(1) == 9
    assert floods[-1] == [Verdict(None, BUSY, busy=True)]
    unknown = [ask(f"unknown {n}", "wrong") for n in range(5)]
    honest = ask("b")
    assert (honest, logins.waiting) == ([], WAITING_MAX)
    assert [verdicts for verdicts in unknown if verdicts] == []
    thread.step()
    thread.step()
    thread.step()
    thread.step()
    assert [verdict.user.name for verdict in honest] == ["b"]
    thread.run()
    assert logins.waiting == 0
    assert [len(verdicts) for verdicts in floods] == [1] * len(floods)


def test_an_operators_password_is_hashed_beside_a_flood(world, logins, thread, ask):
    for n in range(2 * WAITING_MAX):
        ask("a", f"wrong {n}")
    made = []
    assert logins.hash("new", made.append) == ARGON2ID
    assert made == []
    thread.step()
    thread.step()
    thread.step()
    assert made == [b"hash of new"]
    world.broker.settings.password_hashing = SHA256
    assert logins.hash("quick", made.append) == SHA256
    assert made[1] == b"hash of quick"


def test_too_many_passwords_of_operators_are_refused_in_a_sentence(logins):
    made = []
    for _ in range(WAITING_MAX + 2):
        logins.hash("p", made.append)
    assert [str(each) for each in made] == [BUSY]


def test_without_a_thread_all_is_done_at_once(world):
    world.broker.users.add_hashed("a", b"", ARGON2ID)
    verdicts, made = [], []
    world.broker.logins.check("a", "p", "here", lambda: True, verdicts.append)
    world.broker.logins.hash("p", made.append)
    assert verdicts == [Verdict(None, INVALID)]
    assert made[0].startswith(b"$argon2id$")


# -- the log -----------------------------------------------------------------------------------------------------------


def test_a_flood_has_so_many_lines_a_second_and_then_a_sum(world, caplog):
    logins, session = world.broker.logins, world.peer().session
    for n in range(LINES_MAX + 7):
        logins._refused(f"refused {n}", session, "eve")
    world.advance(1_000)
    logins._refused("another second", session, "eve")
    lines = [record.message for record in caplog.records]
    assert lines[LINES_MAX - 1 :] == [
        f"refused {LINES_MAX - 1} (connection {session.name})",
        "7 more logins were refused within a second",
        f"another second (connection {session.name})",
    ]


def test_a_node_says_nothing_of_refusals_that_were_not(caplog):
    World().advance(1_000)
    assert [record.message for record in caplog.records if "refused" in record.message] == []
