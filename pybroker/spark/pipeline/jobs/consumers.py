"""consumers: which queues have consumers that are missing, stuck, idle, or give everything back?

A row of a minute tells how that minute ended; until the next row nothing happened. So each row is two spans: its own
minute, and the silence behind it. Spans of one state that follow one another are one stretch; five minutes
are a finding.
"""

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window, functions as f

from pybroker.humanize import counted
from pybroker.spark.pipeline.jobs.backlog import GONE_S, LOST
from pybroker.spark.pipeline.jobs.people import foremost
from pybroker.spark.pipeline.schemas import NODE_1M, QUEUE_1M, TRACE_EVENT
from pybroker.verdicts import meanings, words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from pybroker.spark.pipeline.run import Run

QUEUE: Final = ("node", "vhost", "queue")
MINUTE_S: Final = 60
# Everything is sampled every five minutes: behind a longer silence nothing is known.
SILENCE_S: Final = 360
STATES: Final = ("missing", "stuck", "idle")
STRETCH_MINUTES: Final = 5
# One of several consumers is stuck if it has a full prefetch, and what it got is so old.
STUCK_MS: Final = 300_000
# Of what is handed out, more than this was handed out before; of what is settled, more than this was rejected.
STORM: Final = 0.5
REJECTS: Final = 0.5
MESSAGES_MIN: Final = 100
BAD: Final = words("consumers")

COLUMNS: Final = (
    ("vhost", "virtual host"),
    ("queue", "queue"),
    ("verdict", ", ".join(word for word, _ in meanings("consumers"))),
    ("ongoing", "whether consumers were missing, stuck or idle at the end"),
    ("missing_minutes", "minutes in which messages waited and there was no consumer"),
    ("stuck_minutes", "minutes in which consumers held messages while nothing was delivered or settled"),
    ("idle_minutes", "minutes in which messages waited, consumers held none, and nothing was delivered"),
    ("longest_minutes", "the longest stretch of these"),
    ("longest_from", "when that began"),
    ("delivered", "messages delivered"),
    ("redelivered", "of these, delivered before"),
    ("redelivered_share", "the second as a part of the first"),
    ("rejected", "messages rejected, or delivered too often"),
    ("rejected_share", "these as a part of what was settled"),
    ("unacked_max", "most messages not acknowledged"),
    ("ready_max", "most messages that waited"),
    ("consumers", "consumers at the end"),
    ("node", "node"),
)

# People see the others first.
DETAILS: Final = frozenset(
    {"idle_minutes", "longest_from", "delivered", "redelivered", "rejected", "unacked_max", "ready_max", "node"}
)


def spans(minutes: "DataFrame", nodes: "DataFrame") -> "DataFrame":
    """Return two spans for each row, `begin` and `end` in seconds since 1970, with a state: one of STATES, or none."""
    order = Window.partitionBy(*QUEUE).orderBy("ts")
    last = nodes.groupBy("node").agg((f.unix_timestamp(f.max("ts")) + MINUTE_S).alias("node_end"))
    begin = f.unix_timestamp("ts")
    following = f.coalesce(f.unix_timestamp(f.lead("ts").over(order)), "node_end", begin + MINUTE_S)
    known = minutes.join(f.broadcast(last), "node", "left").withColumns({"begin": begin, "following": following})
    silent = f.least("following", f.col("begin") + SILENCE_S)
    own = f.struct(
        "begin",
        (f.col("begin") + MINUTE_S).alias("end"),
        _state(f.col("deliver") == 0, f.col("ack") + _zero("rejected") == 0).alias("state"),
    )
    behind = f.struct(
        (f.col("begin") + MINUTE_S).alias("begin"), silent.alias("end"), _state(f.lit(True), f.lit(True)).alias("state")
    )
    both = f.explode(f.array(own, behind)).alias("span")
    found = known.where(~f.coalesce("deleted", f.lit(False))).select(*QUEUE, "node_end", both)
    return found.select(*QUEUE, "node_end", "span.*").where(f.col("end") > f.col("begin"))


def _state(none_delivered: Any, none_settled: Any) -> Any:
    waits, some = f.col("ready_last") > 0, f.col("consumers_last") > 0
    held = f.coalesce("unacked_last", "unacked_max", f.lit(0))
    # One message each may take its time; more than one each, and nothing goes on.
    is_full = (_zero("consumers_full_min") > 0) & (held > f.col("consumers_last"))
    still = none_delivered & none_settled & (held > 0) & (waits | is_full)
    one_of_several = is_full & (_zero("unacknowledged_age_ms_last") >= STUCK_MS)
    return (
        f.when(waits & ~some, "missing")
        .when(some & (still | one_of_several), "stuck")
        .when(waits & some & none_delivered & (held == 0), "idle")
        .otherwise("")
    )


def _zero(name: str) -> Any:
    return f.coalesce(name, f.lit(0))


