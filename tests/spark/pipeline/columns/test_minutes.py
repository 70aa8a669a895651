"""Minutes date by date: in their order, with their neighbours, and what they come to."""

from math import ceil

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

import pyarrow as pa
from hypothesis import given, strategies as st

from pybroker.spark.pipeline.columns import minutes
from pybroker.spark.pipeline.columns.minutes import Counts
from pybroker.spark.pipeline.schemas import QUEUE_1M
from tests.spark.pipeline.jobs.rows import at, minutes as minutes_of

DAY_M = 1_440
PLACE = {"vhost": "/"}


def test_a_queue_has_the_same_number_in_each_date():
    rows = [{"ts": at(n), "queue": queue} for n, queue in ((1, "b"), (0, "b"), (0, "a"), (DAY_M, "c"), (DAY_M, "b"))]
    found = minutes_of(QUEUE_1M, *rows, **PLACE)
    dates = [
        [(found.things[n][2], when) for n, when in zip(*(rows[c].to_pylist() for c in ("n", "at")), strict=True)]
        for rows in found
    ]
    noon = int(at(0).timestamp())
    assert [sorted(each) for each in dates] == [
        [("a", noon), ("b", noon), ("b", noon + 60)],
        [("b", noon + 86_400), ("c", noon + 86_400)],
    ]
    # Rows of a queue follow one another, by time.
    assert [name for name, _ in dates[0]].index("a") in {0, 2}


def test_the_row_after_one_may_be_of_a_later_date():
    rows = [{"ts": at(n), "queue": "q", "last_ts": at(n, 7)} for n in (0, 1, DAY_M, 3 * DAY_M)]
    rows.append({"ts": at(0), "queue": "once"})
    found = minutes_of(QUEUE_1M, *rows, **PLACE)
    told = {
        (found.things[row["n"]][2], row["at"]): (row["next_at"], row["previous_us"])
        for part in found.followed()
        for row in part.to_pylist()
    }
    times = [int(at(n).timestamp()) for n in (0, 1, DAY_M, 3 * DAY_M)]
    assert told == {
        ("q", times[0]): (times[1], None),
        ("q", times[1]): (times[2], (times[0] + 7) * 1_000_000),
        ("q", times[2]): (times[3], (times[1] + 7) * 1_000_000),
        ("q", times[3]): (None, (times[2] + 7) * 1_000_000),
        ("once", times[0]): (None, None),
    }


def test_the_last_row_is_the_one_that_was_written_last():
    back = {"last_epoch": 1, "queue": "back"}
    rows = [
        {"ts": at(0), "last_seq": 1, "ready_last": 1, **back},
        {"ts": at(9), "last_seq": 5, "ready_last": 2, **back},
        {"ts": at(1), "last_seq": 6, "ready_last": 3, **back},
        # An older node does not tell the order.
        *({"ts": at(n), "queue": "old", "ready_last": n} for n in range(3)),
    ]
    found = minutes_of(QUEUE_1M, *rows, **PLACE)
    (part,) = found
    last = {found.things[row["n"]][2]: row["ready_last"] for row in minutes.last(part).to_pylist()}
    assert last == {"back": 3, "old": 2}


@given(st.lists(st.lists(st.integers(0, 9), max_size=40), min_size=1, max_size=4), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_percentile_is_that_of_all_dates(dates, share):
    counts, every = Counts.of(share, 200), [value for values in dates for value in values]
    for values in dates:
        counts = counts.add(
            pa.table({"n": pa.array([7] * len(values), pa.int64()), "v": pa.array(values, pa.int64())}), "v"
        )
    found = counts.percentile({7: len(every)})
    assert found == ({7: sorted(every)[ceil(share * len(every)) - 1]} if every else {})


def test_few_values_are_kept():
    counts = Counts.of(0.99, 1_000)
    for day in range(10):
        values = range(100 * day, 100 * day + 100)
        counts = counts.add(pa.table({"n": pa.array([1] * 100, pa.int64()), "v": pa.array(values, pa.int64())}), "v")
    assert counts.rows.num_rows <= 11
    assert counts.percentile({1: 1_000}) == {1: 989}


def test_without_rows_there_are_no_minutes():
    assert [*minutes_of(QUEUE_1M)] == []
    assert [*minutes_of(QUEUE_1M).followed()] == []
