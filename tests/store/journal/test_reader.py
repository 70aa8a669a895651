"""Messages come back from segments; what does not is told of in a sentence."""

import errno

import pytest

from pybroker.seq_ranges import SeqRanges
from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.journal import reader
from pybroker.store.journal.reader import RETRY_MS, Reader, read_back
from pybroker.store.segments.live_index import Index
from pybroker.store.segments.segment import SegmentFile
from tests.inline_worker import InlineWorker
from tests.store.faulty_disk import FaultyDisk
from tests.store.records import LOG_ID, content, publish, run_of

ARRIVED_MS, STEADY_MS = 1_700_000_005_000, 1_700_000_000_000


@pytest.fixture
def disk():
    """A disk with segments 1 and 2: seqs 1..10 and 11..20, one record each."""
    disk = FaultyDisk()
    for number in (1, 2):
        seed = fmt.seed(LOG_ID, number)
        parts = [fmt.segment_header(number, LOG_ID, 0)]
        for seq in range(10 * number - 9, 10 * number + 1):
            parts.append(publish(run_of([b"%d" % seq], seq, arrived_ms=ARRIVED_MS + seq % 2), seed=seed))
        disk.write_file(fmt.segment_name(number), b"".join(parts))
    return disk


def wanted(number, first, count):
    seq_ranges = SeqRanges()
    seq_ranges.add(first, count, 1)
    return number, Index(), seq_ranges


def bodies(found):
    return [run.content(i) for run, indexes in found for i in indexes]


def test_messages_of_several_segments_come_in_order(disk):
    found, complaints = read_back(disk, LOG_ID, [wanted(1, 8, 3), wanted(2, 11, 2)], STEADY_MS)
    assert bodies(found) == [content(b"%d" % seq) for seq in range(8, 13)]
    assert complaints == []


def test_time_of_arrival_is_that_of_the_clock(disk):
    found, _ = read_back(disk, LOG_ID, [wanted(1, 1, 4)], STEADY_MS)
    assert [run.arrived_ms for run, _ in found] == [5_001, 5_000, 5_001, 5_000]


def test_a_run_with_several_wanted_parts_gets_its_time_once(disk):
    seed = fmt.seed(LOG_ID, 3)
    octets = fmt.segment_header(3, LOG_ID, 0) + publish(run_of([b"x"] * 9, 50, arrived_ms=ARRIVED_MS), seed=seed)
    disk.write_file(fmt.segment_name(3), octets)
    seq_ranges = SeqRanges()
    for seq in (50, 52, 54):
        seq_ranges.add(seq, 1, 1)
    found, _ = read_back(disk, LOG_ID, [(3, Index(), seq_ranges)], STEADY_MS)
    assert [(run.arrived_ms, indexes.start) for run, indexes in found] == [(5_000, 0), (5_000, 2), (5_000, 4)]


def test_damage_is_told_of_and_the_rest_comes(disk):
    disk.flip(fmt.segment_name(1), 8 * (64 + 40))
    found, complaints = read_back(disk, LOG_ID, [wanted(1, 1, 10), wanted(2, 11, 10)], STEADY_MS)
    assert bodies(found) == [content(b"%d" % seq) for seq in range(2, 21)]
    size = len(publish(run_of([b"1"], 1)))
    assert complaints == [f"1 messages in segment 1 cannot be read: damaged: {size} octets at 64"]


def test_what_is_in_no_record_is_told_of(disk):
    found, complaints = read_back(disk, LOG_ID, [wanted(1, 5, 10)], STEADY_MS)
    assert len(bodies(found)) == 6
    assert complaints == ["4 messages in segment 1 cannot be read: damaged: not found"]


def test_a_segment_that_is_missing_does_not_keep_the_others(disk):
    disk.unlink(fmt.segment_name(1))
    found, complaints = read_back(disk, LOG_ID, [wanted(1, 5, 1), wanted(2, 11, 10)], STEADY_MS)
    assert len(bodies(found)) == 10
    assert complaints == ["1 messages are lost: cannot open seg.0000000000000001: No such file or directory"]


def test_no_file_stays_open(disk):
    read_back(disk, LOG_ID, [wanted(1, 5, 1), wanted(2, 11, 10), wanted(3, 50, 1)], STEADY_MS)
    disk.fail_next("read_at", errno.ENOMEM, times=1)
    with pytest.raises(DiskError):
        read_back(disk, LOG_ID, [wanted(1, 5, 1)], STEADY_MS)
    assert disk._open == {}


class Reading:
    def __init__(self, disk):
        self.worker, self.told, self.late, self.got = InlineWorker(), [], [], []
        self.reader = Reader(self.worker, disk, LOG_ID)
        self.reader.on_unreadable, self.reader.on_late = self.told.append, self.late.append

    def fetch(self, *parts):
        self.reader.fetch(lambda **_: list(parts), STEADY_MS, self.got.append)


@pytest.mark.parametrize("number", [1, 9])
def test_who_asked_is_answered_once_and_the_operator_told(disk, number):
    reading = Reading(disk)
    reading.fetch(wanted(2, 11, 1), wanted(number, 1, 1))
    assert reading.got == []
    reading.worker.run()
    there = [content(b"1")] if number == 1 else []
    assert [bodies(each) for each in reading.got] == [[*there, content(b"11")]]
    assert len(reading.told) == (number == 9)
    assert reading.late == []


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES])
def test_what_cannot_be_read_now_is_not_lost_but_late(disk, number):
    reading = Reading(disk)
    disk.fail_next("open", number, times=2)
    reading.fetch(wanted(2, 11, 1))
    reading.worker.run()
    for now_ms in (RETRY_MS, RETRY_MS + 100):
        reading.reader.tick(now_ms)
        reading.worker.run()
    assert (reading.got, reading.told, len(reading.late)) == ([], [], 1)
    reading.reader.tick(2 * RETRY_MS)
    reading.worker.run()
    assert [bodies(each) for each in reading.got] == [[content(b"11")]]
    assert reading.late[1:] == [""]


