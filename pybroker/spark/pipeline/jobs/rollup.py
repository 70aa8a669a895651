"""rollup: samples become minutes and hours, totals become counts.

A count is the difference of two totals of one thing in one start of the node; of a thing's first row it is the total,
which began at 0. So a restart, and a queue that is deleted and declared again, neither lose nor invent a message.
"""

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window, functions as f
from pyspark.sql.types import StructType

from pybroker.spark.pipeline import increments
from pybroker.spark.pipeline.schemas import (
    CONNECTION_1M,
    CONNECTION_SAMPLE,
    DATE,
    NODE_1M,
    NODE_SAMPLE,
    QUEUE_1H,
    QUEUE_1M,
    QUEUE_SAMPLE,
    RAW,
    Table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, GroupedData

    from pybroker.spark.pipeline.run import Run

# Everything is sampled at least every five minutes, so a row before midnight is not older than that by much.
BEFORE_S: Final = 600
DAY_S: Final = 86_400

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
NO_TOTALS: Final[dict[str, str]] = {}


def counts(samples: "DataFrame", key: tuple[str, ...], totals: "Mapping[str, str]") -> "DataFrame":
    """Return samples with a count for each total: how much it grew over all rows before.

    A total never falls, so where the clock was set back, and rows of two hours mix, the highest one before counts. Rows
    before the last minutes of the day before do not: a date is the same whether it is made alone or with others.
    """
    samples = with_columns(samples, *totals.values())
    order = Window.partitionBy(*key).orderBy("ts")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    is_near = f.lag("ts").over(order) >= f.date_trunc("day", "ts") - f.expr(f"INTERVAL {BEFORE_S} SECONDS")
    counts = {}
    for name, total in totals.items():
        grown = f.when(is_near, f.col(total) - f.max(total).over(before))
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


def _finished(frame: "DataFrame", days: "Sequence[date]") -> "DataFrame":
    rows = frame.withColumnRenamed("begin", "ts").withColumn("date", f.to_date("ts"))
    return rows.where(f.col("date").isin([*days]))


def _last(name: str) -> "Column":
    return f.max_by(name, "ts").alias(name)


def _sums(names: Any) -> "list[Column]":
    return [f.sum(name).alias(name) for name in names]


# Of so many rows the new part of a date is computed alone; with more, whole dates are, all in one pass.
PART_ROWS_MAX: Final = 100_000

MADE: Final = (
    (QUEUE_SAMPLE, QUEUE_1M, queue_minutes, QUEUE_TOTALS),
    (CONNECTION_SAMPLE, CONNECTION_1M, connection_minutes, CONNECTION_TOTALS),
    (NODE_SAMPLE, NODE_1M, node_minutes, NODE_TOTALS),
    (QUEUE_1M, QUEUE_1H, queue_hours, NO_TOTALS),
)


def run(run: "Run") -> dict[str, Any]:
    """Make what is older than the samples that it is made of; return how many dates of each table that concerned."""
    figures = {}
    for source, table, make, totals in MADE:
        days = stale(run, source.name, table.name)
        if days:
            run.say(f"rollup: {table.name}: {len(days)} date{'s' * (len(days) != 1)}")
            parts = {day: increments.parts(run.warehouse.partition(source.name, day)) for day in days}
            begins = {day: _begin(run, source, table, day) for day in days}
            count = sum(part.rows for day in days for part in parts[day] if part.has(begins[day], None))
            if count <= PART_ROWS_MAX:
                for day, begin in begins.items():
                    known = [name for name in totals.values() if name in source.struct().names]
                    _renew(run, source, table, make, known, day, begin)
            else:
                _make(run, source, table, make, days)
        figures[f"{table.name} dates"] = len(days)
    return figures


def _begin(run: "Run", source: Table, table: Table, day: date) -> datetime:
    """Return the first minute, or hour, of a date that is to be made anew."""
    since = run.warehouse.since(source.name, day).replace(second=0, microsecond=0)
    return since.replace(minute=0) if table is QUEUE_1H else since


def _renew(
    run: "Run",
    source: Table,
    table: Table,
    make: "Callable[[DataFrame], DataFrame]",
    totals: "Sequence[str]",
    day: date,
    begin: datetime,
) -> None:
    """Make a date from a moment on; what it has before that stays as it is."""
    warehouse, schema = run.warehouse, increments.schema(source)
    here = increments.parts(warehouse.partition(source.name, day))
    rows = [increments.read(here, schema, since=begin)]
    if totals:
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        before = increments.parts(warehouse.partition(source.name, day - timedelta(days=1)))
        needed = pa.schema([field for field in schema if field.name in {*source.key, "ts", *totals}])
        known = [
            increments.read(before, needed, since=midnight - timedelta(seconds=BEFORE_S)),
            increments.read(here, needed, until=begin),
        ]
        rows.append(increments.last(pa.concat_tables(known), source.key, totals))
    samples = pa.concat_tables(rows, promote_options="default").select(schema.names)
    struct = StructType([field for field in source.struct() if field.name != DATE.name])
    # One task: where rows need not move, there is nothing to wait for.
    frame = run.spark.createDataFrame(samples, struct).coalesce(1)
    made = make(frame).withColumnRenamed("begin", "ts").where(f.col("ts") >= f.lit(begin))
    found = made.select(increments.schema(table).names).toArrow().cast(increments.schema(table))
    newest = pc.max(found["ts"]).as_py() or begin
    warehouse.renew(table, day, found, begin, newest)


def _make(
    run: "Run", source: Table, table: Table, make: "Callable[[DataFrame], DataFrame]", days: "Sequence[date]"
) -> None:
    """Make whole dates, all in one pass."""
    around = {day - timedelta(days=n) for day in days for n in (0, 1)} if source in RAW.values() else {*days}
    near = f.col("ts") >= f.date_trunc("day", "ts") + f.expr(f"INTERVAL {DAY_S - BEFORE_S} SECONDS")
    samples = run.warehouse.read(run.spark, source, around).where(f.col("date").isin([*days]) | near)
    # By the key of what is made, which is part of both keys: neither the counts nor the groups move rows once more.
    made = _finished(make(samples.repartition(*table.key)), days)
    run.warehouse.write(made, table, days, is_partitioned=True)


def stale(run: "Run", source: str, table: str) -> list[date]:
    """Return the dates of which the source is newer than what was made of it."""
    known = run.warehouse.state().get("made", {})
    made, newest = known.get(table, {}), known.get(source, {})
    return [day for day in run.warehouse.dates(source) if made.get(str(day), -1) < newest.get(str(day), 0)]
