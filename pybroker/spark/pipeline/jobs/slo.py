"""slo: do queues keep their targets, the age of the message at the head, and the time to consume?

The time to consume is what a message that arrives now has to wait: what is ahead of it, at the rate of deliveries in
its minute, and no less than the head's age. A row of a minute stands until the next row, six minutes at most. Targets
are in the file rules.toml of the warehouse.
"""

import fnmatch
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window, functions as f

from pybroker.humanize import lasting
from pybroker.spark.pipeline.alerts.rules import Target, load
from pybroker.spark.pipeline.jobs.people import foremost
from pybroker.spark.pipeline.schemas import QUEUE_1M
from pybroker.verdicts import meanings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, Row

    from pybroker.spark.pipeline.run import Run

QUEUE: Final = ("node", "vhost", "queue")
STANDS_S: Final = 360

COLUMNS: Final = (
    ("vhost", "virtual host"),
    ("queue", "queue"),
    ("verdict", ", ".join(word for word, _ in meanings("slo"))),
    ("head_age_s", "highest age of the oldest ready message"),
    ("head_age_target_s", "its target"),
    ("head_age_kept", "part of the time in which it was kept"),
    ("time_to_consume_s", "longest time to consume"),
    ("time_to_consume_target_s", "its target"),
    ("time_to_consume_kept", "part of the time in which it was kept"),
    ("share", "part of the time in which the targets are to be kept"),
    ("missed_s", "seconds in which one was not"),
    ("budget_left", "part of the time that may be missed and was not; negative beyond"),
    ("known_s", "seconds of which the ages are known"),
    ("node", "node"),
)
DETAILS: Final = frozenset({"share", "known_s", "node"})


def ages(minutes: "DataFrame", targets: "Sequence[Target]") -> "DataFrame":
    """Return a row for each queue: its ages, and for how long which target was kept; `minutes` are queue_1m."""
    order = Window.partitionBy(*QUEUE).orderBy("ts")
    begin = f.unix_timestamp("ts")
    stands = f.least(f.coalesce(f.unix_timestamp(f.lead("ts").over(order)) - begin, f.lit(60)), f.lit(STANDS_S))
    waits = f.col("ready_last") > 0
    # Nothing waits: nothing is old.
    head = f.when(f.col("ready_max") > 0, f.col("head_age_ms_max") / 1000).otherwise(f.lit(0.0))
    # A minute that has just begun is short.
    last = f.coalesce("last_ts", f.col("ts") + f.expr("INTERVAL 50 SECONDS"))
    span = f.least(f.coalesce(f.unix_timestamp(last) - f.unix_timestamp(f.lag(last).over(order)), f.lit(60)), f.lit(60))
    rate = f.when(f.col("deliver") > 0, f.col("ready_last") * span / f.col("deliver"))
    wait = f.when(waits, f.greatest(rate, f.when(f.col("head_age_ms_max").isNotNull(), head))).otherwise(f.lit(0.0))
    target = _matching(targets)
    known = minutes.where(~f.coalesce("deleted", f.lit(False))).select(
        *QUEUE, head.alias("head"), wait.alias("wait"), stands.alias("stands"), target.alias("target")
    )
    limits = {name: f.col(f"target.{name}_s") for name in ("head_age", "time_to_consume")}
    late = {
        "head_age": f.col("head") > limits["head_age"],
        "time_to_consume": f.col("wait") > limits["time_to_consume"],
    }
    is_late = f.coalesce(late["head_age"], f.lit(False)) | f.coalesce(late["time_to_consume"], f.lit(False))
    found = known.where(f.col("head").isNotNull() | f.col("wait").isNotNull()).groupBy(*QUEUE)
    return found.agg(
        f.max("head").alias("head_age_s"),
        f.max("wait").alias("time_to_consume_s"),
        f.first("target").alias("target"),
        f.sum("stands").alias("known_s"),
        f.sum(f.when(is_late, f.col("stands")).otherwise(0)).alias("missed_s"),
        *(f.sum(f.when(late[name], f.col("stands")).otherwise(0)).alias(f"{name}_late_s") for name in late),
    )


def _matching(targets: "Sequence[Target]") -> "Column":
    """Return the first target of a queue, as a struct; null if none is for it."""
    found = f.lit(None)
    for target in reversed(targets):
        mine = f.col("queue").rlike(_pattern(target.queue)) & f.col("vhost").rlike(_pattern(target.vhost))
        limits = f.struct(
            f.lit(target.head_age_s).cast("bigint").alias("head_age_s"),
            f.lit(target.time_to_consume_s).cast("bigint").alias("time_to_consume_s"),
            f.lit(target.share).alias("share"),
        )
        found = f.when(mine, limits).otherwise(found)
    kind = "struct<head_age_s:bigint,time_to_consume_s:bigint,share:double>"
    return found.cast(kind)


def _pattern(words: str) -> str:
    return "^" + fnmatch.translate(words)


def judge(row: "Row") -> dict[str, Any]:
    """Return what there is to say of a queue."""
    one = row.asDict()
    if row.target is None:
        return one | {"verdict": "no target", "missed_s": None}
    kept = {
        f"{name}_kept": round(1 - one[f"{name}_late_s"] / row.known_s, 4)
        for name in ("head_age", "time_to_consume")
        if row.target[f"{name}_s"] is not None
    }
    allowed = (1 - row.target.share) * row.known_s
    is_missed = any(share < row.target.share for share in kept.values())
    targets = {f"{name}_target_s": row.target[f"{name}_s"] for name in ("head_age", "time_to_consume")}
    left = round(1 - row.missed_s / allowed, 3)
    return (
        one
        | kept
        | targets
        | {"share": row.target.share, "budget_left": left, "verdict": "missed" if is_missed else "met"}
    )


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    rules = load(run.warehouse.folder)
    found = [judge(row) for row in ages(run.read(QUEUE_1M), rules.targets if rules else ()).collect()]
    rank = [word for word, _ in meanings("slo")]
    found.sort(
        key=lambda one: (rank.index(one["verdict"]), one.get("budget_left") or 0, *(one[name] for name in QUEUE))
    )
    rows = [[one.get(name) for name, _ in COLUMNS] for one in found]
    summary = [(word, sum(one["verdict"] == word for one in found)) for word in rank]
    told = foremost(advice(one) for one in found if one["verdict"] == "missed")
    return run.report("slo", COLUMNS, rows, details=DETAILS, summary=summary, advice=told)


def advice(one: dict[str, Any]) -> str:
    """Return how a queue missed its target, in a sentence."""
    missed = [
        f"{label} was above {lasting(1000 * one[f'{name}_target_s'])} for {1 - one[f'{name}_kept']:.1%} of the time, "
        f"at most {lasting(1000 * one[f'{name}_s'])}"
        for name, label in (("head_age", "the age of the head"), ("time_to_consume", "the time to consume"))
        if one.get(f"{name}_kept") is not None and one[f"{name}_kept"] < one["share"]
    ]
    return f"queue '{one['queue']}' in vhost '{one['vhost']}': {'; '.join(missed)}"
