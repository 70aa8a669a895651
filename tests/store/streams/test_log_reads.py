"""LogReads: readers at work while segments go, or are lost."""

import errno
import sys

from pybroker.store.disk import DiskError
from pybroker.store.streams.segments import Segments
from pybroker.store.streams.stored_entries import OpenSegment
from pybroker.store.streams.writer import Written
from tests.store.faulty_disk import FaultyDisk
from tests.store.streams.lives import MESSAGES, Life, contents, expected, segment_files, timestamp


def test_at_the_end_there_is_nothing_to_read(life):
    assert life.ask("read", MESSAGES, 100) == []
    assert life.ask("read", MESSAGES + 5, 100) == []
    assert Life(FaultyDisk()).ask("read", 0, 100) == []


def test_a_read_that_the_disk_refuses_can_be_asked_for_again():
    life = Life(FaultyDisk())
    life.fill(20)
    life.disk.fail_next("open", errno.EMFILE)
    assert life.ask("read", 0, 100).lacks_descriptors
    assert contents(life.ask("read", 0, 10_000))[0] == expected(0, 1)[0]
    life.disk.fail_next("open", errno.EMFILE)
    assert isinstance(life.ask("find_timestamp", timestamp(15)), DiskError)


def within(log):
    """Return a time for which a segment must be read that is older than the last two."""
    rows = log._segments.rows
    return next(last_ms for _, _, first_ms, last_ms in rows if first_ms < last_ms)


def test_a_read_under_way_goes_on_at_the_new_floor(life):
    answers, removed = [], []
    life.log.read(0, 1_000, answers.append)
    life.log.read(3, 1_000, answers.append)
    life.log.find_timestamp(within(life.log), answers.append)
    life.log.retain(2_000, None, removed.append)
    life.writer.run()
    life.run()
    assert removed[0] > 0
    runs = [answer[0].first_seq for answer in answers if isinstance(answer, list)]
    assert runs == [life.log.first_offset] * 2
    assert life.log.first_offset in answers
    assert life.damages == []


def test_a_read_waits_while_a_segment_is_being_removed(life):
    answers = []
    life.log.retain(2_000, None, lambda count: None)
    job, done = life.writer._jobs.popleft()
    result = job()
    life.log.read(0, 1_000, answers.append)
    life.log.find_timestamp(within(life.log), answers.append)
    life.run()
    assert answers == []
    done(result)
    life.run()
    assert answers[0][0].first_seq == life.log.first_offset == answers[1]
    assert life.damages == []


def test_a_removed_segment_that_is_open_is_freed_elsewhere(life, monkeypatch):
    firsts = [int(name[:20]) for name in segment_files(life.folder)]
    segments = [OpenSegment(life.folder, first) for first in firsts]
    life.log.retain(2_000, None, lambda count: None)
    life.writer.run()
    left = [segment for segment in segments if not life.log.is_removed(segment)]
    assert 0 < len(left) < len(segments)
    assert [segment.first_offset for segment in left] == [int(name[:20]) for name in segment_files(life.folder)]
    freed = []
    monkeypatch.setattr(type(life.folder), "close", lambda _, closed: freed.append(closed))
    file = segments[0].file
    life.log.release(segments.pop(0))
    assert freed == []
    life.run()
    assert freed[:1] == [file]


def test_a_segment_that_is_missing_is_told_once(life):
    name = segment_files(life.folder)[1]
    life.folder.unlink(name)
    first, stop = (int(each[:20]) for each in segment_files(life.folder)[0:2])
    found = life.read(0)
    again = life.read(int(name[:20]))
    (damage,) = life.damages
    assert damage == f"stream 7 is damaged: {name} is missing, with messages {int(name[:20])} to {stop - 1}"
    assert found == expected(first, int(name[:20])) | expected(stop, MESSAGES)
    assert again == expected(stop, MESSAGES)
    assert life.ask("find_timestamp", timestamp(int(name[:20]) + 10)) >= int(name[:20])


def test_the_first_chunk_that_is_not_older(life):
    starts = range(0, MESSAGES, 5)
    for offset in range(MESSAGES):
        first = next((at for at in starts if timestamp(at) >= timestamp(offset)), MESSAGES)
        assert life.ask("find_timestamp", timestamp(offset)) == first
    assert life.ask("find_timestamp", 0) == 0
    assert life.ask("find_timestamp", timestamp(MESSAGES)) == MESSAGES
    life.ask("truncate", 44)
    assert life.ask("find_timestamp", timestamp(3)) == 44


def test_a_sparse_large_stream_is_found_by_time_without_much_reading(monkeypatch):
    """2,000 segments, of which all but one are known by their numbers alone."""
    life = Life(FaultyDisk())
    life.fill(600, 1, segment_octets=1 << 20)
    log = life.log
    segments = Segments()
    for number in range(2_000):
        segments.put(Written(number, 500_000_000, number, number))
    assert 32 * 2_000 < sum(sys.getsizeof(getattr(segments, name)) for name in Segments.__slots__) < 128 * 2_000
    read = []
    read_at = FaultyDisk.read_at

    def counted(disk, file, offset, octets):
        found = read_at(disk, file, offset, octets)
        read.append(len(found))
        return found

    monkeypatch.setattr(FaultyDisk, "read_at", counted)
    assert log.octets > 200_000
    assert life.ask("find_timestamp", timestamp(595)) == 590
    assert sum(read) < 2 * 80_000
