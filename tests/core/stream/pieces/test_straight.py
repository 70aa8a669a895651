"""Which streams of a batch are written straight; what becomes of it on a disk is in tests/flows."""

import pytest

from pybroker.core.channel.receipt import Receipt
from pybroker.core.policy.limits import QueueLimits
from pybroker.core.stream.make import make_queue
from pybroker.core.stream.pieces import straight
from pybroker.core.stream.pieces.piece import Piece
from pybroker.core.stream.pieces.straight import OCTETS_MIN, OTHERS_MAX, STREAMS_MAX
from pybroker.seq_ranges import SeqRanges
from pybroker.store.journal.batch_builder import BatchBuilder
from pybroker.store.memory import MemoryLog
from pybroker.store.streams.memory import MemoryStreamLog
from pybroker.wire.table import Table
from tests.entries import entries_run


class OneBatchLog(MemoryLog):
    """A log whose batches gather for ever."""

    def __init__(self):
        super().__init__()
        self.builder = BatchBuilder()
        self.settled = []

    @property
    def commit_position(self):
        return 1

    def append(self, run, indexes, queue_ids):
        self.builder.append(run, indexes, queue_ids)
        return 1

    def settle_seqs(self, queue_id, first, last):
        self.settled.append((first, last))


class Files(MemoryStreamLog):
    """Files that answer when they are told to, and `take` straight writes or do not."""

    def __init__(self):
        super().__init__()
        self.written = []
        self.take = True

    def append(self, chunks, segment_octets_max, done):
        self.written.append((chunks, lambda error: super(Files, self).append(chunks, segment_octets_max, done)))

    def write_straight(self, chunks, segment_octets_max, done, *, synced):
        self.synced = synced
        if self.take:
            self.chunks = chunks
            self.written.append((chunks, done))
        return self.take

    def commit(self):
        super().append(self.chunks, 0, lambda _: None)

    def answer(self, error=None):
        chunks, done = self.written.pop(0)
        done(error)
        return chunks


@pytest.fixture
def log(world):
    log = world.broker.log = OneBatchLog()
    return log


@pytest.fixture
def stream(world, log):
    return make(world, "s")


def make(world, name, **limits):
    limits = QueueLimits(queue_type="stream", **limits)
    arguments = Table({"x-queue-type": "stream"})
    made = make_queue(
        world.vhost, name, durable=True, auto_delete=False, owner=None, arguments=arguments, limits=limits
    )
    made.use_files(Files())
    world.vhost.queues[name] = made
    return made


def publish(stream, octets):
    stream.publish_entries(entries_run(0, bytes(octets)), Receipt())


def close(world):
    """Close the batch; return whether it waits, and how often it was told to go on."""
    told = []
    writes = world.broker.streams.straight
    return writes.log_closing(1, world.broker.log.builder, lambda: told.append(1)), told


def test_a_large_part_is_taken_out_of_the_batch_and_marked(world, stream, log):
    publish(stream, OCTETS_MIN)
    waits, told = close(world)
    assert (waits, told) == (True, [])
    (chunk,) = stream.files.answer()
    assert told == [1]
    ((mark, start, stop, ids),) = log.builder.appends
    assert (ids, stop - start, mark.first_seq) == ((stream.tracking.id,), 1, chunk.last_seq)
    assert (stream.files.next_offset, stream.pending > 0) == (0, True)
    world.broker.streams.log_completed(1)
    assert (stream.files.next_offset, stream.next_offset, stream.pending, log.settled) == (1, 1, 0, [])


@pytest.mark.parametrize("why", ["few", "no such files", "deleted", "segment"])
def test_other_batches_do_not_wait(world, log, why):
    stream = make(world, "t", segment_octets_max=100_000 if why == "segment" else None)
    publish(stream, 1_000 if why == "few" else OCTETS_MIN)
    stream.files.take = why != "no such files"
    stream.deleted = why == "deleted"
    assert close(world) == (False, [])
    assert len(log.builder.appends) == 1


def test_files_that_fail_leave_the_batch_as_it_is(world, stream, log):
    publish(stream, OCTETS_MIN)
    _, told = close(world)
    stream.files.answer(OSError("no disk"))
    assert told == [1]
    assert [run.octets > OCTETS_MIN for run, *_ in log.builder.appends] == [True]
    world.broker.streams.log_completed(1)
    assert (stream.next_offset, stream.files.next_offset) == (1, 0)


def test_a_few_of_many_streams_the_largest(world, log):
    streams = [make(world, f"s{number}") for number in range(STREAMS_MAX + 2)]
    for number, stream in enumerate(streams):
        publish(stream, OCTETS_MIN + number)
    close(world)
    assert [bool(stream.files.written) for stream in streams] == [False] * 2 + [True] * STREAMS_MAX


