"""backlog: which queues grow, when are they full, and what leaves them?

The trend of a queue (trend.py) is the slope of its recent minutes, those since its last break within six hours. A
queue grows when that slope is certainly positive, makes a hundred messages an hour or more, and has brought as many.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import functions as f

from pybroker.humanize import counted, lasting
from pybroker.spark.pipeline.jobs.people import about, foremost, size
from pybroker.spark.pipeline.jobs.trend import Trend, trend
from pybroker.spark.pipeline.run import milliseconds, utc
from pybroker.spark.pipeline.schemas import NODE_1M, QUEUE_1M, TRACE_EVENT
from pybroker.verdicts import meanings, words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from pybroker.spark.pipeline.run import Run

TREND_S: Final = 6 * 3600
GROWS_PER_H: Final = 100
GROWS_BY: Final = 100
# A shorter growth counts only if the queue was never as long within TREND_S: batches come and go.
LONG_S: Final = 1_800
# Trends are computed of the queues that moved most; the others have none.
TRENDS_MAX: Final = 1_000
PLOTTED: Final = 10
# Every queue has a row every five minutes; one without, of a node that went on, is gone.
GONE_S: Final = 420
QUEUE: Final = ("node", "vhost", "queue")
LOST: Final = ("rejected", "delivery_limit")
BAD: Final = words("backlog")

COLUMNS: Final = (
    ("vhost", "virtual host"),
    ("queue", "queue"),
    ("verdict", ", ".join(word for word, _ in meanings("backlog"))),
    ("ready", "ready messages at the end"),
    ("peak", "most messages that waited"),
    ("peak_at", "when that was"),
    ("p99", "99th percentile over minutes"),
    ("slope_per_h", "recent growth in messages per hour"),
    ("slope_low", "its lower bound, with 95 percent confidence"),
    ("slope_high", "its upper bound"),
    ("slope_s", "seconds over which this is the trend"),
    ("octets", "octets of the bodies of ready messages at the end"),
    ("octets_per_h", "their recent growth per hour"),
    ("published", "messages published to the queue"),
    ("acked", "messages acknowledged"),
    ("rejected", "messages rejected, or delivered too often"),
    ("expired", "messages that expired"),
    ("dropped", "messages dropped or refused because of a length limit"),
    ("drain_ratio", "messages that left per published message; below 1 the queue grows"),
    ("consumers", "consumers at the end"),
    ("length_max", "length limit in messages"),
    ("octets_max", "length limit in octets"),
    ("full_by", "the limit that is reached first: messages or octets"),
    ("full_in_s", "seconds until that limit is reached at this rate"),
    ("full_soonest_s", "the same at the upper bound of the rate"),
    ("full_latest_s", "the same at the lower bound; empty if it may never be reached"),
    ("node", "node"),
)

# People see the others first.
DETAILS: Final = frozenset(
    {"peak_at", "p99", "slope_low", "slope_high", "slope_s", "octets_per_h", "acked", "rejected", "expired", "dropped"}
    | {"length_max", "octets_max", "full_soonest_s", "full_latest_s", "node"}
)


class Finding(NamedTuple):
    """A queue with its verdict: the fields are COLUMNS."""

    vhost: str
    queue: str
    verdict: str
    ready: int
    peak: int
    peak_at: datetime
    p99: int
    slope_per_h: float
    slope_low: float
    slope_high: float
    slope_s: int
    octets: int
    octets_per_h: float
    published: int
    acked: int
    rejected: int
    expired: int
    dropped: int
    drain_ratio: float | None
    consumers: int
    length_max: int | None
    octets_max: int | None
    full_by: str
    full_in_s: float | None
    full_soonest_s: float | None
    full_latest_s: float | None
    node: str


def levels(minutes: "DataFrame", losses: "DataFrame", nodes: "DataFrame", until: "datetime") -> "DataFrame":
    """Return a row for each queue: its counts, how it was at the end, and how much it moved within TREND_S.

    `losses` are trace_event, `nodes` node_1m: they tell what was rejected, and when each node was seen last.
    """
    seen_at = f.coalesce("last_ts", f.col("ts") + f.expr("INTERVAL 50 SECONDS"))
    moved = f.when(_recent(until), f.col("ready_last"))
    sums = minutes.groupBy(*QUEUE).agg(
        f.max("ready_max").alias("peak"),
        *(f.sum(name).alias(name) for name in ("publish", "ack", "expired")),
        f.sum(_sum("dropped", "refused")).alias("dropped"),
        f.sum(_sum("rejected", "delivery_limited")).alias("counted"),
        f.sum(_sum("purged", "discarded")).alias("removed"),
        f.max(seen_at).alias("seen_at"),
        (f.max(moved) - f.min(moved)).alias("moved"),
    )
    # Apart from those: with any of these Spark compiles none, which takes three times as long.
    end = f.struct(
        in_order().alias("order"),
        *("length_max", "octets_max", "deleted"),
        f.col("ready_last").alias("ready"),
        _octets_ready().alias("octets"),
        f.col("consumers_last").alias("consumers"),
    )
    others = minutes.groupBy(*QUEUE).agg(
        f.max(end).alias("end"),
        f.min_by("ts", f.struct(-f.col("ready_max"), "ts")).alias("peak_at"),
        f.percentile_approx("ready_max", 0.99, 10_000).alias("p99"),
    )
    ends = [f.col(f"end.{name}") for name in ("length_max", "octets_max", "ready", "octets", "consumers")]
    gone_by_then = f.coalesce("end.deleted", f.lit(False)).alias("deleted")
    found = sums.join(others.select(*QUEUE, "peak_at", "p99", *ends, gone_by_then), [*QUEUE])
    # Files of an older node do not count what was rejected, but name its losses.
    of_queue = losses.where(f.col("reason").isin(*LOST)).groupBy(*QUEUE).agg(f.sum("count").alias("named"))
    last = nodes.groupBy("node").agg(f.max("ts").alias("node_at"))
    gone = f.coalesce(f.unix_timestamp("node_at") - f.unix_timestamp("seen_at") > GONE_S, f.lit(False))
    joined = found.join(of_queue, [*QUEUE], "left").join(f.broadcast(last), "node", "left")
    return joined.withColumns(
        {
            "rejected": f.greatest("counted", f.coalesce("named", f.lit(0))),
            "deleted": f.col("deleted") | gone,
            "node_at": f.coalesce("node_at", "seen_at"),
        }
    ).drop("counted", "named")


def points(minutes: "DataFrame", wanted: "DataFrame", until: "datetime") -> "DataFrame":
    """Return for each of the queues its recent minutes: an array of (seconds since 1970, ready, octets)."""
    return recent_points(minutes.join(f.broadcast(wanted.select(*QUEUE)), [*QUEUE]), until)


def recent_points(minutes: "DataFrame", until: "datetime", *more: Any) -> "DataFrame":
    """Return for each queue an array of its recent `points`, and more aggregates.

    If a clock was set back, minutes that it has not reached again are none of these.
    """
    at = f.unix_micros(f.coalesce("last_ts", f.col("ts") + f.expr("INTERVAL 50 SECONDS"))) / 1e6
    point = f.struct(at.alias("at"), f.col("ready_last").alias("ready"), _octets_ready().alias("octets"))
    found = minutes.where(_recent(until)).groupBy(*QUEUE)
    every = found.agg(f.sort_array(f.collect_list(point)).alias("every"), f.max_by(at, in_order()).alias("last"), *more)
    known = f.filter("every", lambda each: each["at"] <= f.col("last"))
    return every.withColumn("points", known).drop("every", "last")


def in_order() -> Any:
    """Return what minutes are ordered by, also if a clock was set back."""
    return f.struct("last_epoch", "last_seq", "ts")


def _recent(until: "datetime") -> Any:
    return f.col("ts") >= f.lit(until) - f.expr(f"INTERVAL {TREND_S} SECONDS")


def _octets_ready() -> Any:
    """Return the octets of ready bodies: their part of all, as far as messages are of one size."""
    both = f.col("ready_last") + f.coalesce("unacked_last", f.lit(0))
    part = f.when(both > 0, f.col("ready_last") / both).otherwise(0)
    return f.coalesce(f.round(f.col("bytes_last") * part).cast("bigint"), f.lit(0))


def _sum(*names: str) -> Any:
    first, *others = (f.coalesce(name, f.lit(0)) for name in names)
    return sum(others, first)


def backlog(found: "Iterable[Row]", known: "Iterable[Row]") -> list[Finding]:
    """Return what there is to say of each queue of `levels`, the worst first; `known` has the `points` of some."""
    by_queue = {tuple(row[name] for name in QUEUE): row.points for row in known}
    rows = list(found)
    # A value stands until its node was seen last, but no longer: a point after that would be invented.
    seen: dict[str, datetime] = {}
    for row in rows:
        seen[row.node] = max(utc(row.seen_at), seen.get(row.node, utc(row.seen_at)))
    told = [
        judge(row, by_queue.get(tuple(row[name] for name in QUEUE), []), max(utc(row.node_at), seen[row.node]))
        for row in rows
    ]
    rank = {verdict: n for n, verdict in enumerate(BAD)}
    return sorted(
        told, key=lambda each: (rank.get(each.verdict, len(BAD)), -each.peak, each.node, each.vhost, each.queue)
    )


def judge(row: "Row", recent: "list[Row]", until: datetime) -> Finding:
    """Return a queue of a node seen last at `until` with its verdict, trend, and when it is full."""
    until_s = until.timestamp()
    lines = [(each["at"], each.ready) for each in recent], [(each["at"], each.octets) for each in recent]
    length, octets = (None, None) if row.deleted else (trend(line, until_s) for line in lines)
    higher = max((ready for at, ready in lines[0] if length and at < length.since_s), default=0)
    grows, grows_octets = is_growth(length, row.ready, higher), octets is not None and octets.low > 0
    full_by, full = _full(row, length if grows else None, octets if grows_octets else None)
    left = row.ack + row.rejected + row.expired + row.dropped + row.removed
    slope, low, high = (length.slope, length.low, length.high) if length else (0.0, 0.0, 0.0)
    in_s, soonest_s, latest_s = (None if each is None else round(each, 1) for each in full or (None, None, None))
    return Finding(
        vhost=row.vhost,
        queue=row.queue,
        verdict=_verdict(row, length, grows=grows or (bool(full) and full_by == "octets")),
        ready=0 if row.deleted else row.ready,
        peak=row.peak,
        peak_at=row.peak_at,
        p99=row.p99,
        slope_per_h=round(slope * 3_600, 1),
        slope_low=round(low * 3_600, 1),
        slope_high=round(high * 3_600, 1),
        slope_s=round(length.until_s - length.since_s) if length else 0,
        octets=0 if row.deleted else row.octets,
        octets_per_h=round(octets.slope * 3_600, 1) if octets else 0.0,
        published=row.publish,
        acked=row.ack,
        rejected=row.rejected,
        expired=row.expired,
        dropped=row.dropped,
        drain_ratio=round(left / row.publish, 3) if row.publish else None,
        consumers=row.consumers,
        length_max=row.length_max,
        octets_max=row.octets_max,
        full_by=full_by,
        full_in_s=in_s,
        full_soonest_s=soonest_s,
        full_latest_s=latest_s,
        node=row.node,
    )


def is_growth(length: Trend | None, ready: int, higher: int) -> bool:
    """Tell whether a trend of a queue's length is a growth; `higher` is its peak of the hours before the trend."""
    if length is None or length.low <= 0 or length.slope * 3_600 < GROWS_PER_H or length.rise < GROWS_BY:
        return False
    return length.until_s - length.since_s >= LONG_S or ready > higher


