"""Levels of queues: what their minutes in a window come to, how they were at the end, and their recent points."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.spark.pipeline.columns.minutes import (
    MICROSECONDS,
    MINUTE_S,
    Counts,
    Minutes,
    by_thing,
    foremost,
    in_order,
    last,
    together,
    zero,
)
from pybroker.spark.pipeline.schemas import NODE_1M, QUEUE_1M, TRACE_EVENT

if TYPE_CHECKING:
    from pybroker.spark.pipeline.run import Run, Window

TREND_S: Final = 6 * 3600
# Every queue has a row every five minutes; one without, of a node that went on, is gone.
GONE_S: Final = 420
# Trends are computed of the queues that moved most; the others have none.
TRENDS_MAX: Final = 1_000
QUEUE: Final = ("node", "vhost", "queue")
LOST: Final = ("rejected", "delivery_limit")
PERCENTILE: Final = 0.99

ORDER: Final = ("last_epoch", "last_seq", "last_ts")
OCTETS: Final = ("ready_last", "unacked_last", "bytes_last")
END: Final = ("length_max", "octets_max", "deleted", "consumers_last")
COUNTS: Final = (
    "publish",
    "ack",
    "expired",
    "dropped",
    "refused",
    "rejected",
    "delivery_limited",
    "purged",
    "discarded",
)
COLUMNS: Final = (*ORDER, *OCTETS, *END, *COUNTS, "ready_max")
POINT_COLUMNS: Final = (*ORDER, *OCTETS, *END)

QueueKey = tuple[str, str, str]


class Level(NamedTuple):
    """A queue: its counts, how it was at the end, and by how much it moved within TREND_S."""

    node: str
    vhost: str
    queue: str
    publish: int
    ack: int
    expired: int
    dropped: int
    rejected: int
    removed: int
    peak: int
    peak_at: datetime
    p99: int
    moved: int | None
    ready: int
    octets: int
    consumers: int
    length_max: int | None
    octets_max: int | None
    deleted: bool
    seen_at: datetime
    node_at: datetime


class Point(NamedTuple):
    """A minute of a queue: seconds since 1970, and what was ready then."""

    at: float
    ready: int
    octets: int


class Recent(NamedTuple):
    """The last minutes of a queue in their order, and how it was at the end."""

    key: QueueKey
    points: list[Point]
    moved: int
    length_max: int | None
    octets_max: int | None
    deleted: bool


class Levels:
    """The levels of all queues of a window, of which a plot's point stands for `bucket_s`."""

    def __init__(self, minutes: Minutes, window: "Window", bucket_s: int) -> None:
        self._things = minutes.things
        recent_s = window.until.timestamp() - TREND_S
        sums, ends, peaks, lines = [], [], [], []
        heights = Counts.of(PERCENTILE, int((window.until - window.since).total_seconds() / MINUTE_S) + 1)
        for rows in minutes:
            sums.append(_sums(rows, recent_s))
            ends.append(last(rows))
            peaks.append(_peaks(rows.select(["n", "at", "ready_max"])))
            begin = pc.multiply(pc.divide(rows["at"], bucket_s), bucket_s)
            bucket = {"n": rows["n"], "at": begin, "ready_max": rows["ready_max"]}
            lines.append(by_thing(pa.table(bucket), {"ready": ("ready_max", "max")}, ("n", "at")))
            heights = heights.add(rows, "ready_max")
        self._heights = heights
        self._sums = together(sums, _HOW) if sums else None
        self._ends = last(pa.concat_tables(ends)) if ends else None
        self._peaks = _peaks(pa.concat_tables(peaks)) if peaks else None
        self._lines = together(lines, {"ready": "max"}, ("n", "at")) if lines else None

    def found(self, lost: Mapping[QueueKey, int], nodes: Mapping[str, int]) -> list[Level]:
        """Return a level for each queue.

        `lost` has messages that losses tell of: files of an older node do not count them. `nodes` has when each node
        was seen last, in seconds since 1970.
        """
        if self._sums is None:
            return []
        sums, ends, peaks = ({row["n"]: row for row in each.to_pylist()} for each in self._tables())
        heights = self._heights.percentile({n: row["heights"] for n, row in sums.items()})
        return [
            self._level(self._things[n], row, ends[n] | peaks[n] | {"p99": heights.get(n)}, lost, nodes)
            for n, row in sums.items()
        ]

    def line(self, key: QueueKey) -> list[tuple[int, int]]:
        """Return what waited in a queue, a point (seconds since 1970, messages) for each bucket of time."""
        if self._lines is None or key not in self._things:
            return []
        rows = self._lines.filter(pc.equal(self._lines["n"], self._things.index(key)))
        return sorted(zip(rows["at"].to_pylist(), rows["ready"].to_pylist(), strict=True))

    def _tables(self) -> list[pa.Table]:
        assert self._sums is not None
        assert self._ends is not None
        assert self._peaks is not None
        ends = self._ends.select(["n", "ready_last", *END]).append_column("octets", octets_ready(self._ends))
        return [self._sums, ends, self._peaks]

    @staticmethod
    def _level(
        key: Any, sums: dict[str, Any], end: dict[str, Any], lost: Mapping[QueueKey, int], nodes: Mapping[str, int]
    ) -> Level:
        node, seen_at = key[0], _at(sums["seen_us"] / MICROSECONDS)
        node_s = nodes.get(node)
        is_gone = node_s is not None and node_s - sums["seen_us"] // MICROSECONDS > GONE_S
        return Level(
            node=node,
            vhost=key[1],
            queue=key[2],
            publish=sums["publish"],
            ack=sums["ack"],
            expired=sums["expired"],
            dropped=sums["dropped"],
            removed=sums["removed"],
            rejected=max(sums["counted"], lost.get(key, 0)),
            peak=end["ready_max"],
            peak_at=_at(end["at"]),
            p99=end["p99"],
            moved=None if sums["highest"] is None else sums["highest"] - sums["lowest"],
            ready=end["ready_last"],
            octets=end["octets"],
            consumers=end["consumers_last"],
            length_max=end["length_max"],
            octets_max=end["octets_max"],
            deleted=bool(end["deleted"]) or is_gone,
            seen_at=seen_at,
            node_at=seen_at if node_s is None else _at(node_s),
        )


