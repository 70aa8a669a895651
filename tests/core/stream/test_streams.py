"""When messages move into a stream's files, and what goes by age or size."""

import errno
from types import SimpleNamespace

import pytest

from pybroker.core.policy.limits import QueueLimits
from pybroker.core.stream import streams as module
from pybroker.core.stream.streams import SEGMENT_OCTETS, segment_octets
from pybroker.store.disk import DiskError
from pybroker.store.log import Log
from pybroker.store.streams.memory import MemoryStreamLog
from tests.core.stream.files import SlowFiles


class Gated(Log):
    """A log on whose disk something is when the test says so."""

    def __init__(self):
        super().__init__()
        self.appended, self.settled, self.wanted = [], [], 0

    @property
    def commit_position(self):
        return self.completed + 1

    def append(self, run, indexes, queue_ids):
        self.appended.append((run.first_seq + indexes.start, len(indexes), queue_ids))
        return self.commit_position

    def settle_seqs(self, queue_id, first, last):
        self.settled.append((queue_id, first, last))

    def want(self, commit_position):
        self.wanted = commit_position


@pytest.fixture
def log(world):
    world.broker.log = Gated()
    return world.broker.log


@pytest.fixture
def streams(world):
    return world.broker.streams


def test_what_is_not_committed_is_neither_seen_nor_moved(world, log, slow, fill, streams):
    fill(slow, b"0")
    assert (slow.next_offset, slow.end_offset, slow.messages) == (0, 1, 0)
    streams.move(slow)
    assert slow.files.jobs == []
    world.broker.log_completed(1)
    assert slow.next_offset == 1
    streams.move(slow)
    slow.files.run()
    assert (log.settled, slow.pending, streams.pending) == ([(slow.id, 1, 1)], 0, 0)


def test_much_moves_at_once_and_little_after_a_while(world, log, slow, fill, streams, monkeypatch):
    monkeypatch.setattr(module, "STREAM_OCTETS", 650)
    fill(slow, b"0")
    world.broker.log_completed(1)
    world.advance(module.MOVE_MS - 1_000)
    assert slow.files.jobs == []
    world.advance(1_000)
    assert len(slow.files.jobs) == 1
    slow.files.run()
    fill(slow, bytes(200))
    assert slow.files.jobs == []
    world.broker.log_completed(2)
    assert len(slow.files.jobs) == 1


def test_much_of_all_streams_together_moves(world, log, slow, fill, streams, monkeypatch):
    monkeypatch.setattr(module, "NODE_OCTETS", 10)
    fill(slow, b"0")
    world.broker.log_completed(1)
    assert len(slow.files.jobs) == 1


def test_a_move_that_fails_is_tried_again_and_settles_nothing(world, log, slow, fill, streams):
    fill(slow, b"0")
    world.broker.log_completed(1)
    slow.files.error = DiskError("write", "x", errno.ENOSPC)
    streams.move(slow)
    slow.files.run()
    assert (log.settled, slow.pending > 0, slow.files.jobs) == ([], True, [])
    slow.files.error = None
    world.advance(1_000)
    slow.files.run()
    assert log.settled == [(slow.id, 1, 1)]


def test_one_move_at_a_time(world, log, slow, fill, streams, monkeypatch):
    monkeypatch.setattr(module, "STREAM_OCTETS", 1)
    fill(slow, b"0")
    world.broker.log_completed(1)
    fill(slow, b"1")
    world.broker.log_completed(2)
    assert len(slow.files.jobs) == 1
    slow.files.run()
    assert len(slow.files.jobs) == 1
    slow.files.run()
    assert log.settled == [(slow.id, 1, 1), (slow.id, 2, 2)]


def test_a_move_makes_a_few_segments(world, log, make_stream, fill, streams, monkeypatch):
    monkeypatch.setattr(module, "MOVE_SEGMENTS_MAX", 2)
    stream = make_stream(SlowFiles(), segment_octets_max=module.SEGMENT_OCTETS_MIN)
    for _ in range(5):
        fill(stream, bytes(module.SEGMENT_OCTETS_MIN))
        stream.pieces.seal()
    world.broker.log_completed(1)
    streams.move(stream)
    stream.files.run()
    assert stream.files.next_offset == 2


def test_publishers_wait_while_too_much_has_not_moved(world, slow, fill, streams, monkeypatch):
    fill(slow, bytes(100))
    assert (streams.is_behind, streams.has_caught_up) == (False, True)
    monkeypatch.setattr(module, "PENDING_OCTETS_MAX", 100)
    assert (streams.is_behind, streams.has_caught_up) == (True, False)
    streams.move(slow)
    slow.files.run()
    assert (streams.is_behind, streams.has_caught_up) == (False, True)


def test_the_octets_of_a_stream_are_limited(world, make_stream, fill, streams):
    stream = make_stream(octets_max=300)
    for number in range(4):
        fill(stream, bytes([number]) * 100)
        streams.move(stream)
    world.advance(module.RETAIN_MS)
    assert (stream.first_offset, stream.messages) == (2, 2)
    stream.set_limits(QueueLimits(queue_type="stream", octets_max=150))
    world.advance(1_000)
    assert stream.messages == 1


def test_a_stream_that_is_deleted_leaves_nothing_behind(world, log, slow, fill, streams):
    fill(slow, b"0")
    world.broker.log_completed(1)
    streams.move(slow)
    fill(slow, b"1")
    world.vhost.delete_queue(slow)
    world.run()
    slow.files.run()
    assert (streams.pending, streams.cached, streams.uncommitted, log.settled) == (0, 0, {}, [])
    world.advance(100_000)


