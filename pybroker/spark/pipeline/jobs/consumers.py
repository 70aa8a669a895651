"""consumers: which queues have consumers that are missing, idle, or give everything back?"""

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window, functions as f

from pybroker.spark.pipeline.schemas import QUEUE_1M

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pybroker.spark.pipeline.run import Run

QUEUE: Final = ("node", "vhost", "queue")
# Everything is sampled every five minutes: a minute stands for the time to the next one, but no longer than this.
MINUTES_MAX: Final = 6
# Of what is handed out, more than this was handed out before: consumers fail again and again.
STORM: Final = 0.5
STORM_MESSAGES: Final = 100
MISSING_MINUTES: Final = 5

COLUMNS: Final = (
    ("vhost", "virtual host"),
    ("queue", "queue"),
    ("verdict", "missing, redelivery storm, idle, or fine"),
    ("missing_minutes", "minutes in which something waited and there was no consumer"),
    ("idle_minutes", "minutes in which something waited, there were consumers, and nothing was handed out"),
    ("delivered", "messages handed out"),
    ("redelivered", "of these, handed out before"),
    ("redelivered_share", "the second as a part of the first"),
    ("unacked_max", "most messages not acknowledged"),
    ("ready_max", "most messages that waited"),
    ("consumers", "consumers at the end"),
    ("node", "node"),
)


def consumers(minutes: "DataFrame") -> "DataFrame":
    """Return a row for each queue, the worst first."""
    order = Window.partitionBy(*QUEUE).orderBy("ts")
    until_next = (f.unix_timestamp(f.lead("ts").over(order)) - f.unix_timestamp("ts")) / 60
    lasted = f.least(f.coalesce(until_next, f.lit(1)), f.lit(MINUTES_MAX))
    timed = minutes.withColumn("minutes", lasted)
    waits = f.col("ready_last") > 0
    missing = waits & (f.col("consumers_last") == 0)
    idle = waits & (f.col("consumers_last") > 0) & (f.col("deliver") == 0)
    found = timed.groupBy(*QUEUE).agg(
        f.sum(f.when(missing, f.col("minutes")).otherwise(0)).cast("bigint").alias("missing_minutes"),
        f.sum(f.when(idle, f.col("minutes")).otherwise(0)).cast("bigint").alias("idle_minutes"),
        f.sum("deliver").alias("delivered"),
        f.sum("redeliver").alias("redelivered"),
        f.max("unacked_max").alias("unacked_max"),
        f.max("ready_max").alias("ready_max"),
        f.max_by("consumers_last", "ts").alias("consumers"),
    )
    share = f.when(f.col("delivered") > 0, f.round(f.col("redelivered") / f.col("delivered"), 3))
    found = found.withColumn("redelivered_share", share)
    storm = (f.col("redelivered_share") > STORM) & (f.col("redelivered") >= STORM_MESSAGES)
    verdict = (
        f.when(f.col("missing_minutes") >= MISSING_MINUTES, "missing")
        .when(storm, "redelivery storm")
        .when(f.col("idle_minutes") >= MISSING_MINUTES, "idle")
        .otherwise("fine")
    )
    rows = found.withColumn("verdict", verdict).select(*(name for name, _ in COLUMNS))
    worst = f.greatest("missing_minutes", "idle_minutes")
    return rows.orderBy(f.col("verdict") == "fine", worst.desc(), f.col("redelivered").desc(), *QUEUE)


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    found = consumers(run.read(QUEUE_1M)).collect()
    verdicts = ("missing", "redelivery storm", "idle")
    summary = [("queues", len(found)), *((each, sum(row.verdict == each for row in found)) for each in verdicts)]
    return run.report("consumers", COLUMNS, found, summary=summary)
