"""Consumers that take chunks: whole, in order, as many as they have credit for."""

import errno

import pytest

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.routing.publish import names_of
from pybroker.core.stream.conversion.conversion import Conversion
from pybroker.core.stream.filter import Filters
from pybroker.core.stream.pieces.piece import piece_of_entries
from pybroker.core.stream.reader import FILTER_COST, RUN_COST
from pybroker.core.stream.shared_reads import RUN_OCTETS
from pybroker.core.stream.stream import TURN_COST_MAX
from pybroker.offset_spec import OffsetSpec
from pybroker.store.disk import DiskError
from pybroker.store.streams.format import Chunk
from pybroker.store.streams.memory import MemoryStreamLog
from pybroker.wire.amqp10.to_content import framed
from pybroker.wire.stream.bloom import bloom_of
from tests.amqp10 import content_of
from tests.core.stream.runs import bodies_run
from tests.core.stream.test_filter import filtered_run
from tests.core.stream.test_reader import Sink
from tests.core.stream.test_streams import Gated
from tests.entries import bodies_of, entries_run


class ChunkSink(Sink):
    """A consumer that takes chunks."""

    takes_chunks = True

    def deliver_chunk(self, run, _now_ms):
        self.left -= 1
        self.got.append((run.first_seq, bodies_of(run), run.head))


@pytest.fixture
def attach(world):
    def attach(stream, spec, credit=100, filters=None):
        sink = ChunkSink(credit)
        stream.attach(sink, spec, filters)
        stream.consumers.add(sink)
        stream.wake()
        world.run()
        return sink

    return attach


def publish(stream, *bodies):
    stream.publish_entries(entries_run(0, *bodies), NO_RECEIPT)


def got(sink):
    return [(offset, *bodies) for offset, bodies, _ in sink.got]


def test_chunks_come_whole_from_the_files_and_from_memory(world, slow, attach):
    publish(slow, b"0", b"1")
    world.broker.streams.move(slow)
    slow.files.run()
    publish(slow, b"2")
    sink = attach(slow, OffsetSpec(offset=1))
    slow.files.run()
    world.run()
    assert got(sink) == [(0, b"0", b"1"), (2, b"2")]
    assert (slow.readers[sink].lag, slow.readers[sink].skipped, slow.delivered) == (0, 0, 3)


def test_a_chunk_is_the_same_whether_it_has_moved_or_not(world, slow, attach):
    publish(slow, b"0", b"1")
    sink = attach(slow, OffsetSpec(offset=0))
    world.clock.advance(5_000)
    world.broker.streams.move(slow)
    slow.files.run()
    slow.pieces.forget(slow.files.next_offset)
    again = attach(slow, OffsetSpec(offset=0))
    slow.files.run()
    world.run()
    assert sink.got == again.got != []


def publish_filtered(stream, *bodies):
    """Publish a chunk for each message, with its body as filter value."""
    for each in bodies:
        stream.publish_entries(entries_run(0, each, bloom=bloom_of([each or None], 16)), NO_RECEIPT)


def test_chunks_that_cannot_match_are_passed_over(world, slow, attach):
    publish_filtered(slow, b"a", b"b", b"", b"a")
    world.broker.streams.move(slow)
    slow.files.run()
    slow.pieces.forget(slow.files.next_offset)
    publish_filtered(slow, b"b", b"a", b"")
    sinks = [
        attach(slow, OffsetSpec(offset=0), filters=Filters(frozenset(["a"]), unfiltered))
        for unfiltered in (False, True)
    ]
    for _ in range(3):
        slow.files.run()
        world.run()
    offsets = [[offset for offset, _, _ in sink.got] for sink in sinks]
    assert offsets == [[0, 3, 5], [0, 2, 3, 5, 6]]
    assert [(slow.readers[sink].lag, slow.readers[sink].skipped, sink.left) for sink in sinks] == [
        (0, 0, 97),
        (0, 0, 95),
    ]


def test_contents_that_cannot_match_are_passed_over(world, stream, attach):
    for run in (filtered_run(1, "a", "b"), filtered_run(3, "b"), bodies_run(4, b"x")):
        stream.enqueue(run, range(run.count), NO_RECEIPT)
    wanted = attach(stream, OffsetSpec(offset=0), filters=Filters(frozenset("a"), unfiltered=False))
    assert [offset for offset, _, _ in wanted.got] == [0]
    wanted = attach(stream, OffsetSpec(offset=0), filters=Filters(frozenset("a"), unfiltered=True))
    assert [offset for offset, _, _ in wanted.got] == [0, 3]