@pytest.mark.parametrize(
    ("limits", "octets"),
    [
        ({}, SEGMENT_OCTETS),
        ({"octets_max": 80_000}, 10_000),
        ({"octets_max": 8_000, "segment_octets_max": 5_000}, 5_000),
        ({"octets_max": 8_000}, 4_096),
        ({"segment_octets_max": 0}, 4_096),
    ],
)
def test_segments_are_an_eighth_at_most(limits, octets):
    assert segment_octets(QueueLimits(queue_type="stream", **limits)) == octets


def test_truncation_waits_until_what_stays_has_moved(world, log, slow, fill, streams):
    fill(slow, b"0")
    fill(slow, b"1")
    world.broker.log_completed(1)
    found = []
    slow.truncate(1, found.append)
    assert found == []
    slow.files.run()
    world.advance(1_000)
    assert (found, slow.first_offset, slow.messages) == ([None], 1, 1)


def test_truncation_of_a_stream_that_is_deleted_is_not_tried_again(world, log, slow, fill, streams):
    fill(slow, b"0")
    world.broker.log_completed(1)
    slow.truncate(1, pytest.fail)
    world.vhost.delete_queue(slow)
    world.advance(1_000)
    assert streams.again == []


def test_files_are_made_meanwhile_and_again_if_that_fails(world, log, make_stream, fill, streams):
    asked = []
    streams.open_files = lambda stream_id, done: asked.append((stream_id, done))
    stream = make_stream()
    fill(stream, b"0")
    world.broker.log_completed(1)
    streams.move(stream)
    ((stream_id, done),) = asked
    assert (stream_id, stream.files.next_offset, stream.next_offset) == (stream.id, 0, 1)
    done(DiskError("make the folder", "x", errno.ENOSPC))
    world.advance(1_000)
    made = MemoryStreamLog()
    asked[1][1](made)
    assert (stream.files, made.next_offset, log.settled) == (made, 1, [(stream.id, 1, 1)])
    assert stream.has_files


def test_files_of_a_stream_that_was_deleted_meanwhile_go(world, make_stream, streams):
    asked, made, deleted = [], MemoryStreamLog(), []
    streams.open_files = lambda _, done: asked.append(done)
    stream = make_stream()
    world.vhost.delete_queue(stream)
    world.run()
    made.delete = deleted.append
    asked[0](made)
    assert len(deleted) == 1
    deleted[0](DiskError("remove", "x", errno.EIO))  # is only told of


def test_files_that_could_not_be_made_of_a_stream_that_was_deleted_meanwhile_hold_nobody_up(
    world, make_stream, streams
):
    asked = []
    streams.open_files = lambda _, done: asked.append(done)
    stream = make_stream()
    world.vhost.delete_queue(stream)
    asked[0](DiskError("make the folder", "x", errno.ENOSPC))
    assert (list(streams.busy()), streams.again) == ([], [])


def no_memory(*_arguments):
    raise MemoryError


@pytest.mark.parametrize("name", ["append", "retain"])
def test_work_that_cannot_begin_for_want_of_memory_holds_nobody_up(world, log, make_stream, fill, streams, name):
    stream = make_stream(SlowFiles(), octets_max=1)
    fill(stream, b"0")
    world.broker.log_completed(1)
    setattr(stream.files, name, no_memory)
    with pytest.raises(MemoryError):
        (streams.move if name == "append" else streams.retain)(stream)
    assert list(streams.busy()) == []


def test_files_that_cannot_be_asked_for_hold_nobody_up(make_stream, streams):
    streams.open_files = no_memory
    with pytest.raises(MemoryError):
        make_stream()
    assert list(streams.busy()) == []


def test_calls_that_wait_for_a_tick_are_not_lost_with_one_that_fails(world, streams):
    called = []
    errors = [MemoryError()]

    def fail_once():
        if errors:
            raise errors.pop()
        called.append("first")

    streams.again += [fail_once, lambda: called.append("second")]
    with pytest.raises(MemoryError):
        streams.tick()
    streams.tick()
    assert (called, streams.again) == (["second", "first"], [])


def test_files_that_are_made_before_the_deletion_is_on_disk_go_once(world, make_stream, streams, monkeypatch):
    asked, deleted = [], []
    streams.open_files = lambda _, done: asked.append(done)
    stream = make_stream()
    definitions = SimpleNamespace(commit_position=2, completed=1)
    monkeypatch.setattr(world.broker, "definitions", definitions)
    stream.deleted = True
    stream.discard()
    made = MemoryStreamLog()
    made.delete = deleted.append
    asked[0](made)
    assert deleted == []
    definitions.completed = 2
    streams.definitions_completed()
    assert len(deleted) == 1


def test_few_streams_move_at_once(world, log, make_stream, fill, streams, monkeypatch):
    monkeypatch.setattr(module, "MOVES_MAX", 2)
    made = [make_stream(SlowFiles()) for _ in range(5)]
    for stream in made:
        fill(stream, b"0")
    world.broker.log_completed(1)
    world.advance(module.MOVE_MS)
    assert [len(stream.files.jobs) for stream in made] == [1, 1, 0, 0, 0]
    for stream in made[:2]:
        stream.files.run()
    world.advance(1_000)
    assert [len(stream.files.jobs) for stream in made] == [0, 0, 1, 1, 0]
    monkeypatch.setattr(module, "NODE_OCTETS", 1)
    for stream in made[2:4]:
        stream.files.run()
    assert [len(stream.files.jobs) for stream in made] == [0, 0, 0, 0, 1]
