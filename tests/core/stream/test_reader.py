"""One consumer's way through a stream: memory, files, gaps, failures."""

import errno

import pytest

from pybroker.content_view import body
from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.stream import stream as stream_module
from pybroker.core.stream.filter import Filters
from pybroker.core.stream.reader import RUN_COST
from pybroker.entries_run import EntriesRun
from pybroker.offset_spec import OffsetSpec
from pybroker.store.disk import DiskError
from pybroker.wire.amqp10.encoding import binary, map_of, text
from pybroker.wire.amqp10.sections import APPLICATION_PROPERTIES, DATA, section
from pybroker.wire.stream.bloom import bloom_of
from tests.entries import batch, entries, entries_run


class Sink:
    """A consumer that takes everything, as far as it has credit."""

    takes_chunks = takes_stored = False

    cancelled = False
    unacked = 0

    def __init__(self, credit=100):
        self.left = credit
        self.active, self.waiting, self.paused, self.exclusive, self.priority = True, True, None, False, 0
        self.got = []

    def credit(self):
        return self.left

    def passed_over(self, run, now_ms):
        pass

    def came_to(self, offset):
        pass

    def dispatch(self, run, indexes, deliveries, _now_ms):
        assert not deliveries
        self.left -= len(indexes)
        contents = run.contents_at(indexes)
        self.got += [(run.first_seq + index, body(content)) for index, content in zip(indexes, contents, strict=True)]


@pytest.fixture
def attach():
    def attach(stream, spec, credit=100, filters=None):
        sink = Sink(credit)
        stream.attach(sink, spec, filters)
        stream.consumers.add(sink)
        stream.wake()
        return sink

    return attach


def test_from_the_files_to_memory(world, slow, fill, attach):
    fill(slow, b"0", b"1")
    world.broker.streams.move(slow)
    slow.files.run()
    fill(slow, b"2")
    sink = attach(slow, OffsetSpec(offset=1))
    world.run()
    assert sink.got == []
    slow.files.run()
    world.run()
    assert sink.got == [(1, b"1"), (2, b"2")]
    assert slow.readers[sink].lag == 0


def test_one_without_credit_stays_where_it_is(world, stream, fill, attach):
    fill(stream, b"0", b"1", b"2")
    sink = attach(stream, OffsetSpec("first"), 2)
    world.run()
    assert (sink.got, stream.readers[sink].lag) == ([(0, b"0"), (1, b"1")], 1)
    sink.left = 1
    stream.consumers.resume(sink)
    stream.wake()
    world.run()
    assert sink.got[2:] == [(2, b"2")]


def test_a_read_that_fails_is_tried_again(world, slow, fill, attach):
    fill(slow, b"0")
    world.broker.streams.move(slow)
    slow.files.run()
    sink = attach(slow, OffsetSpec("first"))
    world.run()
    slow.files.error = DiskError("read", "x", errno.EIO)
    slow.files.run()
    world.run()
    assert (sink.got, slow.files.jobs) == ([], [])
    slow.files.error = None
    world.advance(1_000)
    slow.files.run()
    world.run()
    assert sink.got == [(0, b"0")]


def test_it_goes_on_behind_what_is_gone(world, slow, fill, attach):
    fill(slow, b"0")
    world.broker.streams.move(slow)
    slow.files.run()
    sink = attach(slow, OffsetSpec("first"))
    fill(slow, b"1")
    world.run()
    slow.files._chunks.clear()  # nothing can be read
    slow.files.run()
    world.run()
    assert (sink.got, slow.readers[sink].skipped) == ([(1, b"1")], 1)


def test_a_turn_serves_all_readers_together_for_so_much_and_each_in_turn(world, stream, fill, attach, monkeypatch):
    monkeypatch.setattr(stream_module, "TURN_COST_MAX", 2 * RUN_COST)
    monkeypatch.setattr(stream_module, "READERS_COST_MAX", 3 * RUN_COST)
    for number in range(4):
        fill(stream, b"%d" % number)
    sinks = [attach(stream, OffsetSpec("first")) for _ in range(3)]
    rounds = []
    while stream.awake and len(rounds) < 9:
        world.broker.pump()
        rounds.append([len(sink.got) for sink in sinks])
    assert rounds[:2] == [[2, 1, 0], [3, 1, 2]]
    assert rounds[-1] == [4, 4, 4]