def stretches(found: "DataFrame") -> "DataFrame":
    """Return for each queue the minutes in each state, and its longest stretch in one of them."""
    # Between stretches there is time without a state: nearly all spans have none, and need not be sorted.
    found = found.where(f.col("state") != "")
    order = Window.partitionBy(*QUEUE).orderBy("begin", "end")
    is_new = f.coalesce(
        (f.col("state") != f.lag("state").over(order)) | (f.col("begin") != f.lag("end").over(order)), f.lit(True)
    )
    numbered = found.withColumn("new", is_new.cast("int")).withColumn("number", f.sum("new").over(order))
    one = numbered.groupBy(*QUEUE, "node_end", "number", "state").agg(
        f.min("begin").alias("begin"), f.max("end").alias("end")
    )
    one = one.withColumn("minutes", (f.col("end") - f.col("begin")) / MINUTE_S)
    return one.groupBy(*QUEUE).agg(
        *(
            f.sum(f.when(f.col("state") == name, f.col("minutes")).otherwise(0)).alias(f"{name}_minutes")
            for name in STATES
        ),
        f.max(f.struct("minutes", "begin", "state")).alias("longest"),
        f.coalesce(f.max(f.col("end") >= f.col("node_end")), f.lit(False)).alias("ongoing"),
    )


def consumers(minutes: "DataFrame", losses: "DataFrame", nodes: "DataFrame") -> "DataFrame":
    """Return a row for each queue, the worst first; `losses` are trace_event, `nodes` node_1m."""
    found = minutes.groupBy(*QUEUE).agg(
        *(f.sum(name).alias(name) for name in ("publish", "ack", "expired")),
        f.sum("deliver").alias("delivered"),
        f.sum("redeliver").alias("redelivered"),
        f.sum(_zero("rejected") + _zero("delivery_limited")).alias("counted"),
        f.max("unacked_max").alias("unacked_max"),
        f.max("ready_max").alias("ready_max"),
        f.max_by("consumers_last", "ts").alias("consumers"),
        f.coalesce(f.max_by("deleted", "ts"), f.lit(False)).alias("deleted"),
        f.unix_timestamp(f.max("ts")).alias("seen_s"),
    )
    of_queue = losses.where(f.col("reason").isin(*LOST)).groupBy(*QUEUE).agg(f.sum("count").alias("named"))
    last = nodes.groupBy("node").agg(f.unix_timestamp(f.max("ts")).alias("node_s"))
    found = found.join(of_queue, [*QUEUE], "left").join(f.broadcast(last), "node", "left")
    found = found.join(stretches(spans(minutes, nodes)), [*QUEUE], "left")
    settled = f.col("ack") + f.col("rejected")
    rows = found.withColumn("rejected", f.greatest("counted", _zero("named"))).withColumns(
        {
            "redelivered_share": _share(f.col("redelivered"), f.col("delivered")),
            "rejected_share": _share(f.col("rejected"), settled),
            "deleted": f.col("deleted") | f.coalesce(f.col("node_s") - f.col("seen_s") > GONE_S, f.lit(False)),
            "ongoing": f.coalesce("ongoing", f.lit(False)),
            **{f"{name}_minutes": _zero(f"{name}_minutes").cast("bigint") for name in STATES},
            "longest_minutes": f.coalesce("longest.minutes", f.lit(0)).cast("bigint"),
            "longest_from": f.timestamp_seconds("longest.begin"),
        }
    )
    rows = rows.withColumn("verdict", _verdict()).withColumn("ongoing", f.col("ongoing") & f.col("verdict").isin(*BAD))
    rows = rows.select(*(name for name, _ in COLUMNS))
    return rows.orderBy(
        ~f.col("verdict").isin(*BAD), f.col("longest_minutes").desc(), f.col("redelivered").desc(), *QUEUE
    )


def _share(part: Any, whole: Any) -> Any:
    return f.when(whole > 0, f.round(part / whole, 3))


def _verdict() -> Any:
    rejects = (f.col("rejected") >= MESSAGES_MIN) & (f.col("rejected_share") > REJECTS)
    storm = (f.col("redelivered") >= MESSAGES_MIN) & (f.col("redelivered_share") > STORM)
    is_long = f.col("longest_minutes") >= STRETCH_MINUTES
    # Retries and delays are built of queues in which messages expire: nobody is expected there.
    expires = (f.col("expired") * 2 >= f.col("publish")) & (f.col("expired") > 0)
    state = f.col("longest.state")
    return (
        f.when(f.col("deleted"), "deleted")
        .when(rejects, "rejects")
        .when(is_long & (state == "missing") & ~expires, "missing")
        .when(is_long & (state == "stuck"), "stuck")
        .when(storm, "redelivery storm")
        .when(is_long & (state == "idle"), "idle")
        .otherwise("fine")
    )


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    found = consumers(run.read(QUEUE_1M), run.read(TRACE_EVENT), run.read(NODE_1M)).collect()
    living = [row for row in found if row.verdict != "deleted"]
    summary = [("queues", len(living)), *((each, sum(row.verdict == each for row in found)) for each in BAD)]
    bad = [row for row in found if row.verdict in BAD]
    return run.report("consumers", COLUMNS, found, details=DETAILS, summary=summary, advice=foremost(map(advice, bad)))


def advice(row: "Row") -> str:
    """Return what is wrong with a queue's consumers, in a sentence."""
    name = f"queue '{row.queue}' in vhost '{row.vhost}'"
    lasted = f"for {counted(row.longest_minutes, 'minute')}"
    match row.verdict:
        case "rejects":
            return f"consumers of {name} rejected {row.rejected_share:.0%} of its messages, {row.rejected:,}"
        case "redelivery storm":
            return f"of {row.delivered:,} deliveries of {name}, {row.redelivered:,} had been delivered before"
        case "missing":
            return f"{name} had messages and no consumer {lasted}"
        case "stuck":
            return f"consumers of {name} held up to {counted(row.unacked_max, 'message')} and did nothing {lasted}"
        case _:
            return f"{name} had messages and consumers, but delivered nothing {lasted}"