_HOW: Final = dict.fromkeys(("publish", "ack", "expired", "dropped", "counted", "removed", "heights"), "sum") | {
    "seen_us": "max",
    "highest": "max",
    "lowest": "min",
}


def _sums(rows: pa.Table, recent_s: float) -> pa.Table:
    made = {
        **{name: rows[name] for name in ("n", "publish", "ack", "expired")},
        "dropped": pc.add(zero(rows, "dropped"), zero(rows, "refused")),
        "counted": pc.add(zero(rows, "rejected"), zero(rows, "delivery_limited")),
        "removed": pc.add(zero(rows, "purged"), zero(rows, "discarded")),
        "heights": pc.is_valid(rows["ready_max"]).cast(pa.int64()),
        "seen_us": rows["last_us"],
        "highest": pc.if_else(pc.greater_equal(rows["at"], recent_s), rows["ready_last"], None),
    }
    made["lowest"] = made["highest"]
    return by_thing(pa.table(made), {name: (name, how) for name, how in _HOW.items()})


def _peaks(rows: pa.Table) -> pa.Table:
    return foremost(foremost(rows, "ready_max", "max"), "at", "min")


def recent(minutes: Minutes, until: datetime, wanted: "Collection[QueueKey] | None" = None) -> list[Recent]:
    """Return the queues that moved most within TREND_S, of all or of the `wanted` ones.

    If a clock was set back, minutes that it has not reached again are none of their points.
    """
    begin_s = until.timestamp() - TREND_S
    parts = [rows.filter(pc.greater_equal(rows["at"], begin_s)) for rows in minutes]
    if not parts:
        return []
    rows = in_order(pa.concat_tables(parts))
    limits = by_thing(rows, {"highest": ("ready_last", "max"), "lowest": ("ready_last", "min")}).to_pylist()
    moved = {one["n"]: one["highest"] - one["lowest"] for one in limits}
    numbers = [n for n, by in moved.items() if by > 0 and (wanted is None or minutes.things[n] in wanted)]
    numbers = sorted(numbers, key=lambda n: (-moved[n], minutes.things[n]))[:TRENDS_MAX]
    rows = rows.filter(pc.is_in(rows["n"], value_set=pa.array(numbers, pa.int64())))
    points: dict[int, list[Point]] = {n: [] for n in numbers}
    values = (rows["n"], pc.divide(rows["last_us"].cast(pa.float64()), 1e6), rows["ready_last"], octets_ready(rows))
    for n, *point in zip(*(column.to_pylist() for column in values), strict=True):
        points[n].append(Point(*point))
    ends = {row["n"]: row for row in last(rows).to_pylist()}
    found = []
    for n in numbers:
        end = ends[n]
        known = sorted(point for point in points[n] if point.at <= end["last_us"] / 1e6)
        limit = (end["length_max"], end["octets_max"], bool(end["deleted"]))
        found.append(Recent(minutes.things[n], known, moved[n], *limit))
    return found