def test_memory_that_is_short_loses_nothing(disk, monkeypatch):
    def short(*_):
        raise MemoryError

    reading = Reading(disk)
    monkeypatch.setattr("pybroker.store.journal.reader.SegmentFile", short)
    reading.fetch(wanted(2, 11, 1))
    reading.worker.run()
    monkeypatch.undo()
    assert reading.late == ["messages cannot be read now, which is tried again each second: MemoryError"]
    reading.reader.tick(RETRY_MS)
    reading.worker.run()
    assert [bodies(each) for each in reading.got] == [[content(b"11")]]


def test_a_queue_is_answered_whatever_goes_wrong_behind_the_read(disk):
    reading = Reading(disk)

    def broken(_):
        reading.reader.on_late = reading.late.append
        raise OSError

    disk.fail_next("open", errno.EMFILE)
    reading.reader.on_late = broken
    reading.fetch(wanted(2, 11, 1))
    with pytest.raises(OSError, match=r"^$"):
        reading.worker.run()
    reading.reader.tick(RETRY_MS)
    reading.worker.run()
    assert [bodies(each) for each in reading.got] == [[content(b"11")]]
    reading.reader.tick(9 * RETRY_MS)
    reading.worker.run()
    assert 1 == len(reading.got)


def test_what_is_asked_for_meanwhile_is_read_together(disk, monkeypatch):
    reading = Reading(disk)
    opened = []
    monkeypatch.setattr(
        "pybroker.store.journal.reader.SegmentFile", lambda *file: opened.append(file[1]) or SegmentFile(*file)
    )
    reading.fetch(wanted(2, 11, 1))
    reading.fetch(wanted(1, 2, 3), wanted(2, 12, 2))
    reading.fetch(wanted(1, 4, 4))
    reading.fetch()
    reading.fetch(wanted(1, 9, 1))
    reading.worker.run()
    assert opened == [2, 1, 2]
    expected = [[11], [2, 3, 4, 12, 13], [4, 5, 6, 7], [], [9]]
    assert [bodies(each) for each in reading.got] == [[content(b"%d" % seq) for seq in seqs] for seqs in expected]
    assert reading.told == []


def test_what_is_read_together_has_a_bound(disk, monkeypatch):
    monkeypatch.setattr(reader, "TOGETHER_OCTETS", 1)
    reading = Reading(disk)
    for seq in (1, 2, 3):
        reading.fetch(wanted(1, seq, 1))
    reading.worker.step()
    assert (len(reading.got), len(reading.worker)) == (1, 1)
    reading.worker.step()
    assert (len(reading.got), len(reading.worker)) == (2, 1)


def test_so_many_requests_are_read_together(disk, monkeypatch):
    monkeypatch.setattr(reader, "TOGETHER_MAX", 2)
    reading = Reading(disk)
    for seq in range(1, 7):
        reading.fetch(wanted(1, seq, 1))
    answered = []
    while reading.worker:
        reading.worker.step()
        answered.append(len(reading.got))
    assert answered == [1, 3, 5, 6]


def test_requests_that_waited_are_asked_where_they_are_now(disk):
    reading = Reading(disk)
    asked = []
    for _ in range(2):
        reading.reader.fetch(lambda *, again: asked.append(again) or [wanted(1, 1, 1)], STEADY_MS, reading.got.append)
    reading.worker.run()
    assert (asked, len(reading.got)) == ([False, True], 2)


def test_all_that_could_not_be_read_together_is_tried_again(disk):
    reading = Reading(disk)
    reading.fetch(wanted(1, 1, 1))
    reading.fetch(wanted(1, 2, 1))
    reading.fetch(wanted(1, 3, 1))
    reading.worker.step()
    disk.fail_next("open", errno.EMFILE)
    reading.worker.run()
    assert len(reading.got) == 1
    reading.reader.tick(RETRY_MS)
    reading.worker.run()
    assert sorted(bodies(each) for each in reading.got) == [[content(b"%d" % seq)] for seq in (1, 2, 3)]


def test_many_are_answered_in_several_turns(disk, monkeypatch):
    monkeypatch.setattr(reader, "ANSWERS_MAX", 2)
    reading = Reading(disk)
    for seq in range(1, 7):
        reading.fetch(wanted(1, seq, 1))
    reading.worker.step()
    answered = []
    while reading.worker:
        reading.worker.step()
        answered.append(len(reading.got))
    assert answered == [3, 5, 6]
    assert [bodies(each) for each in reading.got] == [[content(b"%d" % seq)] for seq in range(1, 7)]


def test_a_request_that_could_not_begin_is_its_callers_again(disk):
    class Short(InlineWorker):
        is_short = True

        def submit(self, job, done):
            if self.is_short:
                raise MemoryError
            super().submit(job, done)

    worker, answers = Short(), []
    journal_reader = Reader(worker, disk, LOG_ID)
    for is_short in (True, False):
        worker.is_short = is_short
        try:
            journal_reader.fetch(lambda *, again: [wanted(1, 1, 1)], STEADY_MS, answers.append)
        except MemoryError:
            assert is_short
    worker.run()
    assert len(answers) == 1
