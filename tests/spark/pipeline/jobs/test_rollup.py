"""Totals become counts across restarts, deletions and missing rows."""

import pytest

from pybroker.spark.pipeline.jobs import rollup
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import QUEUE_1M, QUEUE_SAMPLE
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.pipeline.jobs.rows import at, frame

pytestmark = pytest.mark.spark
f = pytest.importorskip("pyspark.sql.functions")


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
    minutes = rollup._finished(rollup.queue_minutes(samples), [at(0).date()])
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


def test_a_clock_that_is_set_back_neither_loses_nor_invents(spark):
    # Ten minutes in which 10 messages came each, then the clock goes back by eight of them, and ten more minutes.
    minutes = [*range(1, 11), *range(3, 13)]
    samples = frame(
        spark,
        QUEUE_SAMPLE,
        *({"ts": at(minute, n // 10), "publish_total": 10 * n} for n, minute in enumerate(minutes, 1)),
        {"ts": at(0), "publish_total": 0, "first": True},
        epoch=1,
        queue_id=1,
        vhost="/",
        queue="q",
    )
    found = rollup.counts(samples, QUEUE_SAMPLE.key, {"publish": "publish_total"}).collect()
    assert sum(row.publish for row in found) == 200


def test_dates_made_together_are_those_made_alone(spark, tmp_path):
    def sample(hours, total, **more):
        return {"ts": at(hours * 60 - 720), "publish_total": total, **more}

    midnights = (sample(24, 60), sample(48 - 0.1, 100), sample(48, 130), sample(72, 200))
    samples = frame(
        spark, QUEUE_SAMPLE, sample(1, 5, first=True), *midnights, epoch=1, queue_id=1, vhost="/", queue="q", ready=0
    ).withColumn("date", f.to_date("ts"))
    warehouse = Warehouse(tmp_path, at(5 * 24 * 60))
    days = [at(n * 24 * 60).date() for n in range(4)]
    warehouse.write(samples, QUEUE_SAMPLE, days)
    run = Run(spark, warehouse, tmp_path, Window(at(0), warehouse.now), quiet=True)
    assert rollup.run(run)["queue_1m dates"] == 4
    together = [tuple(row) for row in warehouse.read(spark, QUEUE_1M, days).orderBy("ts").collect()]
    # Growth over midnight counts if it was seen in the ten minutes before.
    assert [row[4] for row in together] == [5, 0, 40, 30, 0]
    assert rollup.run(run)["queue_1m dates"] == 0
    for day in reversed(days):
        warehouse.note("made", "queue_1m", {**warehouse.state()["made"]["queue_1m"], str(day): 0})
        assert rollup.run(run)["queue_1m dates"] == 1
    assert [tuple(row) for row in warehouse.read(spark, QUEUE_1M, days).orderBy("ts").collect()] == together
