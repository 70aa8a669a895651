"""Verdicts about consumers, from minutes."""

import pytest

from pybroker.spark.pipeline.jobs import consumers
from pybroker.spark.pipeline.schemas import QUEUE_1M
from tests.spark.pipeline.jobs.rows import at, frame

pytestmark = pytest.mark.spark


def minutes_of(queue, minutes, **facts):
    quiet = {"ready_last": 0, "ready_max": 5, "deliver": 0, "redeliver": 0, "consumers_last": 1, "unacked_max": 0}
    return [{"ts": at(minute), "vhost": "/", "queue": queue, **quiet, **facts} for minute in minutes]


def test_each_queue_gets_the_verdict_it_deserves(spark):
    rows = [
        # If nothing happens there is a row every five minutes.
        *minutes_of("missing", range(0, 31, 5), ready_last=5, consumers_last=0),
        *minutes_of("idle", range(10), ready_last=5),
        *minutes_of("storm", range(10), ready_last=5, deliver=100, redeliver=90),
        *minutes_of("fine", range(10), deliver=10),
    ]
    found = {row.queue: row for row in consumers.consumers(frame(spark, QUEUE_1M, *rows)).collect()}
    assert {name: row.verdict for name, row in found.items()} == {
        "missing": "missing",
        "idle": "idle",
        "storm": "redelivery storm",
        "fine": "fine",
    }
    assert (found["missing"].missing_minutes, found["idle"].idle_minutes, found["storm"].redelivered_share) == (
        31,
        10,
        0.9,
    )
    assert [*found][-1] == "fine"