def _is_full(row: "Row") -> bool:
    """Tell whether a queue is at its limit: a further message, as large as its others, would exceed it."""
    if row.length_max is not None and row.ready >= row.length_max:
        return bool(row.ready or row.dropped)
    return bool(row.octets_max is not None and row.ready and row.octets + row.octets / row.ready > row.octets_max)


def _verdict(row: "Row", length: Trend | None, *, grows: bool) -> str:
    if row.deleted:
        return "deleted"
    if _is_full(row):
        return "full"
    if grows:
        return "grows"
    # Retries and delays are built of queues in which messages expire: nobody is expected there.
    if row.ready and not row.consumers and row.expired * 2 < row.publish + row.ready:
        return "no consumer"
    if not row.ready:
        return "empty"
    falls = length is not None and length.high < 0 and length.slope * 3_600 <= -GROWS_PER_H
    return "drains" if falls else "steady"


def _full(
    row: "Row", length: Trend | None, octets: Trend | None
) -> tuple[str, tuple[float, float | None, float | None] | None]:
    """Return which limit is reached first, and in how many seconds."""
    if row.deleted or _is_full(row):
        return "", None
    found = []
    for name, line, now, limit in (
        ("messages", length, row.ready, row.length_max),
        ("octets", octets, row.octets, row.octets_max),
    ):
        times = None if line is None or limit is None else line.seconds_to(limit, now)
        if times is not None:
            found.append((times[0], name, times))
    if not found:
        return "", None
    _, name, times = min(found)
    return name, times


