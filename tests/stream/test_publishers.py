"""Publishers: ids and names on a connection."""

import pytest

from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code
from tests.stream_peer import StreamPeer


def declare(peer: StreamPeer, publisher_id: int = 1, name: str = "", stream: str = "s") -> int:
    return peer.call(commands.DeclarePublisher, publisher_id, name, stream).code


def test_ids_and_names_are_used_once(peer):
    assert 1 == declare(peer, 1, "me")
    assert 17 == declare(peer, 1, "other")
    assert 17 == declare(peer, 2, "me")
    assert 1 == declare(peer, 2)
    assert 1 == declare(peer, 3)
    peer.create("t")
    assert 1 == declare(peer, 4, "me", "t")


@pytest.mark.parametrize(("name", "stream", "code"), [("", "t", 2), ("n" * 256, "s", 17), ("n" * 255, "s", 1)])
def test_what_may_be_declared(peer, name, stream, code):
    assert code == declare(peer, 1, name, stream)


def test_all_ids_may_be_used(world, peer):
    assert {1} == {declare(peer, number) for number in range(256)}
    assert 1 == world.broker.totals.publishers


def test_write_is_needed(world, peer):
    world.broker.users.set_permissions("guest", "/", ".*", "^$", ".*")
    assert 16 == declare(peer, 1)
    assert 16 == declare(peer, 1, "n" * 256)


def test_one_that_is_deleted_is_unknown(world, peer):
    declare(peer, 1, "me")
    assert 1 == peer.call(commands.DeletePublisher, 1).code
    assert Code.PUBLISHER_DOES_NOT_EXIST == peer.call(commands.DeletePublisher, 1).code
    peer.publish(b"a")
    assert [(1, 18)] == peer.errors()
    assert ({}, 0) == (world.vhost.queues["s"].publishers, world.broker.totals.publishers)
    assert 1 == declare(peer, 1, "me")


def test_a_sequence_is_that_of_a_name(world, peer):
    assert (1, bytes(8)) == peer.call(commands.QueryPublisherSequence, "me", "s")[2:]
    assert (2, bytes(8)) == peer.call(commands.QueryPublisherSequence, "me", "t")[2:]
    declare(peer, 1, "me")
    peer.publish(b"a", first_id=77)
    assert (1, (77).to_bytes(8)) == peer.call(commands.QueryPublisherSequence, "me", "s")[2:]
    world.broker.users.set_permissions("guest", "/", ".*", ".*", "^$")
    assert (16, bytes(8)) == peer.call(commands.QueryPublisherSequence, "me", "s")[2:]
