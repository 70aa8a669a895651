"""blocked: who was held back, for how long, and why?

Events have the effects of alarms, to the millisecond; the connections' totals have those of flow control. A block that
has no end lasts until its connection was seen last.
"""

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as f

from pybroker.spark.pipeline.jobs.people import foremost
from pybroker.spark.pipeline.run import milliseconds
from pybroker.spark.pipeline.schemas import ALARM_EVENT, BLOCK_EVENT, CONNECTION_1M, NODE_1M

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame, Row

    from pybroker.spark.pipeline.run import Run

CONNECTION: Final = ("node", "conn_id")
PLOTTED: Final = 20
BANDS_MAX: Final = 500

COLUMNS: Final = (
    ("conn_id", "connection"),
    ("user", "user"),
    ("client_name", "connection_name of the client"),
    ("vhost", "virtual host"),
    ("held_ms", "total milliseconds blocked or throttled"),
    ("memory_ms", "of these, because of a memory alarm"),
    ("disk_ms", "of these, because of a disk alarm"),
    ("flow_ms", "because of flow control"),
    ("flow_cause", "last cause of flow control"),
    ("share", "share of the time it was connected"),
    ("blocks", "number of times alarms blocked it"),
    ("longest_ms", "the longest of these"),
    ("first_at", "when the first began"),
    ("last_at", "when the last began"),
    ("node", "node"),
)

# People see the others first.
DETAILS: Final = frozenset({"conn_id", "vhost", "memory_ms", "disk_ms", "flow_ms", "longest_ms", "first_at", "node"})


def blocks(events: "DataFrame", last_seen: "DataFrame", until: "datetime") -> "DataFrame":
    """Return begin and end of each block; one without an end lasted to its connection's `last_ts`, else `until`."""
    one = events.groupBy(*CONNECTION, "began_ms").agg(
        *(f.first(name, ignorenulls=True).alias(name) for name in ("user", "client_name", "vhost", "reason")),
        f.max("duration_ms").alias("duration_ms"),
    )
    # Of nearly all connections nothing is asked.
    without_end = f.broadcast(one.where(f.col("duration_ms").isNull()).select(*CONNECTION))
    asked = last_seen.join(without_end, [*CONNECTION], "left_semi")
    seen = asked.groupBy(*CONNECTION).agg(f.max("last_ts").alias("last_ts"))
    end_ms = f.unix_millis(f.coalesce(f.col("last_ts"), f.lit(until)))
    lasted = f.coalesce(f.col("duration_ms"), f.greatest(end_ms - f.col("began_ms"), f.lit(0)))
    return (
        one.join(seen, [*CONNECTION], "left")
        .withColumn("duration_ms", lasted)
        .withColumn("began", f.timestamp_millis("began_ms"))
        .withColumn("ended", f.timestamp_millis(f.col("began_ms") + lasted))
        .drop("last_ts")
    )


