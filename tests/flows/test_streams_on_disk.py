"""Streams whose messages are in the journal and in files of their own, on a disk that loses power."""

import random

import pytest

from pybroker.core.channel.receipt import Receipt
from pybroker.core.policy.limits import QueueLimits
from pybroker.core.stream.filter import Filters
from pybroker.core.stream.make import make_queue
from pybroker.core.stream.stream import Stream
from pybroker.entries_run import EntriesRun
from pybroker.offset_spec import OffsetSpec
from pybroker.store.streams.recovery import recover
from pybroker.store.streams.straight import committed_seqs
from pybroker.store.streams.stream_log import StreamLog
from pybroker.wire.stream.bloom import bloom_of
from pybroker.wire.table import Table
from tests.amqp10 import parts_of
from tests.core.stream.test_chunk_reader import ChunkSink
from tests.entries import batch, entries_run
from tests.fakes import Basic, Confirm, Queue
from tests.flows.test_on_disk import Life
from tests.inline_worker import InlineWorker
from tests.store.faulty_disk import FaultyDisk


class StreamLife(Life):
    """A broker with the stream `s`."""

    def declare(self):
        super().declare()
        limits = QueueLimits(queue_type="stream", octets_max=1 << 40, segment_octets_max=4_096)
        arguments = Table({"x-queue-type": "stream"})
        vhost = self.world.vhost
        self.stream = vhost.queues["s"] = make_queue(
            vhost, "s", durable=True, auto_delete=False, owner=None, arguments=arguments, limits=limits
        )
        vhost.bump()

    def open_streams(self, queues):
        writer, reader = InlineWorker(), InlineWorker()
        self.workers += writer, reader
        committed = committed_seqs(self.found)
        for queue in queues.values():
            if isinstance(queue, Stream):
                found = recover(self.disk, queue.id, committed.of(queue.id))
                queue.use_files(StreamLog(self.disk, writer, reader, found))

    def publish(self, *bodies):
        for body in bodies:
            self.peer.publish("", "s", body, delivery_mode=2)
        self.log.commit()

    def publish_entries(self, *bodies, bloom=None):
        """Publish as clients of the stream protocol do; return what a confirm waits for."""
        receipt = Receipt()
        self.stream.publish_entries(entries_run(0, *bodies, bloom=bloom), receipt)
        self.log.commit()
        return receipt

    def chunks(self, offset=0, filters=None):
        """Return what a new consumer of chunks gets: a head and a body for each message, by offset."""
        sink = ChunkSink(1 << 20)
        self.stream.attach(sink, OffsetSpec(offset=offset), filters)
        self.stream.consumers.add(sink)
        self.stream.wake()
        self.world.run()
        self.answer()
        sink.cancelled = True
        self.stream.consumers.remove(sink)
        self.stream.consumer_left(None)
        return {first + at: (head, body) for first, bodies, head in sink.got for at, body in enumerate(bodies)}

    def read(self, offset="first", prefetch=1_000):
        """Return what a new consumer gets, as bodies by offset."""
        peer = self.world.connect()
        peer.call(Basic.Qos(prefetch_count=prefetch))
        peer.consume("s", arguments=Table({"x-stream-offset": offset}))
        self.answer()
        found = {each.headers["x-stream-offset"]: each.body for each in peer.take()}
        peer.disconnect()
        return found

    def move(self):
        self.world.broker.streams.move(self.stream)


@pytest.fixture
def life():
    return StreamLife(FaultyDisk())


def test_a_confirm_comes_with_the_disk_and_the_message_stays(life):
    peer = life.peer
    peer.call(Confirm.Select())
    life.publish(b"0", b"1")
    assert [] == peer.take()
    life.answer()
    assert [2] == [ack.delivery_tag for ack in peer.take()]
    life = life.killed()
    assert {0: b"0", 1: b"1"} == life.read()


def test_consumers_see_what_is_on_disk_and_nothing_else(life):
    life.publish(b"0")
    assert 0 == life.stream.next_offset
    life.answer()
    assert 1 == life.stream.next_offset


def test_what_moved_is_settled_and_comes_once(life):
    life.publish(b"0", b"1")
    life.answer()
    life.move()
    life.answer()
    assert 2 == life.stream.files.next_offset
    life.publish(b"2")
    life.answer()
    life = life.killed()
    assert {0: b"0", 1: b"1", 2: b"2"} == life.read()
    assert {2: b"2"} == life.read(2)
    life.world.advance(1_000)
    life.answer()
    assert (3, 0) == (life.stream.files.next_offset, life.stream.pending)
    life = life.stopped()
    assert {0: b"0", 1: b"1", 2: b"2"} == life.read()


def test_a_crash_between_the_files_and_the_settling_counts_nothing_twice(life):
    life.publish(b"0", b"1")
    life.answer()
    life.move()
    for worker in life.workers[2:]:
        worker.run()  # on disk there; what the log is told of it waits for the next batch
    life = life.killed()
    assert {0: b"0", 1: b"1"} == life.read()
    life.publish(b"2")
    life.answer()
    assert {2: b"2"} == life.killed().read(2)


def test_entries_come_back_as_they_were(life):
    receipt = life.publish_entries(b"0", b"1")
    assert not receipt.completed
    life.answer()
    assert receipt.completed
    found = life.chunks()
    assert [b"0", b"1"] == [body for _, body in found.values()]
    life.move()
    life.answer()
    life.publish_entries(b"2")
    life.answer()
    seen = life.chunks()
    life = life.killed()
    again = life.chunks()
    assert found.items() <= again.items()
    assert [b"0", b"1", b"2"] == [body for _, body in again.values()]
    assert {offset: body for offset, (_, body) in seen.items()} == {offset: body for offset, (_, body) in again.items()}


