"""The covered part of a window, and sentences on the spans of which nothing is known."""

from datetime import timedelta

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.coverage import coverage
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import GAP, NODE_SAMPLE
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.pipeline.jobs.rows import NOON, at, put

HOUR = Window(NOON, NOON + timedelta(hours=1))


@pytest.fixture
def warehouse(tmp_path):
    return Warehouse(tmp_path / "warehouse")


def write(warehouse, table, rows):
    put(warehouse, table, *({"epoch": 1, **row} for row in rows))


def test_holes_gaps_and_a_node_that_ended_are_told_of(warehouse, tmp_path):
    seconds = [*range(0, 300, 10), *range(500, 900, 10)]
    one = [{"ts": at(0, second), "seq": second, "interval_ms": 10_000, "node": "one"} for second in seconds]
    two = [{"ts": at(0, s), "seq": s, "interval_ms": 10_000, "node": "two"} for s in range(0, 600, 10)]
    slow = [{"ts": at(0, s), "seq": s, "interval_ms": 60_000, "node": "slow"} for s in range(0, 900, 60)]
    write(warehouse, NODE_SAMPLE, [*one, *two, *slow])
    from_ms = round(at(10).timestamp() * 1000)
    gap = {"ts": at(10), "node": "one", "from_ms": from_ms, "to_ms": from_ms + 30_000}
    gaps = [{"table": "queue_sample", "why": "disk"}, {"table": "queue_sample", "why": "unheard-of"}]
    write(warehouse, GAP, [{**gap, **each} for each in gaps])
    run = Run(None, warehouse, tmp_path, HOUR)
    found = run.coverage
    assert (found.seen_from, found.seen_until) == (NOON, NOON + timedelta(seconds=890))
    ten = "from 2026-01-05 12:10:00 to 2026-01-05 12:10:30 (30 s)"
    assert found.incomplete == [
        "two: no rows from 2026-01-05 12:09:50 to 2026-01-05 12:14:50 (5 min)",
        "one: rows are missing from 2026-01-05 12:04:50 to 2026-01-05 12:08:20 (3 min 30 s)",
        f"one: rows of queue_sample left out for want of disk space {ten}",
        f"one: rows of queue_sample left out (unheard-of) {ten}",
    ]
    assert run.bucket_s == 60
    assert coverage.coverage(run) is found


def test_a_window_without_samples_has_no_coverage(tmp_path):
    run = Run(None, Warehouse(tmp_path), tmp_path, Window(NOON, NOON + timedelta(days=7)))
    assert run.coverage == (None, None, [])
    assert run.bucket_s == run.window.bucket_s