def test_looking_at_each_message_costs_a_turn(stream, attach):
    for run in (filtered_run(1, *["b"] * 500), bodies_run(501, *[b"b"] * 500)):
        stream.enqueue(run, range(run.count), NO_RECEIPT)
    sink = attach(stream, OffsetSpec(offset=0), 0, Filters(frozenset("a"), unfiltered=False))
    reader = stream.readers[sink]
    assert [reader.serve(1, TURN_COST_MAX, 0) for _ in range(3)] == [RUN_COST + 500 * FILTER_COST, RUN_COST, 0]
    assert sink.got == []


def test_credit_counts_chunks(world, stream, attach):
    for body in (b"0", b"1", b"2"):
        publish(stream, body, body)
    sink = attach(stream, OffsetSpec(offset=0), credit=2)
    assert (len(sink.got), stream.readers[sink].lag) == (2, 2)
    sink.left = 1
    stream.consumers.resume(sink)
    stream.wake()
    world.run()
    assert [offset for offset, *_ in sink.got] == [0, 2, 4]


def test_a_turn_gives_one_reader_about_a_mebibyte(world, stream, attach):
    sink = attach(stream, OffsetSpec(offset=0), credit=0)
    for _ in range(5):
        publish(stream, bytes(500_000))
    sink.left = 100
    stream.consumers.resume(sink)
    stream.deliver(0)
    assert len(sink.got) == 3
    world.run()
    assert len(sink.got) == 5


def test_many_readers_share_what_a_turn_gives(stream, attach):
    sinks = [attach(stream, OffsetSpec(offset=0), credit=0) for _ in range(6)]
    for _ in range(2):
        publish(stream, bytes(600_000))
    for sink in sinks:
        sink.left = 100
        stream.consumers.resume(sink)
    counts = []
    for _ in range(3):
        stream.deliver(0)
        counts.append([len(sink.got) for sink in sinks])
    assert counts == [[2, 2, 2, 1, 0, 0], [2, 2, 2, 2, 2, 2], [2, 2, 2, 2, 2, 2]]


def test_it_goes_on_behind_what_is_gone(world, make_stream, attach):
    files = MemoryStreamLog()
    runs = [entries_run(0, b"0"), entries_run(3, b"3", b"4")]
    files.append([Chunk(run, 7, 5) for run in runs], 0, lambda _: None)
    stream = make_stream(files)
    stream.pieces.append(piece_of_entries(entries_run(20, b"7"), 7, 0, 9))
    stream.next_offset = stream.end_offset = 8
    sink = attach(stream, OffsetSpec(offset=0))
    assert [offset for offset, *_ in sink.got] == [0, 3, 7]
    assert stream.readers[sink].skipped == 4


def test_it_goes_on_at_the_floor(world, stream, attach):
    publish(stream, b"0", b"1")
    publish(stream, b"2")
    world.broker.streams.move(stream)
    sink = attach(stream, OffsetSpec(offset=0), credit=0)
    stream.truncate(2, lambda _: None)
    sink.left = 9
    stream.consumers.resume(sink)
    stream.wake()
    world.run()
    assert [offset for offset, *_ in sink.got] == [2]


def test_a_read_that_fails_is_tried_again(world, slow, attach):
    publish(slow, b"0")
    world.broker.streams.move(slow)
    slow.files.run()
    slow.files.error = DiskError("read", "it", errno.EIO)
    sink = attach(slow, OffsetSpec(offset=0))
    slow.files.run()
    slow.files.error = None
    for _ in range(2):
        world.advance(1_000)
        world.run()
        slow.files.run()
    world.run()
    assert got(sink) == [(0, b"0")]


def test_contents_are_delivered_as_entries(world, slow, fill, attach):
    fill(slow, b"0", b"1")
    publish(slow, b"2")
    sink = attach(slow, OffsetSpec(offset=1))
    assert [offset for offset, *_ in got(sink)] == [0, 2]
    assert [content_of(message) for message in sink.got[0][1]] == [framed(b"\0\0", b"0"), framed(b"\0\0", b"1")]
    assert (slow.readers[sink].skipped, slow.delivered) == (0, 3)
    # and alike when they are in the files
    world.clock.advance(5_000)
    world.broker.streams.move(slow)
    slow.files.run()
    slow.pieces.forget(slow.files.next_offset)
    slow.streams.conversion = Conversion(lambda _: None)
    again = attach(slow, OffsetSpec(offset=0))
    slow.files.run()
    world.run()
    assert again.got == sink.got