def test_a_stream_that_is_deleted_leaves_nothing(life):
    life.stream.tracking.note_publisher("p", 7)
    life.publish_entries(b"0")
    life.answer()
    ids = {life.stream.id, life.stream.tracking.id}
    life.peer.call(Queue.Delete(queue="s"))
    life.log.commit()
    life.answer()
    assert not ids & {queue_id for each in life.log.live_index.segments for queue_id in each.pairs}


def test_few_octets_may_be_very_many_messages(life):
    """Sub-batches whose octets no broker looks at."""
    entry = batch(codec=3)[:1] + b"\xff\xff" + bytes(8)
    count = 65_535 * 1_000
    life.stream.publish_entries(EntriesRun(0, [entry * 1_000], 1_000, count, 1_000 * len(entry), 0), Receipt())
    life.log.commit()
    life.answer()
    life.publish(b"behind")
    life.answer()
    assert life.log.live_index.segments[0].size == 65_536
    for _ in range(2):
        life = life.killed()
        assert {count: b"behind"} == life.read(count)
        life.move()
        life.answer()
    assert (count + 1, 0) == (life.stream.files.next_offset, life.stream.pending)


@pytest.mark.parametrize("seed", range(25))
def test_kills_with_both_kinds(seed):
    """Confirmed messages are there, once, and a chunk that was read from the files is the same again."""
    rng = random.Random(seed)
    life, moved, seen, number = StreamLife(FaultyDisk()), {}, {}, 0
    for _ in range(6):
        receipts = []
        sent = []
        for _ in range(rng.randrange(30)):
            what = rng.randrange(6)
            bodies = [b"%d " % (number + at) + bytes(rng.choice((10, 300))) for at in range(rng.randint(1, 3))]
            if what < 2:
                receipts.append((life.publish_entries(*bodies), bodies))
            elif what == 2:
                life.publish(*bodies)
            elif what == 3:
                life.move()
            elif what == 4:
                worker = rng.choice(life.workers)
                if len(worker):
                    worker.run()
                    life.world.run()
            else:
                life.answer()
                seen.update({offset: body for offset, (_, body) in life.chunks().items()})
            if what < 3:
                number += len(bodies)
                sent += bodies
        stop = life.stream.files.next_offset
        moved.update({offset: found for offset, found in life.chunks().items() if offset < stop})
        confirmed = [body for receipt, bodies in receipts if receipt.completed for body in bodies]
        life = StreamLife(life.disk.crash(rng))
        assert life.stream.next_offset >= stop
        entries, contents = life.chunks(), life.read()
        assert moved.items() <= entries.items()
        assert seen.items() <= {offset: body for offset, (_, body) in entries.items()}.items()
        assert sorted(contents) == list(range(life.stream.next_offset))
        assert contents == {offset: parts_of(body)[1] for offset, (_, body) in entries.items()}
        assert set(confirmed) <= set(contents.values())
        assert len(set(contents.values())) == len(contents)


@pytest.mark.parametrize("seed", range(25))
def test_kills_at_random(seed):
    rng = random.Random(seed)
    life, seen, number = StreamLife(FaultyDisk()), {}, 0
    for _ in range(6):
        life.peer.call(Confirm.Select())
        sent, confirmed = [], 0
        for _ in range(rng.randrange(30)):
            what = rng.randrange(6)
            if what < 3:
                sizes = [rng.choice((10, 300)) for _ in range(rng.randint(1, 3))]
                bodies = [b"%d " % (number + at) + bytes(size) for at, size in enumerate(sizes)]
                number += len(bodies)
                sent += bodies
                life.publish(*bodies)
            elif what == 3:
                life.move()
            elif what == 4:
                worker = rng.choice(life.workers)
                if len(worker):
                    worker.run()
                    life.world.run()
            else:
                life.answer()
                seen.update(life.read())
            confirmed = max([confirmed, *[each.delivery_tag for each in life.peer.take()]])
        life = StreamLife(life.disk.crash(rng))
        found = life.read()
        assert list(found) == list(range(len(found)))
        assert seen.items() <= found.items()
        assert set(sent[:confirmed]) <= set(found.values())
        assert len(set(found.values())) == len(found)
        seen = found


@pytest.mark.parametrize("doings", [(), ("kill",), ("move",), ("move", "kill"), ("kill", "move", "kill")])
def test_filter_values_are_known_after_moving_and_after_a_kill(life, doings):
    for value in (b"a", b"b", None):
        life.publish_entries(value or b"none", bloom=bloom_of([value], 16))
    for value in ("a", "b"):
        life.peer.publish("", "s", value.encode(), delivery_mode=2, headers={"x-stream-filter-value": value})
    life.publish(b"unfiltered")
    life.answer()
    for doing in doings:
        life = life.killed() if doing == "kill" else life
        life.move()
        life.answer()
        if doing == "move":
            life.stream.pieces.forget(life.stream.files.next_offset)
    found = {
        (value, unfiltered): list(life.chunks(filters=Filters(frozenset([value]), unfiltered)))
        for value in ("a", "b", "c")
        for unfiltered in (False, True)
    }
    assert {
        ("a", False): [0, 3, 4],
        ("a", True): [0, 2, 3, 4, 5],
        ("b", False): [1, 3, 4],
        ("b", True): [1, 2, 3, 4, 5],
        ("c", False): [],
        ("c", True): [2, 5],
    } == found
    assert 6 == len(life.chunks())
