"""Permissions in the protocol of streams: configure to create and delete, write to publish, read to read.

RabbitMQ 3.10.8 differs from later ones: to store an offset asks for write.
"""

import contextlib
import subprocess

import pytest

from tests.interop.stream.client import FIRST
from tests.interop.stream.peer import ClosedError, Code, Key

USER = "reader-of-streams"
PASSWORD = "secret"
NOTHING = "^$"


@pytest.fixture(scope="module")
def user(door):
    with contextlib.suppress(AssertionError, subprocess.CalledProcessError):
        door.ctl("add_user", USER, PASSWORD)
    yield USER
    door.ctl("delete_user", USER)


@pytest.fixture
def as_user(door, user):
    """Return a connection of the user with these patterns."""
    peers = []

    def connect(configure=NOTHING, write=NOTHING, read=NOTHING):
        door.ctl("set_permissions", user, configure, write, read)
        peers.append(door.client(login=(user, PASSWORD)))
        return peers[-1]

    yield connect
    for peer in peers:
        peer.socket.close()


def codes(peer, stream):
    """Return what each command is answered."""
    peer.store_offset("mine", stream, 5)
    return {
        "declare": peer.declare(1, stream),
        "sequence": peer.sequence("mine", stream)[0],
        "subscribe": peer.subscribe(1, stream, FIRST),
        "offset": peer.stored_offset("mine", stream)[0],
        "create": peer.create(stream),
        "delete": peer.delete(stream),
    }


REFUSED = dict.fromkeys(("declare", "sequence", "subscribe", "offset", "create", "delete"), Code.ACCESS_REFUSED)


def test_nothing_is_permitted(as_user, stream):
    assert codes(as_user(), stream) == REFUSED


def test_write_is_to_publish(as_user, stream):
    peer = as_user(write=stream)
    assert codes(peer, stream) == REFUSED | {"declare": Code.OK}
    peer.number(1, range(3))


def test_read_is_to_read(door, as_user, stream):
    told = {"sequence": Code.OK, "subscribe": Code.OK, "offset": Code.OK if door.is_ours else Code.NO_OFFSET}
    assert codes(as_user(read=stream), stream) == REFUSED | told


def test_configure_is_to_create_and_delete(as_user, stream):
    told = {"create": Code.STREAM_EXISTS, "delete": Code.OK}
    assert codes(as_user(configure=stream), stream) == REFUSED | told


def test_metadata_is_for_everybody(as_user, stream):
    assert as_user().metadata(stream)[1][stream][0] == Code.OK


def test_a_permission_that_is_taken_away_ends_publishing(door, as_user, stream):
    peer = as_user(write=stream)
    peer.declare(1, stream)
    peer.number(1, range(3))
    door.ctl("set_permissions", USER, NOTHING, NOTHING, NOTHING)
    with door.client(login=(USER, PASSWORD)) as second:
        assert second.declare(1, stream) == Code.ACCESS_REFUSED


def test_a_user_without_the_vhost_is_kept_out(door, user):
    door.ctl("clear_permissions", user)
    with door.stranger() as peer:
        peer.properties()
        peer.ask(Key.SASL_HANDSHAKE)
        assert peer.authenticate(user, PASSWORD) == Code.OK
        peer.tune()
        with contextlib.nullcontext() if door.is_ours else contextlib.suppress(ClosedError):
            assert peer.open_vhost() == Code.VHOST_FAILURE
        assert peer.until_closed() is None
