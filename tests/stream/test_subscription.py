"""Chunks that are too large for a frame of the peer are cut between entries; credit has a bound."""

import pytest

from pybroker.entries_run import EntriesRun
from pybroker.stream.subscription import CHUNKS_MAX, parts_of
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Key
from tests.stream_peer import entry, publish_frame

FRAME_OCTETS_MAX = 1_048_576


def test_parts_have_heads_of_their_own():
    data = b"".join(entry(b"%d" % number) for number in range(10))
    run = EntriesRun(5, [data], 10, 10, len(data), 0)
    run.timestamp_ms = 7
    parts = parts_of(run, 20)
    assert b"".join(part.data for part in parts) == data
    assert [5, 9, 13] == [part.first_seq for part in parts]
    assert {7} == {part.timestamp_ms for part in parts}
    assert all(part.head != run.head for part in parts)


def sizes(peer):
    """Return the size of each Deliver that has come, as its first four octets say."""
    return [4 + len(each.content) for each in peer.inbox if each.key == Key.DELIVER]


@pytest.mark.parametrize(("version", "more"), [(1, 36), (2, 44)])
def test_a_message_that_fills_the_largest_frame_is_delivered_with_little_around_it(peer, version, more):
    body = bytes(FRAME_OCTETS_MAX - 21)
    peer.declare()
    frame = publish_frame(1, {1: body})
    assert len(frame) == FRAME_OCTETS_MAX + 4
    peer.send_octets(frame)
    peer.session.knows_committed = version == 2
    peer.subscribe()
    assert sizes(peer) == [FRAME_OCTETS_MAX + more]
    assert [chunk.bodies for chunk in peer.chunks()] == [[body]]


@pytest.mark.parametrize("count", [2, 3, 1_000, 40_000])
def test_messages_that_fill_the_largest_frame_together_are_delivered_in_frames_as_large(peer, count):
    each = (FRAME_OCTETS_MAX - 9) // count - 12
    bodies = [bytes(each)] * (count - 1)
    bodies.append(bytes(FRAME_OCTETS_MAX - 9 - (each + 12) * (count - 1) - 12))
    peer.declare()
    frame = publish_frame(1, dict(enumerate(bodies, 1)))
    assert len(frame) == FRAME_OCTETS_MAX + 4
    peer.send_octets(frame)
    peer.subscribe()
    assert max(sizes(peer)) <= FRAME_OCTETS_MAX
    assert [body for chunk in peer.chunks() for body in chunk.bodies] == bodies


def test_credit_does_not_grow_without_end(peer):
    peer.subscribe(credit=5)
    (subscription,) = peer.session.channel.consumers.values()
    subscription.chunks = CHUNKS_MAX
    peer.send(commands.Credit(1, 9))
    assert CHUNKS_MAX == subscription.chunks
