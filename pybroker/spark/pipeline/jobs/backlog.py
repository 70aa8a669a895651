"""backlog: which queues grow, when are they full, and what leaves them?

The trend of a queue (trend.py) is the slope of its recent minutes, those since its last break within six hours. A
queue grows when that slope is certainly positive, makes a hundred messages an hour or more, and has brought as many.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.humanize import counted, lasting
from pybroker.spark.pipeline.jobs import levels
from pybroker.spark.pipeline.jobs.levels import TRENDS_MAX, Level, Levels, Point, QueueKey
from pybroker.spark.pipeline.jobs.people import about, foremost, size
from pybroker.spark.pipeline.jobs.trend import Trend, trend
from pybroker.verdicts import meanings, words

if TYPE_CHECKING:
    from pybroker.spark.pipeline.run import Run

GROWS_PER_H: Final = 100
GROWS_BY: Final = 100
# A shorter growth counts only if the queue was never as long in six hours: batches come and go.
LONG_S: Final = 1_800
PLOTTED: Final = 10
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


def backlog(found: "Sequence[Level]", known: "Mapping[QueueKey, Sequence[Point]]") -> list[Finding]:
    """Return what there is to say of each queue, the worst first; `known` has the recent points of some."""
    # A value stands until its node was seen last, but no longer: a point after that would be invented.
    seen: dict[str, datetime] = {}
    for row in found:
        seen[row.node] = max(row.seen_at, seen.get(row.node, row.seen_at))
    told = [judge(row, known.get(row[:3], ()), max(row.node_at, seen[row.node])) for row in found]
    rank = {verdict: n for n, verdict in enumerate(BAD)}
    return sorted(
        told, key=lambda each: (rank.get(each.verdict, len(BAD)), -each.peak, each.node, each.vhost, each.queue)
    )


def judge(row: Level, recent: Sequence[Point], until: datetime) -> Finding:
    """Return a queue of a node seen last at `until` with its verdict, trend, and when it is full."""
    until_s = until.timestamp()
    lines = [(each.at, each.ready) for each in recent], [(each.at, each.octets) for each in recent]
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


def _is_full(row: Level) -> bool:
    """Tell whether a queue is at its limit: a further message, as large as its others, would exceed it."""
    if row.length_max is not None and row.ready >= row.length_max:
        return bool(row.ready or row.dropped)
    return bool(row.octets_max is not None and row.ready and row.octets + row.octets / row.ready > row.octets_max)


def _verdict(row: Level, length: Trend | None, *, grows: bool) -> str:
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
    row: Level, length: Trend | None, octets: Trend | None
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


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    every = Levels(levels.of_queues(run, levels.COLUMNS), run.window, run.bucket_s)
    rows = every.found(levels.lost(run), levels.seen(run))
    moved = sorted((row for row in rows if row.moved and not row.deleted), key=lambda row: -(row.moved or 0))
    wanted = {row[:3] for row in moved[:TRENDS_MAX]}
    known = {each.key: each.points for each in levels.recent_of(run, wanted)} if wanted else {}
    found = backlog(rows, known)
    plots = _plots(every, found) if found else []
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


def _plots(every: Levels, found: list[Finding]) -> list[dict[str, Any]]:
    highest = sorted(found, key=lambda row: (-row.peak, row.node, row.vhost, row.queue))[:PLOTTED]
    several = len({row.node for row in found}) > 1
    drawn = [
        {
            "name": " ".join(
                [*([] if row.vhost == "/" else [row.vhost]), row.queue, *([f"on {row.node}"] if several else [])]
            ),
            "points": [[1000 * at, ready] for at, ready in every.line((row.node, row.vhost, row.queue))],
        }
        for row in highest
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
