"""backlog: which queues grow, when are they full, and who drains them?

The trend is a line through the last six hours of what waited, minute by minute; a queue grows when that rises by a
hundred messages an hour or more and it has more at the end than at the begin.
"""

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as f

from pybroker.spark.pipeline.run import milliseconds
from pybroker.spark.pipeline.schemas import QUEUE_1M

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame, Row

    from pybroker.spark.pipeline.run import Run

TREND_S: Final = 6 * 3600
GROWS_PER_H: Final = 100
PLOTTED: Final = 10
QUEUE: Final = ("node", "vhost", "queue")

COLUMNS: Final = (
    ("vhost", "virtual host"),
    ("queue", "queue"),
    ("verdict", "grows, no consumer (something waits and nobody is there), drains, steady, or empty"),
    ("ready", "ready messages at the end"),
    ("peak", "most messages that waited"),
    ("peak_at", "when that was"),
    ("p99", "99th percentile over minutes"),
    ("slope_per_h", "growth in messages per hour, over the last six hours"),
    ("published", "messages taken in"),
    ("acked", "messages done with"),
    ("drain_ratio", "acknowledged per published message; below 1 the queue grows"),
    ("consumers", "consumers at the end"),
    ("length_max", "length limit in messages"),
    ("full_in_h", "hours until the limit is reached at this rate"),
    ("node", "node"),
)


def backlog(minutes: "DataFrame", until: "datetime") -> "DataFrame":
    """Return a row for each queue, those that grow first, then those with the highest peak."""
    hours = f.unix_timestamp("ts") / 3600
    recent = f.col("ts") >= f.lit(until) - f.expr(f"INTERVAL {TREND_S} SECONDS")
    now = f.when(recent, f.col("ready_last"))
    found = minutes.groupBy(*QUEUE).agg(
        f.max_by("ready_last", "ts").alias("ready"),
        f.max("ready_max").alias("peak"),
        f.min_by("ts", f.struct(-f.col("ready_max"), "ts")).alias("peak_at"),
        f.percentile_approx("ready_max", 0.99, 10_000).alias("p99"),
        f.coalesce(f.regr_slope(now, f.when(recent, hours)), f.lit(0.0)).alias("slope"),
        f.min_by(now, f.when(recent, f.col("ts"))).alias("ready_before"),
        f.sum("publish").alias("published"),
        f.sum("ack").alias("acked"),
        f.max_by("consumers_last", "ts").alias("consumers"),
        f.max_by("length_max", "ts").alias("length_max"),
    )
    slope = f.round("slope", 1)
    grows = (slope >= GROWS_PER_H) & (f.col("ready") > f.col("ready_before"))
    verdict = (
        f.when(grows, "grows")
        .when((f.col("ready") > 0) & (f.col("consumers") == 0), "no consumer")
        .when(f.col("ready") == 0, "empty")
        .when(slope <= -GROWS_PER_H, "drains")
        .otherwise("steady")
    )
    left = f.col("length_max") - f.col("ready")
    rows = found.select(
        "vhost",
        "queue",
        verdict.alias("verdict"),
        "ready",
        "peak",
        "peak_at",
        "p99",
        slope.alias("slope_per_h"),
        "published",
        "acked",
        f.when(f.col("published") > 0, f.round(f.col("acked") / f.col("published"), 3)).alias("drain_ratio"),
        "consumers",
        "length_max",
        f.when(grows & (left >= 0), f.round(left / slope, 1)).alias("full_in_h"),
        "node",
    )
    return rows.orderBy(f.col("verdict") != "grows", f.col("peak").desc(), "node", "vhost", "queue")


def series(minutes: "DataFrame", queues: "DataFrame", bucket_s: int) -> "DataFrame":
    """Return what waited in these queues, a point for each bucket of time."""
    begin = f.timestamp_seconds(f.floor(f.unix_timestamp("ts") / bucket_s) * bucket_s)
    points = minutes.join(f.broadcast(queues.select(*QUEUE)), [*QUEUE])
    return points.groupBy(*QUEUE, begin.alias("at")).agg(f.max("ready_max").alias("ready")).orderBy(*QUEUE, "at")


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    minutes = run.read(QUEUE_1M)
    found = backlog(minutes, run.window.until).collect()
    plots = _plots(run, minutes, found) if found else []
    growing = [row for row in found if row.verdict == "grows"]
    summary = [
        ("queues", len(found)),
        ("that grow", len(growing)),
        ("without a consumer, and something waits", sum(row.verdict == "no consumer" for row in found)),
        ("messages that wait", sum(row.ready for row in found)),
    ]
    return run.report("backlog", COLUMNS, found, summary=summary, plots=plots, advice=[*map(_advice, growing[:5])])


def _plots(run: "Run", minutes: "DataFrame", found: "list[Row]") -> list[dict[str, Any]]:
    highest = sorted(found, key=lambda row: (-row.peak, row.node, row.vhost, row.queue))[:PLOTTED]
    shown = run.spark.createDataFrame(
        [tuple(row[name] for name in QUEUE) for row in highest], ", ".join(f"{name} STRING" for name in QUEUE)
    )
    points: dict[tuple[str, ...], list[list[int]]] = {tuple(row[name] for name in QUEUE): [] for row in highest}
    for row in series(minutes, shown, run.window.bucket_s).collect():
        points[tuple(row[name] for name in QUEUE)].append([milliseconds(row["at"]), row.ready])
    lines = [
        {"name": queue if vhost == "/" else f"{vhost} {queue}", "points": line}
        for (_, vhost, queue), line in points.items()
    ]
    return [
        {
            "kind": "lines",
            "title": "Messages that wait, in the queues with the highest peaks",
            "unit": "",
            "series": lines,
        }
    ]


def _advice(row: "Row") -> str:
    name = f"queue '{row.queue}' in vhost '{row.vhost}'"
    full = f", and has its {row.length_max} in {row.full_in_h:g} hours" if row.full_in_h is not None else ""
    ratio = f"{row.drain_ratio:g}" if row.drain_ratio is not None else "none"
    return (
        f"{name} grows by {row.slope_per_h:g} messages an hour{full}: of each message published {ratio} is "
        f"acknowledged by {row.consumers} consumer{'s' * (row.consumers != 1)}"
    )
