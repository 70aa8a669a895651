"""Totals become counts across restarts, deletions and missing rows."""

import pytest

from pybroker.spark.pipeline.jobs import rollup
from pybroker.spark.pipeline.schemas import QUEUE_1M, QUEUE_SAMPLE
from tests.spark.pipeline.jobs.rows import at, frame

pytestmark = pytest.mark.spark


def test_counts_begin_anew_with_each_start_and_each_queue(spark):
    def sample(minute, total, epoch=1, queue_id=1, **more):
        return {"ts": at(minute), "publish_total": total, "epoch": epoch, "queue_id": queue_id, **more}

    samples = frame(
        spark,
        QUEUE_SAMPLE,
        sample(0, 5),  # what was before is not known
        sample(1, 8),
        sample(2, 4, epoch=2, first=True),  # restarted: 4 since
        sample(3, 4, epoch=2),
        sample(4, 9, epoch=2, queue_id=7, first=True),  # deleted and declared again
        sample(5, 2, epoch=2, queue_id=7),  # cannot be: no count below 0
        vhost="/",
        queue="q",
    )
    found = rollup.counts(samples, QUEUE_SAMPLE.key, {"publish": "publish_total"}).orderBy("ts").collect()
    assert [row.publish for row in found] == [0, 3, 4, 0, 9, 0]


def test_a_minute_has_sums_extremes_and_lasts_and_an_hour_too(spark):
    def sample(minute, second, total, ready):
        return {
            "ts": at(minute, second),
            "publish_total": total,
            "ready": ready,
            "bytes": ready * 10,
            "consumers": ready % 3,
        }

    rest = dict.fromkeys(("deliver_total", "ack_total", "redeliver_total", "expired_total", "dropped_total"), 0)
    samples = frame(
        spark,
        QUEUE_SAMPLE,
        {**sample(0, 0, 1, 4), "first": True},
        sample(0, 50, 3, 8),
        sample(1, 0, 6, 2),
        **rest,
        epoch=1,
        vhost="/",
        queue="q",
        queue_id=1,
    )
    minutes = rollup._finished(rollup.queue_minutes(samples), at(0).date())
    names = ("publish", "ready_max", "ready_last", "consumers_min", "bytes_first", "bytes_last", "samples")
    found = minutes.orderBy("ts").select(*names).collect()
    assert [tuple(row) for row in found] == [(3, 8, 8, 1, 40, 80, 2), (3, 2, 2, 2, 20, 20, 1)]
    (hour,) = rollup.queue_hours(minutes.select(*[column.name for column in QUEUE_1M.columns])).collect()
    assert (hour.publish, hour.ready_max, hour.ready_last, hour.bytes_first, hour.bytes_last, hour.samples) == (
        6,
        8,
        2,
        40,
        20,
        3,
    )
