"""Rows become minutes and hours, totals counts: across restarts, deletions, and a clock that is set back."""

from datetime import timedelta

import pytest

from pybroker.spark.pipeline.schemas import (
    CONNECTION_1M,
    CONNECTION_SAMPLE,
    QUEUE_1H,
    QUEUE_1M,
    QUEUE_SAMPLE,
)
from tests.spark.pipeline.jobs.rows import NOON, arrow, at

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pybroker.spark.pipeline.jobs import aggregation, rollup

QUEUE = {"vhost": "/", "queue": "q", "queue_id": 1, "epoch": 1}


def made(source, table, *rows, **everywhere):
    """Return the rows that are made of rows of the source."""
    (recipe,) = (rollup.recipe(*each) for each in rollup.MADE if each[:2] == (source, table))
    return aggregation.roll_up(arrow(source, *rows, **everywhere), recipe).sort_by("ts").to_pylist()


def published(*rows):
    """Return by minute how many messages were published."""
    found = made(QUEUE_SAMPLE, QUEUE_1M, *rows, **QUEUE)
    return {(row["ts"] - NOON) // timedelta(minutes=1): row["publish"] for row in found}


def sample(minute, total, second=0, **more):
    return {**QUEUE, "ts": at(minute, second), "publish_total": total, **more}


def test_counts_begin_anew_with_each_start_and_each_queue():
    found = published(
        sample(0, 5),  # what was before is not known
        sample(1, 8),
        sample(2, 4, epoch=2, first=True),  # restarted: 4 since
        sample(3, 4, epoch=2),
        sample(4, 9, epoch=2, queue_id=7, first=True),  # deleted and declared again
        sample(5, 2, epoch=2, queue_id=7),  # cannot be: no count below 0
        sample(6, None, epoch=2, queue_id=7),
        sample(7, 11, epoch=2, queue_id=7),
    )
    assert [*found.values()] == [0, 3, 4, 0, 9, 0, 0, 2]


def test_things_are_told_apart():
    rows = [
        sample(n, 10 * n + k, queue=queue, vhost=vhost, node=node)
        for n in range(3)
        for k, (queue, vhost, node) in enumerate((("q", "/", "n"), ("p", "/", "n"), ("q", "v", "n"), ("q", "/", "m")))
    ]
    found = made(QUEUE_SAMPLE, QUEUE_1M, *rows)
    assert len(found) == 12
    assert {(row["ts"], row["publish"]) for row in found} == {(at(0), 0), (at(1), 10), (at(2), 10)}


def test_a_minute_has_sums_extremes_and_lasts_and_an_hour_too():
    def row(minute, second, total, ready, **more):
        gauges = {"ready": ready, "bytes": ready * 10, "consumers": ready % 3, "length_max": 7 if ready == 4 else None}
        return sample(minute, total, second, **gauges, **more)

    minutes = made(
        QUEUE_SAMPLE,
        QUEUE_1M,
        row(0, 0, 1, 4, first=True, seq=1),
        row(0, 50, 3, 8, seq=2, discarded=5, deleted_ms=9),
        row(1, 0, 6, 2, seq=3),
    )
    names = ("publish", "ready_max", "ready_last", "consumers_min", "bytes_first", "bytes_last", "samples")
    assert [tuple(row[name] for name in names) for row in minutes] == [(3, 8, 8, 1, 40, 80, 2), (3, 2, 2, 2, 20, 20, 1)]
    others = ("length_max", "deleted", "discarded", "last_ts")
    assert [tuple(row[name] for name in others) for row in minutes] == [
        (None, True, 5, at(0, 50)),
        (None, False, None, at(1)),
    ]
    (hour,) = made(QUEUE_1M, QUEUE_1H, *minutes)
    assert tuple(hour[name] for name in (*names, *others)) == (6, 8, 2, 1, 40, 20, 3, None, False, 5, at(1))


def test_the_cause_of_flow_control_is_the_last_that_was():
    def row(second, flow_ms, by, cause):
        return {"ts": at(0, second), "flow_ms_total": flow_ms, "last_blocked_by": by, "last_blocked_cause": cause}

    rows = (row(0, 0, "none", ""), row(10, 5, "flow", "disk"), row(20, 9, "flow", "journal"), row(30, 9, "flow", "x"))
    (minute,) = made(CONNECTION_SAMPLE, CONNECTION_1M, *rows, row(40, 10, "resource", "memory"), epoch=1, conn_id="c")
    assert (minute["flow_ms"], minute["flow_cause"], minute["user"]) == (10, "journal", None)


def test_a_clock_that_is_set_back_neither_loses_nor_invents():
    # Ten minutes in which 10 messages came each, then the clock goes back by eight of them, and ten more minutes.
    minutes = [*range(1, 11), *range(3, 13)]
    rows = [sample(minute, 10 * n, second=n // 10, seq=n) for n, minute in enumerate(minutes, 1)]
    first = sample(0, 0, first=True, seq=0)
    assert published(first, *rows) == {0: 0, 1: 10, 2: 10, **dict.fromkeys(range(3, 11), 20), 11: 10, 12: 10}
    # Of rows that do not tell their order, at least the sum is right.
    assert sum(published(*({**row, "seq": None} for row in (first, *rows))).values()) == 200


def test_of_both_passes_the_later_row_is_the_last():
    rows = [sample(0, n, seq=seq, ready=ready) for n, (seq, ready) in enumerate(((1, 5), (2, 6), (3, 7)))]
    earlier = {**sample(0, 9, second=30, seq=0, ready=1), "epoch": 0}
    (minute,) = made(QUEUE_SAMPLE, QUEUE_1M, rows[2], rows[0], earlier, rows[1])
    assert (minute["ready_last"], minute["samples"]) == (7, 4)