def octets_ready(rows: pa.Table) -> pa.ChunkedArray:
    """Return the octets of ready bodies: their part of all, as far as messages are of one size."""
    ready = rows["ready_last"].cast(pa.float64())
    both = pc.add(ready, zero(rows, "unacked_last"))
    part = pc.if_else(pc.greater(both, 0), pc.divide(ready, both), 0.0)
    octets = pc.round(pc.multiply(rows["bytes_last"], part), round_mode="half_towards_infinity")
    return pc.fill_null(octets.cast(pa.int64()), 0)


def of_queues(run: "Run", names: Iterable[str], dates: "Collection[date] | None" = None) -> Minutes:
    """Return the minutes of queues, but not those that sum up queues that came and went: these have no levels."""
    parts = run.rows(QUEUE_1M, {*QUEUE_1M.key, "ready_last", *names}, dates)
    return Minutes(QUEUE_1M.key, (rows.filter(pc.is_valid(rows["ready_last"])) for rows in parts))


def lost(run: "Run") -> dict[QueueKey, int]:
    """Return how many messages of each queue were rejected, or delivered too often, by the losses that were told of."""
    return lost_in(run.rows(TRACE_EVENT, (*QUEUE, "reason", "count")))


def lost_in(losses: Iterable[pa.Table]) -> dict[QueueKey, int]:
    """Return the same of rows of trace_event."""
    found: dict[QueueKey, int] = {}
    for rows in losses:
        mine = rows.filter(pc.is_in(rows["reason"], value_set=pa.array(LOST)))
        for row in by_thing(mine, {"count": ("count", "sum")}, QUEUE).to_pylist():
            key = (row["node"], row["vhost"], row["queue"])
            found[key] = found.get(key, 0) + row["count"]
    return found


def seen(run: "Run") -> dict[str, int]:
    """Return when the last minute of each node began, in seconds since 1970."""
    return seen_in(run.minutes(NODE_1M, ()))


def seen_in(minutes: Minutes) -> dict[str, int]:
    """Return the same of minutes of nodes."""
    found: dict[str, int] = {}
    for rows in minutes:
        for row in by_thing(rows, {"at": ("at", "max")}).to_pylist():
            (node,) = minutes.things[row["n"]]
            found[node] = max(found.get(node, row["at"]), row["at"])
    return found


def recent_of(run: "Run", wanted: "Collection[QueueKey] | None" = None) -> list[Recent]:
    """Return the queues of a run that moved, or the wanted ones."""
    until = run.window.until
    return recent(of_queues(run, POINT_COLUMNS, recent_dates(until)), until, wanted)


def recent_dates(until: datetime) -> set[date]:
    """Return the dates of the minutes that trends are made of."""
    return {until.date(), (until - timedelta(seconds=TREND_S)).date()}


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
