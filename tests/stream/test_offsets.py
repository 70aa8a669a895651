"""Offsets that are stored, and the offset of a place."""

import pytest

from pybroker.stream.offsets import spec_of
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code, OffsetType
from pybroker.wire.stream.fields import Offset
from tests.stream_peer import FIRST, LAST, NEXT, StreamPeer


def stored(peer: StreamPeer, reference: str, stream: str = "s") -> tuple[int, int]:
    answer = peer.call(commands.QueryOffset, reference, stream)
    return answer.code, int.from_bytes(answer.content)


def test_an_offset_is_kept_by_name(world, peer):
    assert (Code.NO_OFFSET, 0) == stored(peer, "me")
    peer.send(commands.StoreOffset("me", "s", 5), commands.StoreOffset("other", "s", 1 << 63))
    peer.send(commands.StoreOffset("me", "s", 4))
    assert [(1, 4), (1, 1 << 63)] == [stored(peer, name) for name in ("me", "other")]
    assert (1, 4) == stored(StreamPeer(world), "me")


@pytest.mark.parametrize(
    ("reference", "stream", "why"),
    [
        ("me", "t", "of 'me' in stream 't': there is no such stream"),
        ("", "s", "of '' in stream 's': the name is empty"),
        ("n" * 256, "s", "the name has more than 255 octets"),
    ],
)
def test_the_log_says_why_an_offset_cannot_be_stored(peer, caplog, reference, stream, why):
    peer.send(commands.StoreOffset(reference, stream, 5))
    assert why in caplog.text


def test_who_may_not_read_stores_no_offset(world, peer, caplog):
    world.broker.users.set_permissions("guest", "/", ".*", ".*", "^$")
    peer.send(commands.StoreOffset("me", "s", 5))
    assert "cannot store offset 5 of 'me' in stream 's': the user may not read it" in caplog.text
    assert (Code.ACCESS_REFUSED, 0) == stored(peer, "me")
    world.broker.users.set_permissions("guest", "/", ".*", ".*", ".*")
    assert (Code.NO_OFFSET, 0) == stored(peer, "me")
    assert (Code.STREAM_DOES_NOT_EXIST, 0) == stored(peer, "me", "t")


@pytest.mark.parametrize(
    ("begin", "offset"),
    [
        (FIRST, 0),
        (LAST, 2),
        (NEXT, 3),
        (Offset(OffsetType.OFFSET, 1), 1),
        (Offset(OffsetType.OFFSET, 9), 3),
        (Offset(OffsetType.TIMESTAMP, 0), 0),
        (Offset(OffsetType.TIMESTAMP, 1 << 60), 3),
    ],
)
def test_places_are_resolved(peer, begin, offset):
    peer.declare()
    for number in range(3):
        peer.publish(b"x", first_id=number)
    answer = peer.call(commands.ResolveOffsetSpec, "s", begin, {})
    assert (1, b"\0\x04" + offset.to_bytes(8)) == (answer.code, answer.content)


def test_a_time_before_1970_is_the_beginning():
    assert 0 == spec_of(Offset(OffsetType.TIMESTAMP, -1)).timestamp_ms
