"""Tidy rows are what one message after the other comes to, however they are copied."""

from array import array
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from pybroker.store.segments import checkpoint as checkpoint_module, tidy as tidy_module
from pybroker.store.segments.checkpoint import Checkpoint
from pybroker.store.segments.tidy import tidy
from tests.store.records import flat, rows_of

NOW_MS = 5
ROW = st.tuples(st.integers(1, 60), st.integers(0, 9), st.integers(0, 3), st.integers(0, 9)).map(
    lambda row: (row[0], row[0] + row[1], row[2], row[3])
)


@pytest.fixture(autouse=True, scope="module")
def small_chunks():
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(tidy_module, "CHUNK", 3)
        monkeypatch.setattr(checkpoint_module, "CHUNK", 3)
        yield


def one_by_one(rows, gone=(), now_ms=0) -> dict[int, tuple[int, int]]:
    told: dict[int, tuple[int, int]] = {}
    for first, last, times, due_ms in rows:
        for seq in range(first, last + 1):
            told[seq] = max((times, due_ms), told.get(seq, (0, 0)))
    return {seq: (times, due_ms if due_ms > now_ms else 0) for seq, (times, due_ms) in told.items() if seq not in gone}


@given(st.lists(st.lists(ROW, max_size=20), max_size=4), st.lists(st.integers(1, 70), unique=True))
def test_rows_that_come_in_parts_are_what_one_by_one_gives(parts, settled):
    old = {}
    every = []
    for part in parts:
        every += part
        old = tidy(old, {1: flat(part)}, {}, 0)
        assert one_by_one(every) == one_by_one(rows_of(old.get(1, array("Q"))))
    # Ranges come in any order, and not joined; a segment has some of them.
    gone = {
        number: {1: array("Q", [seq for each in settled if (each > 30) == number for seq in (each, each)])}
        for number in range(2)
    }
    made = tidy(old, {}, gone, NOW_MS)
    rows = list(rows_of(made.get(1, array("Q"))))
    assert one_by_one(every, settled, NOW_MS) == one_by_one(rows)
    assert all(one[1] < other[0] and (one[1] + 1, *one[2:]) != (other[0], *other[2:]) for one, other in pairwise(rows))
    assert made == tidy(made, {}, gone, NOW_MS)


def test_rows_that_stay_as_they_are_are_not_copied():
    rows = {1: flat([(1, 1, 1, 9), (3, 4, 1, 0)]), 2: flat([(5, 5, 1, 0)])}
    made = tidy(rows, {2: flat([(6, 6, 2, 0)])}, {1: {1: array("Q", (2, 2))}}, NOW_MS)
    assert made[1] is rows[1]
    assert [(5, 5, 1, 0), (6, 6, 2, 0)] == list(rows_of(made[2]))


@given(st.dictionaries(st.integers(1, 4), st.lists(ROW, min_size=1, max_size=12), max_size=3))
def test_a_checkpoint_keeps_all_rows_whether_they_wait_or_not(queues):
    returned = {queue_id: flat(rows) for queue_id, rows in queues.items()}
    found = Checkpoint.decode(Checkpoint(7, 3, 9, returned=returned).encode())
    assert {queue_id: sorted(rows) for queue_id, rows in queues.items()} == {
        queue_id: sorted(rows_of(rows)) for queue_id, rows in found.returned.items()
    }