def test_it_goes_on_at_the_floor(world, stream, fill, attach):
    fill(stream, b"0", b"1")
    world.broker.streams.move(stream)
    sink = attach(stream, OffsetSpec("first"), 1)
    world.run()
    stream.files.truncate(2, lambda _: None)
    fill(stream, b"2")
    sink.left = 10
    stream.consumers.resume(sink)
    world.run()
    assert (sink.got, stream.readers[sink].skipped) == ([(0, b"0"), (2, b"2")], 1)


@pytest.mark.parametrize(("ago_ms", "first"), [(100_000, 0), (25_000, 1), (15_000, 2), (0, 3)])
def test_by_time(world, slow, fill, attach, ago_ms, first):
    for number in range(3):
        fill(slow, b"%d" % number)
        if number == 0:
            world.broker.streams.move(slow)
            slow.files.run()
        world.clock.advance(10_000)
    sink = attach(slow, OffsetSpec(timestamp_ms=world.clock.timestamp_ms - ago_ms))
    for _ in range(3):
        world.run()
        slow.files.run()
    fill(slow, b"3")
    world.run()
    assert [offset for offset, _ in sink.got] == list(range(first, 4))


def test_a_search_for_a_time_that_fails_is_tried_again(world, slow, fill, attach):
    fill(slow, b"0")
    world.broker.streams.move(slow)
    slow.files.run()
    slow.files.error = DiskError("read", "x", errno.EIO)
    sink = attach(slow, OffsetSpec(age_ms=1_000))
    slow.files.run()
    slow.files.error = None
    world.advance(1_000)
    slow.files.run()
    slow.files.run()
    world.run()
    slow.files.run()
    world.run()
    assert sink.got == [(0, b"0")]


def test_the_place_of_a_consumer_that_has_left_is_not_looked_for_again(world, slow, fill, attach):
    fill(slow, b"0")
    world.broker.streams.move(slow)
    slow.files.run()
    sink = attach(slow, OffsetSpec(age_ms=1_000))
    slow.files.error = DiskError("read", "x", errno.EIO)
    sink.cancelled = True
    slow.files.run()
    world.advance(1_000)
    assert (slow.files.jobs, world.broker.streams.again) == ([], [])


def test_entries_are_delivered_as_contents(world, stream, fill, attach):
    stream.publish_entries(entries_run(0, b"0", b"1"), NO_RECEIPT)
    fill(stream, b"2")
    sink = attach(stream, OffsetSpec(offset=1))
    world.run()
    assert sink.got == [(1, b"1"), (2, b"2")]
    assert (stream.readers[sink].lag, stream.readers[sink].skipped, stream.delivered) == (0, 0, 2)


def test_entries_are_delivered_as_credit_allows(world, slow, attach):
    for _ in range(2):
        slow.publish_entries(entries_run(0, *[b"%d" % i for i in range(300)]), NO_RECEIPT)
    world.broker.streams.move(slow)
    slow.files.run()
    slow.pieces.forget(slow.files.next_offset)
    sink = attach(slow, OffsetSpec(offset=250), 60)
    for _ in range(8):
        world.run()
        slow.files.run()
        sink.left += 50
        slow.consumers.resume(sink)
        slow.wake()
    assert sink.got == [(i, b"%d" % (i % 300)) for i in range(250, 600)]
    assert not slow.readers[sink].ahead


def test_sub_batches_that_cannot_be_opened_are_passed_over(world, stream, fill, attach):
    data = batch(b"x", b"y", codec=3) + entries(b"2") + batch(b"x", codec=3)
    stream.publish_entries(EntriesRun(0, [data], 3, 4, len(data), 0), NO_RECEIPT)
    fill(stream, b"4")
    sink = attach(stream, OffsetSpec(offset=0))
    world.run()
    assert sink.got == [(2, b"2"), (4, b"4")]
    assert stream.readers[sink].skipped == 3


def test_values_beside_messages_let_their_whole_chunk_through(world, stream, attach):
    header = section(APPLICATION_PROPERTIES, map_of([(text(b"x-stream-filter-value"), text(b"b"))]))
    bodies = [section(DATA, binary(b"0")), header + section(DATA, binary(b"1"))]
    for values in ([b"a"], [b"b"], [None]):
        stream.publish_entries(entries_run(0, *bodies, bloom=bloom_of(values, 16)), NO_RECEIPT)
    sink = attach(stream, OffsetSpec(offset=0), filters=Filters(frozenset("a"), unfiltered=False))
    world.run()
    assert sink.got == [(0, b"0")]
    assert (stream.readers[sink].lag, stream.readers[sink].skipped) == (0, 0)
