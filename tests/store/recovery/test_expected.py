"""A start reports what is missing: a segment, the newest one, the first one, all of them, the checkpoints."""

import errno
import json
import random

import pytest

from pybroker.store.disk import DiskError
from pybroker.store.format import segment_number
from pybroker.store.journal import maintenance
from pybroker.store.recovery.quarantine import QUARANTINE
from pybroker.store.segments.checkpoint import checkpoint_commit_position
from pybroker.store.segments.newest import NAME, Newest
from tests.store.faulty_disk import FaultyDisk
from tests.store.journals import Node


def segments(disk):
    return [name for name in disk.names() if segment_number(name) is not None]


@pytest.fixture
def disk():
    """A log of four segments with one message each for queue 1; the second is settled."""
    disk = FaultyDisk()
    node = Node(disk, largest=2_000)
    runs = []
    for _ in range(4):
        runs.append(node.publish([bytes(1_500)]))
        node.commit()
    node.settle(runs[1])
    node.commit()
    node.tick(61_000)
    return disk


def reports(disk):
    return Node(disk).recovered.reports


def test_nothing_is_said_of_a_log_that_has_all(disk):
    assert ([], []) == (reports(disk), reports(disk))
    assert not Node(disk).recovered.is_damaged


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_segment_with_live_messages_is_missed(disk, at):
    name = segments(disk)[at]
    disk.unlink(name)
    found = Node(disk).recovered
    assert [(name, {1: 1})] == [tuple(each) for each in found.missing]
    assert found.is_damaged
    (report,) = found.reports
    note = f"missing.{name}.json"
    assert f"segment {name} is missing, and 1 messages in it, recorded in {QUARANTINE}/{note}" in report
    noted = json.loads(disk.below(QUARANTINE).read_file(note))
    assert {"segment": name, "live": {"1": 1}} == noted


def test_one_in_which_nothing_lived_may_have_been_given_up(disk):
    assert "seg.0000000000000002" not in segments(disk)
    assert [] == reports(disk)


def test_it_is_missed_once(disk):
    disk.unlink(segments(disk)[0])
    node = Node(disk)
    node.publish([b"more"])
    node.tick()
    node.tick()
    assert [] == reports(disk)


def test_what_was_settled_since_the_checkpoint_is_not_missed(disk):
    node = Node(disk)
    node.log.settle_seqs(1, 1, 1)
    node.commit()
    disk.unlink(segments(disk)[0])
    assert [] == reports(disk)


def test_the_newest_is_missed_behind_a_kill(disk):
    node = Node(disk, largest=2_000)
    node.publish([bytes(1_500)])
    node.commit()
    name = segments(disk)[-1]
    disk.unlink(name)
    (report,) = reports(disk)
    assert f"segment {name} is missing, and an unknown number of messages" in report


def test_a_whole_log_is_missed(disk):
    for name in disk.names():
        if name != NAME:
            disk.unlink(name)
    first, second = reports(disk)
    assert first == "the log is missing: it had segments up to seg.0000000000000004"
    assert "segment seg.0000000000000004 is missing" in second


def test_all_checkpoints_are_missed(disk):
    for name in disk.names():
        if checkpoint_commit_position(name) is not None:
            disk.unlink(name)
    found = Node(disk).recovered
    assert (found.is_damaged, found.reports) == (
        False,
        ["all checkpoints of the log are missing or damaged: acknowledged messages may be delivered again"],
    )
    assert [] == reports(disk)


