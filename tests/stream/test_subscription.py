"""Chunks that are too large for a frame of the peer are cut between entries; credit has a bound."""

from pybroker.entries_run import EntriesRun
from pybroker.stream.subscription import CHUNKS_MAX, parts_of
from pybroker.wire.stream import commands
from tests.stream_peer import entry


def test_parts_have_heads_of_their_own():
    data = b"".join(entry(b"%d" % number) for number in range(10))
    run = EntriesRun(5, [data], 10, 10, len(data), 0)
    run.timestamp_ms = 7
    parts = parts_of(run, 20)
    assert b"".join(part.data for part in parts) == data
    assert [5, 9, 13] == [part.first_seq for part in parts]
    assert {7} == {part.timestamp_ms for part in parts}
    assert all(part.head != run.head for part in parts)


def test_credit_does_not_grow_without_end(peer):
    peer.subscribe(credit=5)
    (subscription,) = peer.session.channel.consumers.values()
    subscription.chunks = CHUNKS_MAX
    peer.send(commands.Credit(1, 9))
    assert CHUNKS_MAX == subscription.chunks