def series(minutes: "DataFrame", queues: "DataFrame", bucket_s: int) -> "DataFrame":
    """Return what waited in these queues, a point for each bucket of time."""
    begin = f.timestamp_seconds(f.floor(f.unix_timestamp("ts") / bucket_s) * bucket_s)
    points = minutes.join(f.broadcast(queues.select(*QUEUE)), [*QUEUE])
    return points.groupBy(*QUEUE, begin.alias("at")).agg(f.max("ready_max").alias("ready")).orderBy(*QUEUE, "at")


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    minutes = run.read(QUEUE_1M)
    rows = levels(minutes, run.read(TRACE_EVENT), run.read(NODE_1M), run.window.until).collect()
    moved = sorted((row for row in rows if row.moved and not row.deleted), key=lambda row: -row.moved)
    known = points(minutes, _named(run, moved[:TRENDS_MAX]), run.window.until).collect() if moved else []
    found = backlog(rows, known)
    plots = _plots(run, minutes, found) if found else []
    bad = [row for row in found if row.verdict in BAD]
    summary = [
        ("queues", sum(row.verdict != "deleted" for row in found)),
        *((label, sum(row.verdict == verdict for row in found)) for label, verdict in _COUNTED),
        ("messages that wait", sum(row.ready for row in found)),
    ]
    if len(moved) > TRENDS_MAX:
        summary.append(("queues whose trend was not computed", len(moved) - TRENDS_MAX))
    return run.report(
        "backlog", COLUMNS, found, details=DETAILS, summary=summary, plots=plots, advice=foremost(map(advice, bad))
    )


