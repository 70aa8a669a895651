"""alarms: when was what short, how badly, and which queues grew before?

Set and cleared are paired by node and resource. An alarm that the node took with it when it ended lasts until that was
seen last; one that is still set has no end.
"""

from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window, functions as f

from pybroker.spark.pipeline.columns.minutes import Minutes, foremost
from pybroker.spark.pipeline.jobs import blocked, people
from pybroker.spark.pipeline.run import iso, milliseconds, utc
from pybroker.spark.pipeline.schemas import ALARM_EVENT, BLOCK_EVENT, CONNECTION_1M, NODE_1M, NODE_SAMPLE, QUEUE_1M
from pybroker.verdicts import meanings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, Row

    from pybroker.spark.pipeline.run import Run

ALARM: Final = ("node", "resource", "alarm_node", "set_at")
# In which a queue may have grown so that memory became short.
BEFORE_S: Final = 600
GROWERS: Final = 3
# Less is no cause.
GROWN_MIN: Final = 1 << 20
# Looked at closely; of more only the times are told.
ALARMS_MAX: Final = 1_000
MIB: Final = 1 << 20

COLUMNS: Final = (
    ("resource", "resource: memory or disk"),
    ("set_at", "when the alarm was set"),
    ("cleared_at", "when it was cleared; empty while it is set"),
    ("duration_s", "seconds in between"),
    ("ended_by", ", ".join(word for word, _ in meanings("alarms"))),
    ("used", "memory used, or disk space free, when it was set"),
    ("limit", "what that was compared with"),
    ("worst", "most memory used, or least disk space free, while it was set"),
    ("blocked_connections", "connections that it blocked"),
    ("blocked_s", "total seconds for which it blocked them"),
    ("growers", "queues that grew most in the ten minutes before, and by how much"),
    ("node", "node"),
)


def pair(events: "DataFrame", samples: "DataFrame") -> "DataFrame":
    """Return begin and end of each alarm; `samples` of the nodes say when a start of one was seen last."""
    order = Window.partitionBy("node", "resource", "alarm_node").orderBy("ts", f.col("action") == "set")
    seen = samples.groupBy("node", "epoch").agg(f.max("ts").alias("seen_at"))
    newest = Window.partitionBy("node")
    seen = seen.withColumn("newest", f.max("epoch").over(newest))
    following = events.withColumn("next_action", f.lead("action").over(order))
    following = following.withColumn("next_ts", f.lead("ts").over(order)).withColumn(
        "next_epoch", f.lead("epoch").over(order)
    )
    known = following.where(f.col("action") == "set").join(f.broadcast(seen), ["node", "epoch"], "left")
    cleared = (f.col("next_action") == "clear") & (f.col("next_epoch") == f.col("epoch"))
    restarted = f.col("newest") > f.col("epoch")
    return known.select(
        "node",
        "epoch",
        "resource",
        "alarm_node",
        f.col("ts").alias("set_at"),
        f.when(cleared, f.col("next_ts")).when(restarted, f.greatest("seen_at", "ts")).alias("cleared_at"),
        f.when(cleared, "clear").when(restarted, "restart").otherwise("still set").alias("ended_by"),
        "used",
        "limit",
    )


def worst(alarms: "DataFrame", samples: "DataFrame") -> "DataFrame":
    """Return how far each went: most memory used, least disk space free."""
    a, s = alarms.alias("a"), samples.alias("s")
    during = (f.col("s.ts") >= f.col("a.set_at")) & (f.col("s.ts") <= f.coalesce("a.cleared_at", "s.ts"))
    joined = f.broadcast(a).join(s, (f.col("a.node") == f.col("s.node")) & during)
    mem, disk = f.max("s.mem_used"), f.min("s.disk_free")
    return joined.groupBy(*(f.col(f"a.{name}").alias(name) for name in ALARM)).agg(
        f.when(f.col("resource") == "memory", mem).when(f.col("resource") == "disk", disk).alias("worst")
    )


