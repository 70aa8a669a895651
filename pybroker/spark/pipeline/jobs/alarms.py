"""alarms: when was what short, how badly, and which queues grew before?

Set and cleared are paired by node and resource. An alarm that the node took with it when it ended lasts until that was
seen last; one that is still set has no end.
"""

from datetime import date, datetime, timedelta
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.spark.pipeline.columns import nodes
from pybroker.spark.pipeline.columns.minutes import Minutes, by_thing, foremost
from pybroker.spark.pipeline.jobs import blocked, levels, people
from pybroker.spark.pipeline.run import iso, milliseconds
from pybroker.spark.pipeline.schemas import ALARM_EVENT, NODE_1M, NODE_SAMPLE
from pybroker.verdicts import meanings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pybroker.spark.pipeline.jobs.blocked import Block
    from pybroker.spark.pipeline.run import Run

EVENT: Final = ("node", "epoch", "resource", "alarm_node", "action", "used", "limit")
# The column of samples with what is short, and its worst value.
GAUGES: Final = {"memory": ("mem_used", "max"), "disk": ("disk_free", "min")}
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


class Alarm(NamedTuple):
    """Begin and end of an alarm."""

    node: str
    resource: str
    alarm_node: str
    set_at: datetime
    cleared_at: datetime | None
    ended_by: str
    used: int
    limit: int

    def lasts_at(self, begin_ms: int, end_ms: int) -> tuple[int, int]:
        """Return which part of a span, in ms since 1970, it is set for; the end is before the begin if none is."""
        cleared_ms = end_ms if self.cleared_at is None else milliseconds(self.cleared_at)
        return max(begin_ms, milliseconds(self.set_at)), min(end_ms, cleared_ms)


def pair(events: "Iterable[Mapping[str, Any]]", samples: "Mapping[str, pa.Table]") -> list[Alarm]:
    """Return begin and end of each alarm, in their order; `samples` of nodes say when a start of one was seen last."""
    seen = {
        (node, start["epoch"]): start["ts_max"]
        for node, rows in samples.items()
        for start in rows.group_by("epoch").aggregate([("ts", "max")]).to_pylist()
    }
    newest: dict[str, int] = {}
    for node, epoch in seen:
        newest[node] = max(newest.get(node, epoch), epoch)
    by_resource: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in events:
        by_resource.setdefault((row["node"], row["resource"], row["alarm_node"]), []).append(row)
    found = []
    for (node, resource, alarm_node), mine in by_resource.items():
        mine.sort(key=lambda row: (row["ts"], row["action"] == "set"))
        for row, following in zip_longest(mine, mine[1:]):
            if row["action"] != "set":
                continue
            cleared_at, ended_by, epoch = None, "still set", row["epoch"]
            if following and following["action"] == "clear" and following["epoch"] == epoch:
                cleared_at, ended_by = following["ts"], "clear"
            elif (node, epoch) in seen and newest[node] > epoch:
                cleared_at, ended_by = max(seen[node, epoch], row["ts"]), "restart"
            alarm = (node, resource, alarm_node, row["ts"], cleared_at, ended_by, row["used"], row["limit"])
            found.append(Alarm(*alarm))
    return sorted(found, key=lambda alarm: (alarm.set_at, alarm.node, alarm.resource))


def worst(alarm: Alarm, samples: pa.Table | None) -> int | None:
    """Return how far it went: most memory used, least disk space free; `samples` are those of its node."""
    if samples is None or alarm.resource not in GAUGES:
        return None
    column, how = GAUGES[alarm.resource]
    ts = samples.schema.field("ts").type
    during = pc.greater_equal(samples["ts"], pa.scalar(alarm.set_at, ts))
    if alarm.cleared_at:
        during = pc.and_(during, pc.less_equal(samples["ts"], pa.scalar(alarm.cleared_at, ts)))
    found: int | None = pc.min_max(samples[column].filter(during))[how].as_py()
    return found


def held(alarm: Alarm, blocks: "Iterable[Block]") -> tuple[int, float]:
    """Return how many connections it held, and for how many seconds."""
    connections, held_ms = set(), 0
    for block in blocks:
        if block.node == alarm.node and alarm.resource in (block.reason or ""):
            begin_ms, end_ms = alarm.lasts_at(block.began_ms, block.ended_ms)
            # An alarm is set a moment before it holds anybody, and lets them go one after the other.
            if begin_ms <= end_ms:
                connections.add(block.conn_id)
                held_ms += end_ms - begin_ms
    return len(connections), held_ms / 1_000