def test_contents_that_become_several_chunks_are_delivered_one_by_one(world, stream, attach):
    names = names_of("x" * 255, "k" * 255)
    run = bodies_run(stream.log.take(4_000), *[b"%d" % i for i in range(4_000)])
    run.names = names
    stream.enqueue(run, range(4_000), NO_RECEIPT)
    sink = attach(stream, OffsetSpec(offset=3_000), credit=1)
    assert len(sink.got) == 1
    first, bodies, _ = sink.got[0]
    assert first <= 3_000 < first + len(bodies)
    sink.left = 9
    stream.consumers.resume(sink)
    stream.wake()
    world.run()
    assert sum(len(bodies) for _, bodies, _ in sink.got) == 4_000 - first


def test_the_next_chunks_are_read_while_one_is_sent(world, slow, attach, monkeypatch):
    monkeypatch.setattr("pybroker.core.stream.reader.READ_OCTETS", 1)
    monkeypatch.setattr("pybroker.core.stream.reader.READ_OCTETS_MIN", 1)
    for number in range(4):
        publish(slow, b"%d" % number)
    world.broker.streams.move(slow)
    slow.files.run()
    sink = attach(slow, OffsetSpec(offset=0), credit=1)
    slow.files.run()
    world.run()
    assert ([offset for offset, *_ in sink.got], len(slow.files.jobs)) == ([0], 1)
    slow.files.run()
    world.run()
    assert ([offset for offset, *_ in sink.got], slow.files.jobs) == ([0], [])
    for _ in range(6):
        sink.left = 5
        slow.consumers.resume(sink)
        slow.wake()
        world.run()
        slow.files.run()
        world.run()
    assert [offset for offset, *_ in sink.got] == [0, 1, 2, 3]
    assert slow.readers[sink].skipped == 0


def test_more_is_read_when_half_of_what_was_read_is_sent(world, slow, attach, monkeypatch):
    monkeypatch.setattr("pybroker.core.stream.reader.READ_OCTETS", 16)
    monkeypatch.setattr("pybroker.core.stream.reader.READ_OCTETS_MIN", 1)
    for number in range(12):
        publish(slow, b"%d" % (number % 10))
        world.run()
    world.broker.streams.move(slow)
    slow.files.run()
    slow.pieces.forget(slow.files.next_offset)
    sink = attach(slow, OffsetSpec(offset=0), credit=1)
    slow.files.run()
    world.run()
    ahead, jobs = [], []
    for _ in range(3):
        ahead.append(len(slow.readers[sink].ahead))
        jobs.append(len(slow.files.jobs))
        sink.left = 1
        slow.consumers.resume(sink)
        slow.wake()
        world.run()
    assert (ahead, jobs) == ([3, 2, 1], [0, 0, 1])
    slow.files.run()
    assert len(slow.readers[sink].ahead) == 4


def test_many_readers_do_not_read_ahead(world, slow, attach, monkeypatch):
    monkeypatch.setattr("pybroker.core.stream.chunk_reader.AHEAD_READERS_MAX", 1)
    monkeypatch.setattr("pybroker.core.stream.reader.READ_OCTETS", 1)
    monkeypatch.setattr("pybroker.core.stream.reader.READ_OCTETS_MIN", 1)
    for number in range(2):
        publish(slow, b"%d" % number)
    world.broker.streams.move(slow)
    slow.files.run()
    sinks = [attach(slow, OffsetSpec(offset=0), credit=1) for _ in range(2)]
    assert len(slow.files.jobs) == 1
    slow.files.run()
    world.run()
    assert [got(sink) for sink in sinks] == [[(0, b"0")]] * 2
    assert (slow.files.jobs, world.broker.streams.shared_reads.octets) == ([], RUN_OCTETS + 5)
    for sink in sinks:
        sink.cancelled = True
    slow.consumer_left(None)
    world.advance(1_000)
    assert world.broker.streams.shared_reads.octets == 0


def test_next_is_behind_what_is_not_committed_yet(world, stream, attach):
    world.broker.log = Gated()
    publish(stream, b"0", b"1")
    sink = attach(stream, OffsetSpec("next"))
    publish(stream, b"2")
    world.broker.log_completed(1)
    world.run()
    assert got(sink) == [(2, b"2")]