def test_all_checkpoints_are_missed_also_if_all_segments_are_there(monkeypatch):
    """A compacted segment has not what it settled in others."""
    monkeypatch.setattr(maintenance, "COMPACT_OCTETS", 0)
    disk = FaultyDisk()
    node = Node(disk, largest=4_000)
    kept, first = node.publish([b"kept"]), node.publish([b"first"])
    node.publish([bytes(3_000)])
    node.commit()
    node.publish([b"kept, too"])
    runs = [node.publish([bytes(600)]) for _ in range(4)]
    node.settle(first)
    node.commit()
    for run in runs:
        node.settle(run)
    node.publish([bytes(3_500)])
    node.commit()
    for _ in range(6):
        node.tick(61_000)
    assert node.log.maintenance.compacted
    assert [1, 2, 3] == [segment_number(name) for name in segments(disk)]
    for name in disk.names():
        if checkpoint_commit_position(name) is not None:
            disk.unlink(name)
    found = Node(disk)
    assert {kept.first_seq, first.first_seq} <= set(found.live())
    assert 1 == len(found.recovered.reports)


def test_the_number_of_the_newest_is_missed_and_noted_again(disk):
    disk.unlink(NAME)
    (report,) = reports(disk)
    assert report.startswith("log.newest is missing or damaged")
    assert 4 == Newest(disk).read()
    assert [] == reports(disk)


def test_a_first_segment_that_could_not_be_noted_is_none_yet(monkeypatch):
    """The disk was full from the start: neither its number nor its first batch is on disk."""

    def full(*_):
        raise DiskError("write", NAME, errno.ENOSPC)

    monkeypatch.setattr(Newest, "write", full)
    disk = FaultyDisk()
    node = Node(disk)
    node.publish([b"one"])
    node.commit()
    monkeypatch.undo()
    assert 1 == len(segments(disk))
    found = Node(disk.crash(random.Random(1)))
    assert ([], []) == (found.live(), found.recovered.reports)


def test_a_segment_that_had_been_given_up_is_none_when_it_is_back(disk):
    first = segments(disk)[0]
    octets = disk.read_file(first)
    node = Node(disk)
    node.log.settle_seqs(1, 1, 1)
    for _ in range(4):
        node.publish([b"more"])
        node.tick()
        node.tick(61_000)
    assert first not in segments(disk)
    disk.write_file(first, octets)
    found = Node(disk)
    assert [f"segment {first} had been given up and has reappeared, kept as quarantine/{first}"] == (
        found.recovered.reports
    )
    assert 1 not in found.live()
    assert octets == disk.below(QUARANTINE).read_file(first)


def test_an_empty_file_is_as_good_as_none_and_kept(disk):
    name = segments(disk)[0]
    file = disk.open(name, write=True)
    disk.truncate(file, 0)
    found = Node(disk).recovered
    assert [(name, {1: 1})] == [tuple(each) for each in found.missing]
    assert name in disk.below(QUARANTINE).names()


def test_a_segment_that_cannot_be_unlinked_yet_is_not_given_up(disk):
    """Some file systems want room to remove a file: it is tried again, and no start takes it for one that came back."""
    node = Node(disk)
    for each in list(node.log.live_index.segments):
        node.log.settle_seqs(1, each.first_seq, each.first_seq)
    node.publish([b"last"])
    node.commit()
    before = len(node.log.live_index.segments)
    disk.fail_next("unlink", errno.ENOSPC, 3)
    for _ in range(4):
        node.tick(1_000)
    assert ([], []) == (node.failed, Node(disk.crash(random.Random(1))).recovered.reports)
    for _ in range(8):
        node.tick(1_000)
    assert len(node.log.live_index.segments) < before
    assert ([], []) == (node.failed, Node(disk.crash(random.Random(1))).recovered.reports)


@pytest.mark.parametrize("first", [1, 5, 50])
def test_a_settle_that_cannot_be_is_told_and_takes_nothing(disk, first):
    """Of a message that was settled before, of one that is in no segment."""
    node = Node(disk)
    node.log.settle_seqs(1, 1, 1)
    node.commit()
    node.log.settle_seqs(1, first, first)
    node.commit()
    assert 1 == len(node.unreadable)
    assert "internal error in the log" in node.unreadable[0]
    assert 0 <= min(segment.live for segment in node.log.live_index.segments)