def held(alarms: "DataFrame", found: "DataFrame") -> "DataFrame":
    """Return how many connections each held, and for how many seconds; `found` are blocks."""
    a, b = alarms.alias("a"), found.alias("b")
    begin = f.greatest("a.set_at", "b.began")
    end = f.least(f.coalesce("a.cleared_at", "b.ended"), f.col("b.ended"))
    # An alarm is set a moment before it holds anybody, and lets them go one after the other.
    overlap = (f.col("a.node") == f.col("b.node")) & f.contains("b.reason", "a.resource") & (begin <= end)
    joined = f.broadcast(a).join(b, overlap)
    return joined.groupBy(*(f.col(f"a.{name}").alias(name) for name in ALARM)).agg(
        f.count_distinct("b.conn_id").alias("blocked_connections"),
        f.round(f.sum(f.unix_millis(end) - f.unix_millis(begin)) / 1000, 3).alias("blocked_s"),
    )


def growers(alarms: "Sequence[Row]", minutes: Minutes) -> dict[tuple[Any, ...], str]:
    """Return for each alarm the queues whose bodies grew most in the minutes before."""
    parts: dict[tuple[Any, ...], list[pa.Table]] = {}
    for rows in minutes:
        for alarm in alarms:
            set_s = utc(alarm.set_at).timestamp()
            is_before = pc.and_(pc.less_equal(rows["at"], set_s), pc.greater_equal(rows["at"], set_s - BEFORE_S))
            found = rows.filter(is_before)
            if found.num_rows:
                parts.setdefault(tuple(alarm[name] for name in ALARM), []).append(found)
    told: dict[tuple[Any, ...], str] = {}
    for key, found in parts.items():
        together = pa.concat_tables(found)
        first, last = (foremost(together, "at", how).sort_by("n") for how in ("min", "max"))
        grown = pc.subtract(last["bytes_last"], first["bytes_first"]).to_pylist()
        queues = [(octets, *minutes.things[n]) for n, octets in zip(last["n"].to_pylist(), grown, strict=True)]
        top = sorted(
            (-octets, vhost, queue)
            for octets, node, vhost, queue in queues
            if octets is not None and octets >= GROWN_MIN and node == key[0]
        )
        named = [
            f"{'' if vhost == '/' else f'{vhost} '}{queue} +{-octets / MIB:.1f} MiB"
            for octets, vhost, queue in top[:GROWERS]
        ]
        told[key] = ", ".join(named)
    return told


def _dates(alarms: "Sequence[Row]") -> set[date]:
    """Return the dates of the minutes before these alarms."""
    times = [utc(alarm.set_at) for alarm in alarms]
    return {when.date() for time in times for when in (time, time - timedelta(seconds=BEFORE_S))}


class Told(NamedTuple):
    """An alarm, as the report tells of it."""

    resource: str
    set_at: datetime
    cleared_at: datetime | None
    duration_s: float | None
    ended_by: str
    used: int
    limit: int
    worst: int
    blocked_connections: int
    blocked_s: float
    growers: str
    node: str


def explain(
    paired: "DataFrame", samples: "DataFrame", found: "DataFrame", minutes: "Callable[[set[date]], Minutes]"
) -> list[Told]:
    """Return what there is to say of each alarm, in their order; they are few, so it is put together here.

    `minutes` returns those of queues on some dates.
    """
    rows = paired.orderBy("set_at", "node", "resource").limit(ALARMS_MAX).collect()
    if not rows:
        return []
    spark = paired.sparkSession
    few = spark.createDataFrame(rows, paired.schema)
    far, holding = (
        {tuple(row[name] for name in ALARM): row for row in frame.collect()}
        for frame in (worst(few, samples), held(few, found))
    )
    grown = growers(rows, minutes(_dates(rows)))
    keys = [tuple(row[name] for name in ALARM) for row in rows]
    return [_tell(row, far.get(key), holding.get(key), grown.get(key, "")) for row, key in zip(rows, keys, strict=True)]


