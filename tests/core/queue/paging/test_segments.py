"""The segments of a queue behind its head window, as objects of their own."""

import pytest

from pybroker.core.queue.paging.segments import WINDOW_MESSAGES, WINDOW_OCTETS, EvictedSegment, Segments, fills_window
from pybroker.run import Entry
from pybroker.seq_ranges import SeqRanges
from tests.readers import run_of, seqs


def entry(first: int, count: int = 1, size: int = 1) -> Entry:
    return Entry(run_of([b"x" * size] * count, first), range(count))


def seq_ranges(*ranges: tuple[int, int, int]) -> SeqRanges:
    made = SeqRanges()
    for first, count, size in ranges:
        made.add(first, count, size)
    return made


@pytest.mark.parametrize(
    ("entries", "halves", "expected"),
    [
        ([], 2, 0),
        ([entry(1, 100)] * 3, 2, 0),
        ([entry(1, 512)] * 9, 2, WINDOW_MESSAGES // 512),
        ([entry(1, 512)] * 9, 1, WINDOW_MESSAGES // 1024),
        ([entry(1, 512)] * 9, 4, WINDOW_MESSAGES * 2 // 512),
        ([entry(1, 1, WINDOW_OCTETS // 4)] * 9, 2, 4),
        ([entry(1, 1, WINDOW_OCTETS * 2)] * 9, 2, 1),
    ],
)
def test_a_window_is_so_many_messages_or_so_many_octets(entries, halves, expected):
    assert expected == fills_window(entries, halves)


def test_what_leads_and_is_in_memory_is_taken_until_the_first_evicted_one():
    segments = Segments()
    came, missing = EvictedSegment(seq_ranges((2, 3, 1))), EvictedSegment(seq_ranges((9, 1, 1)))
    came.found = [entry(2), entry(4)]
    segments.parts.extend([entry(1), came, missing, entry(10)])
    segments.fresh.append(entry(11))
    assert [1, 2, 4, 10, 11] == seqs(segments.entries())
    assert [1, 2, 4] == seqs(segments.pop_front(9))
    assert [] == segments.pop_front(9)
    assert [missing, 10] == [part if part is missing else part.first_seq for part in segments.parts]


def test_not_much_more_is_taken_than_was_asked_for():
    segments = Segments()
    segments.parts.extend([entry(seq) for seq in range(1, 9)])
    assert [1, 2, 3] == seqs(segments.pop_front(3))


def test_the_mark_is_half_a_window_before_the_end_or_two_where_it_goes_fast():
    segments = Segments()
    ready = [entry(1 + 512 * i, 512) for i in range(20)]
    segments.mark_low(ready)
    assert ready[18].first_seq == segments.low_seq
    segments.ahead = 1
    segments.mark_low(ready)
    assert ready[12].first_seq == segments.low_seq


def test_a_window_that_is_not_full_is_low_at_once():
    segments = Segments()
    segments.mark_low([entry(7, 3), entry(10)])
    assert 7 == segments.low_seq
    segments.mark_low([])
    assert 0 == segments.low_seq


def test_spans_are_seqs_without_a_gap_whatever_the_sizes():
    assert [] == list(EvictedSegment(SeqRanges()).spans())
    found = EvictedSegment(seq_ranges((1, 2, 5), (3, 1, 9), (5, 1, 5), (6, 4, 1), (20, 1, 1))).spans()
    assert [(1, 3), (5, 9), (20, 20)] == list(found)