_COUNTED: Final = (
    ("that grow", "grows"),
    ("that are full", "full"),
    ("without a consumer, and something waits", "no consumer"),
    ("deleted", "deleted"),
)


def _named(run: "Run", rows: Iterable[Any]) -> "DataFrame":
    names = [tuple(getattr(row, name) for name in QUEUE) for row in rows]
    return run.spark.createDataFrame(names, ", ".join(f"{name} STRING" for name in QUEUE))


def _plots(run: "Run", minutes: "DataFrame", found: list[Finding]) -> list[dict[str, Any]]:
    highest = sorted(found, key=lambda row: (-row.peak, row.node, row.vhost, row.queue))[:PLOTTED]
    lines: dict[tuple[str, ...], list[list[int]]] = {(row.node, row.vhost, row.queue): [] for row in highest}
    for row in series(minutes, _named(run, highest), run.bucket_s).collect():
        lines[tuple(row[name] for name in QUEUE)].append([milliseconds(row["at"]), row.ready])
    several = len({row.node for row in found}) > 1
    drawn = [
        {
            "name": " ".join([*([] if vhost == "/" else [vhost]), queue, *([f"on {node}"] if several else [])]),
            "points": line,
        }
        for (node, vhost, queue), line in lines.items()
    ]
    title = "Messages that wait, in the queues with the highest peaks"
    return [{"kind": "lines", "title": title, "unit": "", "series": drawn}]


def advice(row: Finding) -> str:
    """Return what is wrong with a queue, in a sentence."""
    name = f"queue '{row.queue}' in vhost '{row.vhost}'"
    if row.verdict == "no consumer":
        return f"{name} has {counted(row.ready, 'message')} and no consumer"
    consumed = f"{counted(row.consumers, 'consumer')} took {_share(row)} of what was published"
    if row.verdict == "full":
        limit = counted(row.length_max, "message") if row.length_max is not None else size(row.octets_max or 0)
        return f"{name} is full ({limit}), {counted(row.dropped, 'message')} dropped or refused: {consumed}"
    full = ""
    if row.full_in_s is not None:
        limit = counted(row.length_max or 0, "message") if row.full_by == "messages" else size(row.octets_max or 0)
        full = f", and is full ({limit}) in {about((row.full_in_s, row.full_soonest_s, row.full_latest_s))}"
    rate = f"{row.slope_per_h:,.0f} messages an hour, as over the last {lasting(1000 * row.slope_s)}"
    return f"{name} grows by {rate}{full}: {consumed}"


def _share(row: Finding) -> str:
    return f"{row.acked / row.published:.0%}" if row.published else "none"
