"""rollup: samples become minutes and hours, totals become counts.

A count is the difference of two totals of one thing in one start of the node; of a thing's first row it is the total,
which began at 0. So a restart, and a queue that is deleted and declared again, neither lose nor invent a message.
"""

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window, functions as f

from pybroker.spark.pipeline.schemas import (
    CONNECTION_1M,
    CONNECTION_SAMPLE,
    NODE_1M,
    NODE_SAMPLE,
    QUEUE_1H,
    QUEUE_1M,
    QUEUE_SAMPLE,
    Table,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, GroupedData

    from pybroker.spark.pipeline.run import Run

# Everything is sampled at least every five minutes, so a row before midnight is not older than that by much.
BEFORE_S: Final = 600

QUEUE_TOTALS: Final = {
    "publish": "publish_total",
    "deliver": "deliver_total",
    "ack": "ack_total",
    "redeliver": "redeliver_total",
    "expired": "expired_total",
    "dropped": "dropped_total",
    "rejected": "rejected_total",
    "delivery_limited": "delivery_limit_total",
    "requeued": "requeue_total",
    "refused": "refused_total",
    "purged": "purged_total",
}
# Gauges that files of an older node lack.
QUEUE_GAUGES: Final = ("consumers_full", "head_age_ms", "unacknowledged_age_ms", "discarded", "deleted_ms")
CONNECTION_TOTALS: Final = {
    "recv": "recv_oct",
    "send": "send_oct",
    "blocked_ms": "blocked_ms_total",
    "flow_ms": "flow_ms_total",
}
NODE_TOTALS: Final = {"publish": "publish_total", "returned": "returned_total", "unroutable": "unroutable_total"}


def counts(samples: "DataFrame", key: tuple[str, ...], totals: "Mapping[str, str]") -> "DataFrame":
    """Return samples with a count for each total: how much it grew since the row before."""
    samples = with_columns(samples, *totals.values())
    order = Window.partitionBy(*key).orderBy("ts")
    counts = {}
    for name, total in totals.items():
        grown = f.col(total) - f.lag(total).over(order)
        since_ever = f.when(f.col("first"), f.col(total))
        counts[name] = f.greatest(f.coalesce(grown, since_ever, f.lit(0)), f.lit(0))
    # All at once: one pass over the sorted rows, not one for each total.
    return samples.withColumns(counts)


def with_columns(samples: "DataFrame", *names: str) -> "DataFrame":
    """Return samples with all of these columns: files of an older node lack some, which are null then."""
    missing = [name for name in names if name not in samples.columns]
    return samples.withColumns({name: f.lit(None).cast("bigint") for name in missing}) if missing else samples


def queue_minutes(samples: "DataFrame") -> "DataFrame":
    """Return a row for each queue and minute."""
    samples = with_columns(samples, *QUEUE_GAUGES)
    counted = counts(samples, QUEUE_SAMPLE.key, QUEUE_TOTALS)
    gauges = [
        f.max("ready").alias("ready_max"),
        _last("ready").alias("ready_last"),
        f.max("unacked").alias("unacked_max"),
        _last("unacked").alias("unacked_last"),
        f.min("consumers").alias("consumers_min"),
        _last("consumers").alias("consumers_last"),
        f.min_by("bytes", "ts").alias("bytes_first"),
        _last("bytes").alias("bytes_last"),
        f.max("paged_out").alias("paged_out_max"),
        _last("length_max").alias("length_max"),
        _last("octets_max").alias("octets_max"),
        f.min("consumers_full").alias("consumers_full_min"),
        f.max("head_age_ms").alias("head_age_ms_max"),
        _last("unacknowledged_age_ms").alias("unacknowledged_age_ms_last"),
        f.sum("discarded").alias("discarded"),
        f.max_by(f.col("deleted_ms").isNotNull(), "ts").alias("deleted"),
        f.max("ts").alias("last_ts"),
        f.count(f.lit(1)).alias("samples"),
    ]
    return _by("minute", counted, QUEUE_1M).agg(*_sums(QUEUE_TOTALS), *gauges)


def queue_hours(minutes: "DataFrame") -> "DataFrame":
    """Return a row for each queue and hour."""
    gauges = [
        f.max("ready_max").alias("ready_max"),
        _last("ready_last"),
        f.max("unacked_max").alias("unacked_max"),
        _last("unacked_last"),
        f.min("consumers_min").alias("consumers_min"),
        _last("consumers_last"),
        f.min_by("bytes_first", "ts").alias("bytes_first"),
        _last("bytes_last"),
        f.max("paged_out_max").alias("paged_out_max"),
        _last("length_max"),
        _last("octets_max"),
        f.min("consumers_full_min").alias("consumers_full_min"),
        f.max("head_age_ms_max").alias("head_age_ms_max"),
        _last("unacknowledged_age_ms_last"),
        f.sum("discarded").alias("discarded"),
        _last("deleted"),
        f.max("last_ts").alias("last_ts"),
        f.sum("samples").alias("samples"),
    ]
    return _by("hour", minutes, QUEUE_1H).agg(*_sums(QUEUE_TOTALS), *gauges)


def connection_minutes(samples: "DataFrame") -> "DataFrame":
    """Return a row for each connection and minute."""
    counted = counts(samples, CONNECTION_SAMPLE.key, CONNECTION_TOTALS)
    in_flow = f.when((f.col("last_blocked_by") == "flow") & (f.col("flow_ms") > 0), f.col("last_blocked_cause"))
    facts = [
        _last("user"),
        _last("vhost"),
        _last("client_name"),
        f.min("connected_ms").alias("connected_ms"),
        f.max("ts").alias("last_ts"),
        f.sum("recv").alias("recv_oct"),
        f.sum("send").alias("send_oct"),
        *_sums(("blocked_ms", "flow_ms")),
        f.max_by(in_flow, f.when(in_flow.isNotNull(), f.col("ts"))).alias("flow_cause"),
        f.count(f.lit(1)).alias("samples"),
    ]
    return _by("minute", counted, CONNECTION_1M).agg(*facts)


def node_minutes(samples: "DataFrame") -> "DataFrame":
    """Return a row for each node and minute."""
    counted = counts(samples, NODE_SAMPLE.key, NODE_TOTALS)
    gauges = [
        f.max("mem_used").alias("mem_used_max"),
        *(_last(name) for name in ("mem_limit", "mem_total", "watermark", "paging_ratio")),
        f.min("disk_free").alias("disk_free_min"),
        _last("disk_limit"),
        *(f.max(name).alias(f"{name}_max") for name in ("fds", "loop_lag_ms", "connections")),
        f.count(f.lit(1)).alias("samples"),
    ]
    return _by("minute", counted, NODE_1M).agg(*_sums(NODE_TOTALS), *gauges)


def _by(unit: str, frame: "DataFrame", table: Table) -> "GroupedData":
    """Group by the table's key and the begin of a minute or hour; `ts` stays what it was for the aggregates."""
    return frame.groupBy(*table.key, f.date_trunc(unit, "ts").alias("begin"))


def _finished(frame: "DataFrame", day: date) -> "DataFrame":
    return frame.withColumnRenamed("begin", "ts").withColumn("date", f.to_date("ts")).where(f.col("date") == f.lit(day))


def _last(name: str) -> "Column":
    return f.max_by(name, "ts").alias(name)


def _sums(names: Any) -> "list[Column]":
    return [f.sum(name).alias(name) for name in names]


MADE: Final = (
    (QUEUE_SAMPLE, QUEUE_1M, queue_minutes),
    (CONNECTION_SAMPLE, CONNECTION_1M, connection_minutes),
    (NODE_SAMPLE, NODE_1M, node_minutes),
    (QUEUE_1M, QUEUE_1H, queue_hours),
)


def run(run: "Run") -> dict[str, Any]:
    """Make each date of the window anew whose samples are newer than it."""
    figures = {}
    for source, table, make in MADE:
        made = 0
        for day in stale(run, source.name, table.name):
            run.say(f"rollup: {table.name} of {day}")
            days = [day] if source is QUEUE_1M else [day - timedelta(days=1), day]
            samples = run.warehouse.read(run.spark, source, days)
            samples = samples.where(
                f.col("ts") >= f.lit(day).cast("timestamp") - f.expr(f"INTERVAL {BEFORE_S} SECONDS")
            )
            run.warehouse.write(_finished(make(samples), day), table, [day])
            made += 1
        figures[f"{table.name} dates"] = made
    return figures


def stale(run: "Run", source: str, table: str) -> list[date]:
    """Return the dates of the window of which the source is newer than what was made of it."""
    warehouse = run.warehouse
    dates = [day for day in warehouse.dates(source) if day in run.window.dates]
    return [
        day
        for day in dates
        if not warehouse.stamp(table, day) or warehouse.stamp(table, day) < warehouse.stamp(source, day)
    ]