def test_much_that_has_not_moved_is_left_to_the_mover(world, stream, log, monkeypatch):
    publish(stream, 1_000)
    stream.pieces.seal()
    before = stream.pieces[0]
    before.position = 0
    publish(stream, OCTETS_MIN)
    monkeypatch.setattr(straight, "BEFORE_OCTETS_MAX", before.octets - 1)
    assert close(world) == (False, [])
    monkeypatch.setattr(straight, "BEFORE_OCTETS_MAX", before.octets)
    assert close(world) == (True, [])


def test_what_moves_comes_first(world, stream, log):
    publish(stream, 1_000)
    stream.pieces.seal()
    world.broker.streams.log_completed(1)
    world.broker.streams.move(stream)
    publish(stream, OCTETS_MIN)
    waits, told = close(world)
    assert waits
    stream.files.answer()
    assert told == []
    stream.files.answer()
    assert told == [1]


@pytest.mark.parametrize(("durability", "synced"), [("disk", True), ("os", False)])
def test_the_configuration_says_whether_it_is_synced(world, stream, durability, synced):
    world.broker.settings.stream_durability = durability
    publish(stream, OCTETS_MIN)
    close(world)
    assert stream.files.synced is synced


def test_messages_that_are_synced_in_the_log_stay_so(world, stream, log):
    world.broker.settings.stream_durability = "os"
    publish(stream, 1_000)
    stream.pieces.seal()
    stream.pieces[0].position = 0
    publish(stream, OCTETS_MIN)
    close(world)
    assert stream.files.synced


def test_nothing_goes_straight_before_all_of_a_start_is_read_back(world, stream, log):
    publish(stream, 1_000)
    world.broker.streams.log_completed(1)
    stream.pieces.seal()
    logged = SeqRanges()
    logged.add(log.take(3), 3, 10)
    stream.pieces.append(Piece(stream.end_offset, None, logged.first_seq, 0, 0, logged))
    stream.end_offset += 3
    stream.next_offset = stream.end_offset
    publish(stream, OCTETS_MIN)
    assert close(world) == (False, [])
    assert len(log.builder.appends) == 2


def test_a_batch_does_not_wait_for_many_others_that_move(world, stream, log):
    others = [make(world, f"o{number}") for number in range(OTHERS_MAX + 1)]
    for other in others:
        publish(other, 1_000)
    world.broker.streams.log_completed(1)
    for other in others:
        world.broker.streams.move(other)
    publish(stream, OCTETS_MIN)
    assert close(world) == (False, [])
    others[0].files.answer()
    assert close(world) == (True, [])


def test_a_bug_behind_a_move_ends_the_log(world, stream, log, monkeypatch):
    failed = []
    monkeypatch.setattr(log, "fail", failed.append, raising=False)
    publish(stream, 1_000)
    stream.pieces.seal()
    world.broker.streams.log_completed(1)
    world.broker.streams.move(stream)
    publish(stream, OCTETS_MIN)
    assert close(world) == (True, [])
    monkeypatch.setattr(Files, "write_straight", None)
    with pytest.raises(TypeError):
        stream.files.answer()
    assert len(failed) == 1


def test_a_batch_does_not_wait_for_many_streams_that_are_being_made(world, stream, log):
    opening = []
    world.broker.streams.open_files = lambda stream_id, done: opening.append(done)
    for number in range(OTHERS_MAX + 1):
        make(world, f"n{number}")
    publish(stream, OCTETS_MIN)
    assert close(world) == (False, [])


def retain_for_ever(world, monkeypatch, count):
    """Have the files of so many streams looked at for what is too old, without an end."""
    monkeypatch.setattr(Files, "retain", lambda *_: None)
    for number in range(count):
        world.broker.streams.retain(make(world, f"r{number}", age_max_ms=1_000))


def test_a_batch_does_not_wait_for_many_streams_that_lose_what_is_too_old(world, stream, log, monkeypatch):
    publish(stream, OCTETS_MIN)
    retain_for_ever(world, monkeypatch, OTHERS_MAX + 1)
    assert close(world) == (False, [])


def test_a_batch_that_waited_for_a_move_does_not_wait_for_many_removals(world, stream, log, monkeypatch):
    publish(stream, 1_000)
    stream.pieces.seal()
    world.broker.streams.log_completed(1)
    world.broker.streams.move(stream)
    publish(stream, OCTETS_MIN)
    waits, told = close(world)
    retain_for_ever(world, monkeypatch, OTHERS_MAX + 1)
    stream.files.answer()
    assert (waits, told, stream.files.written) == (True, [1], [])


def test_streams_that_are_written_and_wait_for_the_log_hold_up_no_other(world, stream, log):
    publish(stream, 1_000)
    stream.pieces.seal()
    world.broker.streams.log_completed(1)
    world.broker.streams.move(stream)
    publish(stream, OCTETS_MIN)
    others = [make(world, f"o{number}") for number in range(STREAMS_MAX - 1)]
    for other in others:
        publish(other, OCTETS_MIN + 1)
    assert len(others) > OTHERS_MAX
    assert close(world) == (True, [])
    for other in others:
        other.files.answer()
    stream.files.answer()  # the move
    (chunk,) = stream.files.answer()
    assert chunk.run.octets > OCTETS_MIN
