"""Subscriptions that end at an offset: what is passed over is told, what is gone is not, nothing comes behind."""

import pytest

from pybroker.stream.ranged_subscription import TELL_MS
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import UNTIL, Code, OffsetType
from pybroker.wire.stream.fields import Offset
from tests.stream_peer import NEXT, StreamPeer, filtered_frame


def fill(peer, values):
    """Publish two messages of one chunk with each of these values."""
    peer.declare()
    ids = iter(range(1 << 20))
    for value in values:
        frame = filtered_frame(1, {next(ids): (value.encode(), value.encode()) for _ in range(2)})
        peer.send_octets(frame)


def got(peer):
    """Return offset, number of messages and bodies of the chunks that have come."""
    return [(chunk.offset, chunk.messages, *chunk.bodies) for chunk in peer.chunks()]


def test_the_peer_learns_what_was_passed_over_and_where_it_ends(peer):
    fill(peer, "aabba")
    peer.subscribe(begin=Offset(OffsetType.OFFSET, 0), **{"filter.0": "b", UNTIL: "10"})
    assert got(peer) == [(0, 4), (4, 2, b"b", b"b"), (6, 2, b"b", b"b"), (8, 2)]


def test_nothing_comes_behind_the_end_whatever_the_credit(peer):
    fill(peer, "abaa")
    peer.subscribe(credit=1, **{UNTIL: "3"})
    assert got(peer) == [(0, 2, b"a", b"a")]
    peer.send(commands.Credit(1, 5))
    assert got(peer) == [(2, 2, b"b", b"b")]
    peer.send(commands.Credit(1, 5))
    peer.publish(b"more", first_id=100)
    assert got(peer) == []
    assert peer.call(commands.Unsubscribe, 1).code == Code.OK


def test_what_is_told_takes_no_credit(peer):
    fill(peer, "abab")
    peer.subscribe(credit=2, **{"filter.0": "b", UNTIL: "8"})
    assert [offset for offset, *_ in got(peer)] == [0, 2, 4, 6]


def test_a_peer_that_waits_is_told_each_second(world, peer):
    fill(peer, "a")
    peer.subscribe(**{"filter.0": "b", UNTIL: "100"})
    assert got(peer) == []
    world.clock.advance(TELL_MS)
    peer.send_octets(filtered_frame(1, {50: (b"a", b"a")}))
    assert got(peer) == [(0, 3)]


def test_what_is_gone_is_not_told_as_passed_over(world, peer):
    fill(peer, "aaabb")
    stream = world.vhost.queues["s"]
    reader = StreamPeer(world)
    reader.subscribe(credit=0, **{"filter.0": "b", UNTIL: "10"})
    (at,) = stream.readers.values()
    at.next_offset = 2
    at._skip_to(4)
    reader.send(commands.Credit(1, 5))
    assert got(reader) == [(4, 2), (6, 2, b"b", b"b"), (8, 2, b"b", b"b")]


def test_an_end_that_is_gone_is_told(world, peer):
    fill(peer, "a")
    peer.subscribe(begin=Offset(OffsetType.OFFSET, 2), **{UNTIL: "2"})
    assert got(peer) == [(2, 0)]


def test_a_chunk_behind_the_end_is_not_delivered(world, peer):
    fill(peer, "abab")
    peer.subscribe(begin=Offset(OffsetType.LAST), **{UNTIL: "2"})
    assert got(peer) == [(6, 0)]
    reader = StreamPeer(world)
    reader.subscribe(credit=0, **{UNTIL: "3"})
    (at,) = [at for each, at in world.vhost.queues["s"].readers.items() if each.channel is reader.session.channel]
    at._skip_to(4)
    reader.send(commands.Credit(1, 5))
    assert got(reader) == [(4, 0)]


def test_more_messages_than_a_chunk_has_a_number_for(peer, monkeypatch):
    monkeypatch.setattr("pybroker.stream.ranged_subscription._COUNT_MAX", 3)
    fill(peer, "aa")
    peer.subscribe(**{"filter.0": "b", UNTIL: "4"})
    assert got(peer) == [(0, 3), (3, 1)]


def test_others_are_told_nothing(peer):
    fill(peer, "ab")
    peer.subscribe(**{"filter.0": "b"})
    assert got(peer) == [(2, 2, b"b", b"b")]


@pytest.mark.parametrize(
    "properties",
    [{UNTIL: "-1"}, {UNTIL: ""}, {UNTIL: "9" * 5_000}, {UNTIL: "3", "name": "n", "single-active-consumer": "true"}],
)
def test_what_makes_no_sense_is_refused(peer, properties):
    code = peer.call(commands.Subscribe, 1, "s", NEXT, 1, properties).code
    assert (Code.PRECONDITION_FAILED, {}) == (code, peer.session.channel.consumers)