def _tell(row: "Row", far: "Row | None", holding: "Row | None", grown: str) -> Told:
    extreme = min if row.resource == "disk" else max
    reached = row.used if far is None or far.worst is None else extreme(row.used, far.worst)
    lasted = None if row.cleared_at is None else round((row.cleared_at - row.set_at).total_seconds(), 3)
    return Told(
        row.resource,
        row.set_at,
        row.cleared_at,
        lasted,
        row.ended_by,
        row.used,
        row.limit,
        reached,
        0 if holding is None else holding.blocked_connections,
        0.0 if holding is None else holding.blocked_s,
        grown,
        row.node,
    )


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    samples, minutes = run.read(NODE_SAMPLE), run.read(CONNECTION_1M)
    found = blocked.blocks(run.read(BLOCK_EVENT), minutes, run.window.until)
    rows = explain(pair(run.read(ALARM_EVENT), samples), samples, found, partial(_minutes, run))
    ended = [row.duration_s for row in rows if row.ended_by == "clear" and row.duration_s is not None]
    summary = [
        ("alarms", len(rows)),
        ("still set", sum(row.ended_by == "still set" for row in rows)),
        ("seconds to clear, on average", round(sum(ended) / len(ended), 1) if ended else None),
        ("seconds of the longest", max((row.duration_s for row in rows if row.duration_s is not None), default=None)),
    ]
    plots = [plot for plot in (_plot(run, rows, resource) for resource in ("memory", "disk")) if plot]
    return run.report(
        "alarms", COLUMNS, rows, summary=summary, plots=plots, advice=people.foremost(map(_advice, reversed(rows)))
    )


def _minutes(run: "Run", dates: set[date]) -> Minutes:
    return run.minutes(QUEUE_1M, ("bytes_first", "bytes_last"), dates)


def _plot(run: "Run", rows: list[Told], resource: str) -> dict[str, Any] | None:
    """Return memory or disk over time, with its limit and the alarms."""
    column, limit = ("mem_used_max", "mem_limit") if resource == "memory" else ("disk_free_min", "disk_limit")
    bucket_s = run.bucket_s
    begin = f.timestamp_seconds(f.floor(f.unix_timestamp("ts") / bucket_s) * bucket_s)
    gauge = f.max(column) if resource == "memory" else f.min(column)
    points = (
        run.read(NODE_1M)
        .where(f.col(column).isNotNull())
        .groupBy("node", begin.alias("at"))
        .agg(gauge.alias("value"), f.max(limit).alias("limit"))
        .orderBy("node", "at")
        .collect()
    )
    if not points:
        return None
    lines: dict[str, list[list[int]]] = {}
    for row in points:
        lines.setdefault(row.node, []).append([milliseconds(row["at"]), row.value])
        lines.setdefault(f"limit of {row.node}", []).append([milliseconds(row["at"]), row.limit])
    end = milliseconds(run.window.until)
    bands = [
        [milliseconds(row.set_at), milliseconds(row.cleared_at) if row.cleared_at else end]
        for row in rows
        if row.resource == resource
    ]
    title = "Memory used" if resource == "memory" else "Disk space free"
    series = [{"name": name, "points": line, "dashed": name.startswith("limit of ")} for name, line in lines.items()]
    return {"kind": "lines", "title": title, "unit": "octets", "series": series, "bands": bands}


def _advice(row: Told) -> str:
    lasted = f"{row.duration_s:g} s" if row.duration_s is not None else "still set"
    what = f"{row.worst / MIB:.1f} MiB of {row.limit / MIB:.1f} MiB"
    if row.resource == "disk":
        what = f"{row.worst / MIB:.1f} MiB free, {row.limit / MIB:.1f} MiB required"
    grew = f"; before it grew: {row.growers}" if row.growers else ""
    held_by = f"{row.blocked_connections} connection{'s' * (row.blocked_connections != 1)} held"
    return f"{row.resource} alarm of {iso(row.set_at)} ({lasted}): {what}, {held_by}{grew}"