def blocked(found: "DataFrame", minutes: "DataFrame") -> "DataFrame":
    """Return a row for each connection that was held back, the longest first."""

    def because(what: str) -> Any:
        return f.sum(f.when(f.contains("reason", f.lit(what)), f.col("duration_ms")).otherwise(0))

    held = found.groupBy(*CONNECTION).agg(
        *(f.first(name, ignorenulls=True).alias(f"block_{name}") for name in ("user", "client_name", "vhost")),
        f.sum("duration_ms").alias("alarm_ms"),
        because("memory").alias("memory_ms"),
        because("disk").alias("disk_ms"),
        f.count(f.lit(1)).alias("blocks"),
        f.max("duration_ms").alias("longest_ms"),
        f.min("began").alias("first_at"),
        f.max("began").alias("last_at"),
    )
    # Nearly all connections were never held back: they are left out before anything is added up.
    throttled = minutes.where((f.col("flow_ms") > 0) | f.col("flow_cause").isNotNull())
    flow = throttled.groupBy(*CONNECTION).agg(
        f.sum("flow_ms").alias("flow_ms"),
        f.max_by("flow_cause", f.when(f.col("flow_cause").isNotNull(), f.col("ts"))).alias("flow_cause"),
    )
    asked = held.select(*CONNECTION).union(flow.select(*CONNECTION)).distinct()
    theirs = minutes.join(f.broadcast(asked), [*CONNECTION], "left_semi")
    known = theirs.groupBy(*CONNECTION).agg(
        *(f.max_by(name, "ts").alias(name) for name in ("user", "client_name", "vhost")),
        (f.unix_millis(f.max("last_ts")) - f.min("connected_ms")).alias("lifetime_ms"),
    )
    zero: dict[str, bool | float | str] = dict.fromkeys(
        ("alarm_ms", "memory_ms", "disk_ms", "blocks", "longest_ms", "flow_ms"), 0
    )
    both = held.join(flow, [*CONNECTION], "full").join(known, [*CONNECTION], "left").na.fill(zero)
    total = f.col("alarm_ms") + f.col("flow_ms")
    life = f.greatest(f.col("lifetime_ms"), total)
    rows = both.where(total > 0).select(
        "conn_id",
        *(f.coalesce(name, f"block_{name}").alias(name) for name in ("user", "client_name", "vhost")),
        total.alias("held_ms"),
        *("memory_ms", "disk_ms", "flow_ms", "flow_cause"),
        f.round(total / life, 4).alias("share"),
        *("blocks", "longest_ms", "first_at", "last_at", "node"),
    )
    return rows.orderBy(f.col("held_ms").desc(), "node", "conn_id")


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    minutes = run.read(CONNECTION_1M)
    found = blocks(run.read(BLOCK_EVENT), minutes, _end(run)).cache()
    rows = blocked(found, minutes).collect()
    longest = found.orderBy(f.col("duration_ms").desc(), *CONNECTION, "began_ms").limit(BANDS_MAX).collect()
    alarms = run.read(ALARM_EVENT).where(f.col("action") == "set").count()
    found.unpersist()
    summary = [
        ("connections held back", len(rows)),
        ("seconds of alarms, over all of them", round(sum(row.held_ms - row.flow_ms for row in rows) / 1000, 1)),
        ("seconds of flow control", round(sum(row.flow_ms for row in rows) / 1000, 1)),
        ("alarms", alarms),
    ]
    by_user = {row.user or "": 0 for row in rows}
    for row in rows:
        by_user[row.user or ""] += row.held_ms
    worst = sorted(by_user.items(), key=lambda item: (-item[1], item[0]))
    advice = foremost(
        f"connections of user '{user}' were blocked or throttled for {held_ms / 1000:.1f} s in total"
        for user, held_ms in worst
    )
    plots = _plots(rows, longest)
    return run.report("blocked", COLUMNS, rows, details=DETAILS, summary=summary, plots=plots, advice=advice)


def _end(run: "Run") -> "datetime":
    """Return when the newest sample of any node was taken: after that nobody knows."""
    last = run.read(NODE_1M).agg((f.max("ts") + f.expr("INTERVAL 60 SECONDS")).alias("last")).collect()[0]["last"]
    return run.window.until if last is None else min(run.window.until, last.astimezone(run.window.until.tzinfo))


def _plots(rows: "list[Row]", longest: "list[Row]") -> list[dict[str, Any]]:
    names = {(row.node, row.conn_id): row.client_name or row.conn_id for row in rows[:PLOTTED]}
    if not longest:
        return []
    bars = [
        {"name": name, "bars": [_bar(each) for each in longest if (each.node, each.conn_id) == key]}
        for key, name in names.items()
    ]
    return [{"kind": "bars", "title": "Connections blocked by alarms", "rows": [row for row in bars if row["bars"]]}]


def _bar(row: "Row") -> list[Any]:
    return [milliseconds(row.began), milliseconds(row.ended), row.reason]
