"""The covered part of a window, and its holes."""

from datetime import timedelta

import pytest

from pybroker.spark.pipeline import coverage
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import NODE_SAMPLE
from tests.spark.pipeline.jobs.rows import NOON, at, frame

pytestmark = pytest.mark.spark


class Kept:
    """Stands for a warehouse with these rows."""

    def __init__(self, rows):
        self.rows = rows
        self.reads = 0

    def dates(self, table):
        return [NOON.date()]

    def read(self, spark, table, dates):
        self.reads += 1
        return self.rows


def test_holes_and_a_node_that_ended_are_told_of(spark):
    seconds = [*range(0, 300, 10), *range(500, 900, 10)]
    one = [{"ts": at(0, second), "node": "one"} for second in seconds]
    two = [{"ts": at(0, second), "node": "two"} for second in range(0, 600, 10)]
    # It samples once a minute.
    slow = [{"ts": at(0, second), "node": "slow"} for second in range(0, 900, 60)]
    kept = Kept(frame(spark, NODE_SAMPLE, *one, *two, *slow))
    run = Run(spark, kept, None, Window(NOON, NOON + timedelta(hours=1)))
    found = run.coverage
    assert (found.seen_from, found.seen_until) == (NOON, NOON + timedelta(seconds=890))
    assert found.incomplete == [
        "one: nothing from 2026-01-05 12:04:50 to 2026-01-05 12:08:20 (3 min 30 s)",
        "two: nothing from 2026-01-05 12:09:50 to 2026-01-05 12:14:50 (5 min)",
    ]
    assert run.bucket_s == 60
    assert coverage.coverage(run) is found
    assert kept.reads == 1


def test_no_sample_covers_nothing(tmp_path):
    from pybroker.spark.pipeline.tables import Warehouse

    run = Run(None, Warehouse(tmp_path), tmp_path, Window(NOON, NOON + timedelta(days=7)))
    assert run.coverage == (None, None, [])
    assert run.bucket_s == run.window.bucket_s
