"""Returned messages, recorded by ranges: each has the count that counting one by one would give it."""

from array import array
from itertools import pairwise

from hypothesis import given, strategies as st

from pybroker.store.segments.delivery_counts import highest, joined
from pybroker.store.segments.live_index import LiveIndex, Segment

RANGES = st.dictionaries(
    st.tuples(st.integers(1, 30), st.integers(0, 8)).map(lambda pair: (pair[0], pair[0] + pair[1])), st.integers(1, 3)
)


def one_by_one(returned) -> dict[int, int]:
    counts: dict[int, int] = {}
    for (first, last), times in returned.items():
        for seq in range(first, last + 1):
            counts[seq] = max(times, counts.get(seq, 0))
    return counts


@given(RANGES)
def test_the_highest_number_counts_where_ranges_overlap(returned):
    parts = list(highest(returned))
    assert one_by_one(returned) == {seq: times for first, last, times in parts for seq in range(first, last + 1)}
    assert all(before[1] < after[0] for before, after in pairwise(parts))


def test_ranges_that_touch_are_one():
    assert [(1, 5, 1), (6, 6, 2), (8, 8, 2)] == joined([(1, 2, 1), (3, 5, 1), (6, 6, 2), (8, 8, 2)])


@given(RANGES, st.lists(st.integers(1, 40), unique=True))
def test_what_is_settled_is_not_told(returned, settled):
    live_index = LiveIndex()
    for number, first in enumerate((1, 12, 25), 1):
        segment = Segment(number, 0, first, 1 << 26, 64)
        segment.pairs[1] = segment.live = 100
        segment.last_seq = (11, 24, 40)[number - 1]
        live_index.add(segment)
    for pair, times in returned.items():
        live_index.give_back(1, times, array("Q", pair))
    for seq in settled:
        live_index.settle(1, array("Q", (seq, seq)))
    expected = {seq: times for seq, times in one_by_one(live_index.returned.get(1, {})).items() if seq not in settled}
    told = live_index.redelivered()
    assert expected == {seq: times for _, first, last, times in told for seq in range(first, last + 1)}
    assert told == live_index.redelivered()


def test_a_backlog_that_came_back_whole_is_one_range():
    live_index = LiveIndex()
    segment = Segment(1, 0, 1, 1 << 26, 64)
    segment.pairs[1] = segment.live = 1 << 40
    live_index.add(segment)
    live_index.give_back(1, 1, array("Q", (1, 1 << 40)))
    assert [(1, 1, 1 << 40, 1)] == live_index.redelivered()
