"""An exception anywhere between an append and its position ends the log: nothing is confirmed that was thrown away."""

import errno
import os
import random

import pytest

from pybroker.store.journal import journal as journals, maintenance
from pybroker.store.journal.batch_builder import BatchBuilder
from pybroker.store.journal.maintenance import Maintenance
from pybroker.store.journal.writer import Writer
from pybroker.store.segments.live_index import LiveIndex, Segment
from tests.store.faulty_disk import FaultyDisk
from tests.store.journals import Node, body


@pytest.fixture
def disk():
    return FaultyDisk()


def out_of_memory(*_, **__):
    raise MemoryError


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (BatchBuilder, "append"),
        (BatchBuilder, "settle"),
        (BatchBuilder, "give_back"),
        (BatchBuilder, "settle_seqs"),
        (BatchBuilder, "encode"),
        (BatchBuilder, "following"),
        (Segment, "publish"),
        (LiveIndex, "settle"),
        (Maintenance, "segment_for"),
        (Maintenance, "sealed"),
        (Maintenance, "completed"),
        (journals, "Batch"),
        (Writer, "write"),
    ],
)
def test_it_fails_the_log_and_no_later_ticket_completes(disk, monkeypatch, owner, name):
    node = Node(disk)
    first = node.publish([b"first", b"second"])
    node.commit()
    monkeypatch.setattr(owner, name, out_of_memory)
    for step in (
        lambda: node.publish([b"lost"]),
        lambda: node.settle(first, range(1)),
        lambda: node.log.give_back(1, first, range(1, 2), 1),
        lambda: node.log.settle_seqs(1, first.first_seq + 1, first.first_seq + 1),
        node.commit,
    ):
        try:
            step()
        except MemoryError:
            continue
    monkeypatch.undo()
    if owner is not Maintenance or name != "completed":
        assert 1 == node.log.completed
    completed = node.log.completed
    assert (["MemoryError"], "MemoryError") == (node.failed, node.log.failed)
    node.publish([b"later"])
    node.commit()
    node.tick(61_000)
    assert completed == node.log.completed
    assert ["MemoryError"] == node.failed


@pytest.mark.parametrize("at", range(1, 12))
@pytest.mark.parametrize("worker", ["journal_worker", "files_worker"])
def test_a_job_that_cannot_be_handed_over_does_not_stop_confirms_in_silence(disk, monkeypatch, worker, at):
    """Flags that say that a job is under way are set when it is."""
    node = Node(disk, largest=2_000)
    calls = []
    target = getattr(node, worker)
    submit = target.submit

    def failing(job, done):
        calls.append(job)
        if len(calls) == at:
            raise MemoryError
        submit(job, done)

    monkeypatch.setattr(target, "submit", failing)
    for _ in range(12):
        node.publish([bytes(1_500)])
        node.commit()
        node.tick(61_000)
    assert node.failed == ["MemoryError"] or node.log.completed == node.log.last_commit_position
    assert bool(node.failed) == (len(calls) >= at)


def test_what_cannot_be_told_for_want_of_memory_is_told_later(disk):
    node = Node(disk)
    told = []

    def short(text):
        told.append(text)
        if len(told) == 1:
            raise MemoryError

    node.log.on_failed = short
    node.log.fail(MemoryError())
    node.tick()
    node.tick()
    assert ["MemoryError", "MemoryError"] == told


def test_no_checkpoint_speaks_of_a_segment_that_was_half_begun(disk):
    node = Node(disk, largest=2_000)
    node.publish([bytes(1_500)])
    node.commit()
    before = list(disk.names())
    node.publish([bytes(1_500)])
    submit = node.files_worker.submit

    def short(*_):
        node.files_worker.submit = submit
        raise MemoryError

    node.files_worker.submit = short
    for _ in range(3):
        node.tick(61_000)
    assert ["MemoryError"] == node.failed
    assert before == list(disk.names())
    assert [] == Node(disk).recovered.reports


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_batch_that_finds_no_descriptor_is_written_later(disk, number):
    node = Node(disk)
    told = []
    node.log.on_stalled = told.append
    node.publish([b"a"])
    disk.fail_next("create", number, 2)
    node.commit()
    assert 0 == node.log.completed
    assert [node.log.stalled] == told
    assert os.strerror(number) in told[0]
    node.tick()
    node.tick()
    assert ([], 1) == (node.failed, node.log.completed)
    assert "" == told[-1] == node.log.stalled
    assert [1] == Node(disk).live()


def test_a_close_writes_what_found_no_descriptor(disk):
    node = Node(disk)
    node.publish([b"a"])
    disk.fail_next("create", errno.EMFILE)
    node.commit()
    node.close()
    assert 1 == node.log.completed
    assert [1] == Node(disk).live()


def test_files_that_find_no_descriptor_are_kept_in_order_later(disk, monkeypatch):
    monkeypatch.setattr(maintenance, "COMPACT_OCTETS", 1_000)
    node = Node(disk, largest=2_000)
    for at in range(12):
        run = node.publish([bytes(1_500)])
        disk.fail_next("create" if at % 2 else "open", errno.EMFILE)
        node.commit()
        node.settle(run)
        for _ in range(3):
            node.tick(61_000)
    for _ in range(5):
        node.tick(1_000)
    assert ([], node.log.last_commit_position) == (node.failed, node.log.completed)
    assert 2 >= len(node.log.live_index.segments)


def test_a_batch_waits_for_the_definitions_before_it_is_written(disk):
    """After a crash a batch counts as a whole: what moves a message to a queue that is not there would take it away."""
    node = Node(disk)
    original = node.publish([b"original"], queues=(1,))
    node.commit()
    node.log.definitions.commit_position = 1  # queue 2 is declared, and not on disk
    node.publish([b"copy"], queues=(2,))
    node.settle(original)
    node.commit()
    assert 1 == node.log.completed
    assert [1] == Node(disk.crash(random.Random(1)), queues=(1,)).live(1)
    node.log.definitions.completed = 1
    node.log.gate_moved()
    node.work()
    assert 2 == node.log.completed
    found = Node(disk)
    assert ([], [2]) == (found.live(1), found.live(2))


def test_a_segment_that_begins_while_a_batch_waits_for_definitions_has_its_own_messages(disk):
    """Else they are looked for in the segment before, and what settles them is charged to it."""
    node = Node(disk, largest=2_000)
    runs = []
    for at in range(8):
        node.log.definitions.commit_position = at + 1
        runs.append(node.publish([bytes([at]) * 1_500]))
        node.log.commit()
        node.journal_worker.run()
        node.publish([b"more"])
        node.log.commit()
        node.log.definitions.completed = at + 1
        node.log.gate_moved()
        node.work()
    for run in runs:
        assert {run.first_seq: bytes(body(run.content(0)))} == node.bodies([run.first_seq])
        node.settle(run)
    node.commit()
    assert [1] * 8 == [segment.live for segment in node.log.live_index.segments if segment.live]
    assert [] == node.unreadable


def test_an_open_segment_that_was_removed_stops_confirms(disk):
    node = Node(disk)
    node.publish([b"a"])
    node.commit()
    disk.unlink("seg.0000000000000001")
    node.publish([b"b"])
    node.commit()
    assert 1 == node.log.completed
    assert ["cannot write seg.0000000000000001: No such file or directory"] == node.failed
