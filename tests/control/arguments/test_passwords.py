"""Passwords of commands: what they wait for, and what is refused in a sentence."""

from base64 import b64encode

import pytest

from pybroker.control.arguments import passwords
from pybroker.control.spec import Node, Refused
from pybroker.core.auth import login as module
from pybroker.core.auth.login import BUSY, WAITING_MAX
from pybroker.core.auth.password import ALGORITHMS, ARGON2ID, SHA256, SHA512, hash_password, password_fits
from pybroker.core.events.cause import BROKER
from tests.inline_worker import InlineWorker


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def node(world, operator, pauses, monkeypatch):
    """A node whose thread does one thing in every pause of a command."""
    worker = world.broker.logins.worker = InlineWorker()
    monkeypatch.setattr(module, "hash_password", lambda password, _algorithm: f"hash of {password}".encode())

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        worker.step()

    return Node(world.broker, operator.daemon, pause, BROKER)


def test_others_go_on_while_a_password_is_hashed(node, pauses):
    assert passwords.hashed(node, "new") == (b"hash of new", ARGON2ID)
    assert len(pauses) == 1
    node.broker.settings.password_hashing = SHA512
    assert passwords.hashed(node, "new") == (b"hash of new", SHA512)
    assert len(pauses) == 1


def test_an_empty_password_lets_nobody_in(node, pauses):
    assert passwords.hashed(node, "") == (b"", SHA256)
    assert pauses == []


def test_too_many_passwords_at_once_are_refused_in_a_sentence(node):
    for _ in range(WAITING_MAX + 1):
        node.broker.logins.hash("p", lambda _: None)
    with pytest.raises(Refused) as refused:
        passwords.hashed(node, "new")
    assert (refused.value.text, refused.value.exit_code) == (BUSY, 75)
    with pytest.raises(Refused) as refused:
        passwords.fits(node, "nobody", "p")
    assert (refused.value.text, refused.value.exit_code) == (BUSY, 75)


def test_a_password_is_tried_as_a_clients_is(node, pauses, monkeypatch):
    monkeypatch.setattr(module, "password_fits", lambda password, *_: password == "right")
    node.broker.users.add_hashed("u", b"", ARGON2ID)
    assert passwords.fits(node, "u", "right")
    assert not passwords.fits(node, "u", "wrong")
    assert not passwords.fits(node, "nobody", "right")
    assert len(pauses) == 3
    assert passwords.fits(node, "u", "right")
    assert len(pauses) == 3


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_hash_says_what_made_it(algorithm):
    octets, found = passwords.decoded(b64encode(hash_password("p", algorithm)).decode())
    assert found == algorithm
    assert password_fits("p", octets, found)


@pytest.mark.parametrize("text", ["", "*", "AAAA", "\u00fc"])
def test_what_is_no_hash_is_refused(text):
    with pytest.raises(Refused) as refused:
        passwords.decoded(text)
    assert refused.value.text == "Could not Base64 decode provided password hash value"
