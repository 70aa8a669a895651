"""Returned messages, recorded by ranges: each message has the count and the due time that one by one would give it."""

from array import array
from itertools import pairwise

from hypothesis import given, strategies as st

from pybroker.store.segments.live_index import LiveIndex, Segment
from pybroker.store.segments.returned import MANY, Returned
from pybroker.store.segments.tidy import highest, unsettled
from tests.store.records import listed, rows_of

NOW_MS = 5
ROW = st.tuples(st.integers(1, 30), st.integers(0, 8), st.integers(1, 3), st.integers(0, 9)).map(
    lambda row: (row[0], row[0] + row[1], row[2], row[3])
)


def one_by_one(rows) -> dict[int, tuple[int, int]]:
    counts: dict[int, tuple[int, int]] = {}
    for first, last, times, due_ms in rows:
        for seq in range(first, last + 1):
            counts[seq] = max((times, due_ms), counts.get(seq, (0, 0)))
    return counts


@given(st.lists(ROW))
def test_the_highest_count_is_right_where_rows_overlap(rows):
    parts = list(highest(sorted(rows)))
    assert one_by_one(rows) == one_by_one(parts)
    assert all(before[1] < after[0] for before, after in pairwise(parts))


@given(st.lists(ROW), st.lists(st.integers(1, 40), unique=True))
def test_settled_messages_leave(rows, settled):
    gone = array("Q", [seq for each in sorted(settled) for seq in (each, each)])
    expected = {seq: each for seq, each in one_by_one(rows).items() if seq not in settled}
    assert expected == one_by_one(unsettled(highest(sorted(rows)), gone))


@given(st.lists(st.tuples(ROW, st.booleans())), st.lists(st.integers(1, 40), unique=True))
def test_what_is_settled_or_due_is_not_told(rows, settled):
    """Made tidy at any moments, in any parts."""
    live_index = LiveIndex()
    for number, first in enumerate((1, 12, 25), 1):
        segment = Segment(number, 0, first, 1 << 26, 64)
        segment.pairs[1] = segment.live = 100
        segment.last_seq = (11, 24, 40)[number - 1]
        live_index.add(segment)
    for (first, last, times, due_ms), tidies in rows:
        live_index.returned.add(1, times, due_ms, array("Q", (first, last)))
        if tidies:
            live_index.returned.tidy(live_index.settled(), 0)
    for seq in settled:
        live_index.settle(1, array("Q", (seq, seq)))
    told = live_index.returned.tidy(live_index.settled(), NOW_MS)
    expected = {
        seq: (times, due_ms if due_ms > NOW_MS else 0)
        for seq, (times, due_ms) in one_by_one(row for row, _ in rows).items()
        if seq not in settled
    }
    assert expected == one_by_one(rows_of(told.get(1, array("Q"))))
    assert told == live_index.returned.tidy(live_index.settled(), NOW_MS)


def test_what_comes_back_while_a_thread_is_at_work_stays():
    returned = Returned()
    returned.add(1, 1, 0, array("Q", (1, 1)))
    returned.add(2, 1, 0, array("Q", (2, 2)))
    returned.freeze()
    returned.add(1, 2, 9, array("Q", (1, 1)))
    returned.forget(2)
    returned.replace({1: array("Q", (1, 1, 1, 0)), 2: array("Q", (2, 2, 1, 0))})
    assert [(1, 1, 1, 2, 9)] == listed(returned.tidy({}, 0))


def test_a_checkpoint_that_could_not_be_written_costs_nothing():
    returned = Returned()
    returned.add(1, 1, 7, array("Q", (1, 1)))
    returned.freeze()
    returned.add(1, 1, 8, array("Q", (3, 3)))
    returned.replace(None)
    assert [(1, 1, 1, 1, 7), (1, 3, 3, 1, 8)] == listed(returned.tidy({}, 0))


def test_very_many_are_made_tidy_soon():
    returned = Returned()
    pairs = array("Q", [seq for each in range(1, 2 * MANY, 2) for seq in (each, each)])
    returned.add(1, 1, 0, pairs)
    assert not returned.many
    returned.add(1, 2, 0, array("Q", (1, 1)))
    assert returned.many
    returned.tidy({}, 0)
    assert not returned.many


def test_a_backlog_that_came_back_whole_is_one_range():
    returned = Returned()
    returned.add(1, 1, 0, array("Q", (1, 1 << 40)))
    assert [(1, 1, 1 << 40, 1)] == listed(returned.tidy({}, 0))