def growers(alarms: "Sequence[Alarm]", minutes: Minutes) -> dict[tuple[Any, ...], str]:
    """Return for each alarm the queues whose bodies grew most in the minutes before."""
    parts: dict[tuple[Any, ...], list[pa.Table]] = {}
    for rows in minutes:
        for alarm in alarms:
            set_s = alarm.set_at.timestamp()
            is_before = pc.and_(pc.less_equal(rows["at"], set_s), pc.greater_equal(rows["at"], set_s - BEFORE_S))
            found = rows.filter(is_before)
            if found.num_rows:
                parts.setdefault(alarm[:4], []).append(found)
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


def _dates(alarms: "Sequence[Alarm]") -> set[date]:
    """Return the dates of the minutes before these alarms."""
    return {when.date() for each in alarms for when in (each.set_at, each.set_at - timedelta(seconds=BEFORE_S))}


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
    alarms: "Sequence[Alarm]",
    samples: "Mapping[str, pa.Table]",
    blocks: "Sequence[Block]",
    minutes: "Callable[[set[date]], Minutes]",
) -> list[Told]:
    """Return what there is to say of each alarm, in their order; `minutes` returns those of queues on some dates."""
    grown = growers(alarms, minutes(_dates(alarms))) if alarms else {}
    return [
        _tell(each, worst(each, samples.get(each.node)), held(each, blocks), grown.get(each[:4], "")) for each in alarms
    ]


def _tell(alarm: Alarm, far: int | None, holding: tuple[int, float], grown: str) -> Told:
    extreme = min if alarm.resource == "disk" else max
    lasted = None if alarm.cleared_at is None else round((alarm.cleared_at - alarm.set_at).total_seconds(), 3)
    return Told(
        alarm.resource,
        alarm.set_at,
        alarm.cleared_at,
        lasted,
        alarm.ended_by,
        alarm.used,
        alarm.limit,
        alarm.used if far is None else extreme(alarm.used, far),
        *holding,
        grown,
        alarm.node,
    )


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    samples = nodes.together(run.rows(NODE_SAMPLE, ("node", "epoch", "mem_used", "disk_free")))
    events = [row for rows in run.rows(ALARM_EVENT, EVENT) for row in rows.to_pylist()]
    alarms = pair(events, samples)[:ALARMS_MAX]
    found = blocked.blocks_of(run, run.window.until) if alarms else []
    rows = explain(alarms, samples, found, partial(_minutes, run))
    ended = [row.duration_s for row in rows if row.ended_by == "clear" and row.duration_s is not None]
    summary = [
        ("alarms", len(rows)),
        ("still set", sum(row.ended_by == "still set" for row in rows)),
        ("seconds to clear, on average", round(sum(ended) / len(ended), 1) if ended else None),
        ("seconds of the longest", max((row.duration_s for row in rows if row.duration_s is not None), default=None)),
    ]
    plots = [plot for plot in (_plot(run, rows, resource) for resource in GAUGES) if plot]
    return run.report(
        "alarms", COLUMNS, rows, summary=summary, plots=plots, advice=people.foremost(map(_advice, reversed(rows)))
    )


def _minutes(run: "Run", dates: set[date]) -> Minutes:
    return levels.of_queues(run, ("bytes_first", "bytes_last"), dates)


def _plot(run: "Run", rows: list[Told], resource: str) -> dict[str, Any] | None:
    """Return memory or disk over time, with its limit and the alarms."""
    column, limit = ("mem_used_max", "mem_limit") if resource == "memory" else ("disk_free_min", "disk_limit")
    how, extreme = GAUGES[resource][1], min if resource == "disk" else max
    minutes, bucket_s = run.minutes(NODE_1M, (column, limit)), run.bucket_s
    points: dict[tuple[str, int], tuple[int, int]] = {}
    for found in minutes:
        seen = found.filter(pc.is_valid(found[column]))
        at = pc.multiply(pc.divide(seen["at"], bucket_s), bucket_s)
        values = pa.table({"n": seen["n"], "at": at, "value": seen[column], "limit": seen[limit]})
        made = {"value": ("value", how), "limit": ("limit", "max")}
        for row in by_thing(values, made, ("n", "at")).to_pylist():
            key, value, marked = (minutes.things[row["n"]][0], row["at"]), row["value"], row["limit"]
            # A point may begin on one date and end on the next.
            before = points.get(key, (value, marked))
            points[key] = extreme(value, before[0]), max(marked, before[1])
    if not points:
        return None
    lines: dict[str, list[list[int]]] = {}
    for (node, begin_s), (value, marked) in sorted(points.items()):
        lines.setdefault(node, []).append([begin_s * 1_000, value])
        lines.setdefault(f"limit of {node}", []).append([begin_s * 1_000, marked])
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
