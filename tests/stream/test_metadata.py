"""Answers about streams."""

import struct

from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code
from tests.stream_peer import StreamPeer


def test_streams_are_here_or_nowhere(peer):
    answer = peer.call(commands.Metadata, ("s", "t", "s"))
    node = b"\0\0\0\x01\0\0\0\x09127.0.0.1" + (5552).to_bytes(4)
    told = b"\0\0\0\x02\0\x01s\0\x01\0\0\0\0\0\0" + b"\0\x01t\0\x02\xff\xff\0\0\0\0"
    assert node + told == answer.content


def test_without_streams_there_is_no_node(peer):
    assert bytes(4) + b"\0\0\0\x01\0\x01t\0\x02\xff\xff\0\0\0\0" == peer.call(commands.Metadata, ("t",)).content
    assert bytes(8) == peer.call(commands.Metadata, ()).content


def figures(peer: StreamPeer, name: str = "s") -> dict[str, int]:
    answer = peer.call(commands.StreamStats, name)
    assert answer.code == Code.OK
    found, at = {}, 4
    for _ in range(int.from_bytes(answer.content[:4])):
        size = int.from_bytes(answer.content[at : at + 2])
        key = answer.content[at + 2 : at + 2 + size].decode()
        (found[key],) = struct.unpack_from(">q", answer.content, at + 2 + size)
        at += size + 10
    return found


def test_figures_of_a_stream(world, peer):
    empty = figures(peer)
    chunks = ("first_chunk_id", "last_chunk_id", "committed_chunk_id", "committed_offset")
    assert dict.fromkeys(chunks, -1) == {key: empty[key] for key in chunks}
    peer.declare()
    peer.publish(b"a", b"b")
    peer.publish(b"c", first_id=3)
    found = figures(peer)
    assert [0, 2, 2, 2] == [found[key] for key in chunks]
    assert world.vhost.queues["s"].id == found["pybroker.stream_id"]
    assert world.clock.timestamp_ms == found["pybroker.first_timestamp"]
    assert found["pybroker.octets"] > 0


def test_figures_need_a_stream_and_a_permission(world, peer):
    assert (2, bytes(4)) == peer.call(commands.StreamStats, "t")[2:]
    world.broker.users.set_permissions("guest", "/", ".*", ".*", "^$")
    assert (16, bytes(4)) == peer.call(commands.StreamStats, "s")[2:]
