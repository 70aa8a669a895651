"""StreamLog: what the hub is told, and readers at work while segments go."""

import sys

import pytest

from pybroker.store.streams.removals import Removals
from tests.inline_worker import InlineWorker
from tests.store.faulty_disk import FaultyDisk
from tests.store.streams.lives import (
    MESSAGES,
    SEGMENT_OCTETS,
    SEQS_AHEAD,
    Life,
    chunks,
    expected,
    segment_files,
    timestamp,
)


def test_numbers_follow_what_is_written(life):
    log = life.log
    assert (log.first_offset, log.next_offset, log.last_chunk_offset) == (0, MESSAGES, MESSAGES - 5)
    assert (log.last_seq, log.timestamp_ms) == (MESSAGES - 1 + SEQS_AHEAD, timestamp(MESSAGES - 5))
    assert log.segment_count == len(segment_files(life.folder)) > 4
    assert log.octets == sum(map(life.folder.size_of, segment_files(life.folder)))
    life.check()


def test_the_time_of_the_oldest_is_known_after_a_start_too(life):
    assert life.log.first_timestamp_ms == timestamp(0)
    life.ask("retain", life.log.octets // 2, None)
    oldest = timestamp(life.log.first_offset)
    assert life.log.first_timestamp_ms == oldest
    life = Life(life.disk)
    assert life.log.first_timestamp_ms == oldest
    assert Life(FaultyDisk()).log.first_timestamp_ms == 0


def test_numbers_grow_before_it_is_told(life):
    seen = []
    life.log.append(chunks(MESSAGES, 3), 1_500, lambda error: seen.append((error, life.log.next_offset)))
    assert (seen, life.log.next_offset) == ([], MESSAGES)
    life.run()
    assert seen == [(None, MESSAGES + 3)]


def test_segments_go_by_size(life):
    log = life.log
    octets, count = log.octets, log.segment_count
    assert life.ask("retain", octets, None) == 0
    gone = life.ask("retain", octets // 2, None)
    assert 0 < gone < count
    assert log.segment_count == count - gone
    assert octets // 2 - 7_000 < log.octets <= octets // 2
    assert log.first_offset > 0
    life.check()
    assert life.ask("retain", 0, None) == count - gone - 1
    assert log.segment_count == 1
    assert life.ask("retain", 0, None) == 0
    assert min(life.read(0)) == log.first_offset


def test_segments_go_by_age(life):
    log = life.log
    assert life.ask("retain", None, timestamp(0)) == 0
    assert life.ask("retain", None, timestamp(45)) > 0
    assert log._segments.not_older(timestamp(45)) == 0
    assert 0 < log.first_offset <= 45
    life.check()


def test_the_newest_segment_goes_by_age_too(life):
    log = life.log
    count = log.segment_count
    assert life.ask("retain", None, timestamp(MESSAGES) + 1) == count
    assert (log.first_offset, log.next_offset, log.segment_count, log.octets) == (MESSAGES, MESSAGES, 1, 64)
    assert (log.last_chunk_offset, log.last_seq) == (MESSAGES, MESSAGES - 1 + SEQS_AHEAD)
    assert life.ask("retain", None, timestamp(MESSAGES) + 1) == 0
    assert (life.read(0), life.ask("find_timestamp", timestamp(50))) == ({}, MESSAGES)
    life.fill(MESSAGES + 20)
    life.check()
    assert log.first_offset == MESSAGES


def test_the_newest_segment_stays_while_it_is_written(life):
    answers = []
    life.log.append(chunks(MESSAGES, 3), 1 << 20, answers.append)
    life.log.retain(None, timestamp(10_000), answers.append)
    life.run()
    assert answers[0] is None
    assert answers[1] > 0
    assert life.log.first_offset < MESSAGES
    life.check()


def test_removals_are_decided_one_after_the_other(life):
    answers = []
    life.log.retain(life.log.octets // 2, None, answers.append)
    life.log.retain(life.log.octets // 2, None, answers.append)
    life.log.truncate(MESSAGES - 3, answers.append)
    life.log.retain(None, timestamp(MESSAGES), answers.append)
    life.run()
    assert answers[0] > 0
    assert (answers[1], answers[2]) == (0, None)
    life.check()


@pytest.mark.parametrize("share", [0, 1 / 3, 1 / 2, 1])
@pytest.mark.parametrize("age", [None, 0, MESSAGES // 2, MESSAGES])
def test_what_retention_leaves_is_known_before(life, share, age):
    limits = int(life.log.octets * share), None if age is None else timestamp(age)
    life.ask("truncate", 3)
    first = life.log.first_retained(*limits)
    life.ask("retain", *limits)
    assert life.log.first_offset == first
    assert life.log.first_retained(None, None) == first


def test_a_truncation_hides_what_is_in_the_same_segment(life):
    assert life.ask("truncate", 44) is None
    assert life.log.first_offset == 44
    assert min(life.read(0)) == 44
    life.check()
    assert Life(life.disk).log.first_offset == 44
    assert life.ask("truncate", 20) is None
    assert life.log.first_offset == 44


def test_a_truncation_ends_where_the_segments_do(life):
    assert life.ask("truncate", MESSAGES + 1_000) is None
    log = Life(life.disk).log
    assert (log.first_offset, log.next_offset, log.last_chunk_offset) == (MESSAGES, MESSAGES, MESSAGES)


def test_truncations_of_many_streams_leave_the_writer_to_others_between_two():
    disk, worker = FaultyDisk(), InlineWorker()
    removals = Removals(worker)
    lives = [Life(disk, number, writer=worker, remover=removals) for number in range(1, 6)]
    for each in lives:
        each.fill(60)
    done = []
    for number, each in enumerate(lives, 1):
        each.log.truncate(30, lambda error, number=number: done.append((number, error)))
    lives[4].log.append(chunks(60, 5), SEGMENT_OCTETS, lambda error: done.append(("written", error)))
    worker.run()
    assert done == [(1, None), ("written", None), *((number, None) for number in range(2, 6))]
    assert [(each.log.first_offset, each.log.next_offset) for each in lives] == [(30, 60)] * 4 + [(30, 65)]
    found = Life(disk, 5)
    assert sorted(found.read(30)) == list(range(30, 65))


def test_a_deleted_stream_is_gone(life):
    answers = []
    life.log.read(0, 100, answers.append)
    life.log.delete(answers.append)
    life.log.read(0, 100, answers.append)
    life.run()
    assert answers.count(None) == 1
    assert answers.count([]) >= 1
    assert life.ask("read", 5, 100) == []
    assert life.folder is None


def test_offsets_that_were_lost_before_leave_a_gap(life):
    later = chunks(MESSAGES + 7, 5)
    assert life.ask("append", [*chunks(MESSAGES, 2), *later], 1_500) is None
    assert life.ask("append", chunks(MESSAGES + 20, 3), 1_500) is None
    left = {**expected(MESSAGES, MESSAGES + 2), **expected(MESSAGES + 7, MESSAGES + 12)}
    left |= expected(MESSAGES + 20, MESSAGES + 23)
    for again in (life, Life(life.disk)):
        assert again.log.next_offset == MESSAGES + 23
        assert again.read(MESSAGES) == left
        assert (again.log.reports, again.damages) == ([], [])
    assert again.ask("find_timestamp", timestamp(MESSAGES + 20)) == MESSAGES + 20


def test_an_idle_stream_is_small():
    """Without what the interpreter shares: the objects of one stream, and of their columns."""
    seen: set[int] = set()

    def size(each):
        if id(each) in seen or isinstance(each, type) or callable(each):
            return 0
        seen.add(id(each))
        total = sys.getsizeof(each)
        slots = [name for kind in type(each).__mro__ for name in getattr(kind, "__slots__", ())]
        parts = [getattr(each, name) for name in slots if not name.startswith("__") and hasattr(each, name)]
        parts += list(getattr(each, "__dict__", {}).values())
        if isinstance(each, (list, tuple, set)):
            parts += list(each)
        return total + sum(size(part) for part in parts)

    life = Life(FaultyDisk())
    life.fill(20, segment_octets=1 << 20)
    log = Life(life.disk).log
    seen |= {id(life.disk), id(log._folder.disk), id(log._worker), id(log._reader), id(log._log)}
    assert size(log) < 1_800


def test_work_that_cannot_begin_for_want_of_memory_leaves_all_as_it_was(life, monkeypatch):
    def no_memory(*_arguments):
        raise MemoryError

    log, submit = life.log, life.writer.submit
    monkeypatch.setattr(life.writer, "submit", no_memory, raising=False)
    given, answers = chunks(log.next_offset, 5), []
    with pytest.raises(MemoryError):
        log.append(given, 1 << 20, answers.append)
    with pytest.raises(MemoryError):
        log.write_straight(given, 1 << 20, answers.append, synced=True)
    with pytest.raises(MemoryError):
        log.truncate(0, answers.append)
    monkeypatch.setattr(life.writer, "submit", submit, raising=False)
    log.append(given, 1 << 20, answers.append)
    log.truncate(1, answers.append)
    life.run()
    assert answers == [None, None]
