"""forecast: when will memory, disk space and the limits of queues be used up, at the recent rate?

A forecast is the trend (trend.py) of the last six hours since its last break, drawn on. It counts where it certainly
leads to the limit, has moved the gauge by a share of that limit, and either lasts for half an hour or has taken the
gauge to where it was not in these hours: what comes and goes is no trend.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow.compute as pc

from pybroker.humanize import counted, lasting
from pybroker.spark.pipeline.columns.minutes import MINUTE_S, Minutes
from pybroker.spark.pipeline.jobs import backlog, levels
from pybroker.spark.pipeline.jobs.backlog import LONG_S
from pybroker.spark.pipeline.jobs.levels import GONE_S, TREND_S, Recent
from pybroker.spark.pipeline.jobs.people import about, foremost, size
from pybroker.spark.pipeline.jobs.trend import Point, Trend, trend
from pybroker.spark.pipeline.schemas import NODE_1M
from pybroker.verdicts import meanings, words

if TYPE_CHECKING:
    from pybroker.spark.pipeline.run import Run

DAY_S: Final = 86_400
# A trend that moved less than this part of the limit is none.
MOVED: Final = 0.01
BAD: Final = words("forecast")
NODE_READ: Final = ("mem_used_max", "mem_limit", "disk_free_min", "disk_limit")

COLUMNS: Final = (
    ("resource", "memory, disk, messages or octets (of ready messages in a queue)"),
    ("vhost", "virtual host of the queue"),
    ("queue", "queue"),
    ("verdict", ", ".join(word for word, _ in meanings("forecast"))),
    ("current", "octets or messages at the end; of disk space what is free"),
    ("bound", "limit, in octets or messages; empty without one"),
    ("slope_per_h", "recent change in an hour"),
    ("slope_low", "its lower bound, with 95 percent confidence"),
    ("slope_high", "its upper bound"),
    ("slope_s", "seconds over which this is the trend"),
    ("in_a_day", "value a day later at this rate"),
    ("in_a_day_low", "the same at the lower bound"),
    ("in_a_day_high", "the same at the upper bound"),
    ("reached_in_s", "seconds until the limit is reached at this rate"),
    ("soonest_s", "the same at the bound of the rate that leads there first"),
    ("latest_s", "the same at the other; empty if it may never be reached"),
    ("node", "node"),
)
# People see the others first.
DETAILS: Final = frozenset(
    {"slope_low", "slope_high", "in_a_day_low", "in_a_day_high", "soonest_s", "latest_s", "slope_s", "node"}
)


class Forecast(NamedTuple):
    """A gauge and where it goes: the fields are COLUMNS."""

    resource: str
    vhost: str
    queue: str
    verdict: str
    current: int
    bound: int | None
    slope_per_h: float
    slope_low: float
    slope_high: float
    slope_s: int
    in_a_day: int | None
    in_a_day_low: int | None
    in_a_day_high: int | None
    reached_in_s: float | None
    soonest_s: float | None
    latest_s: float | None
    node: str


class Gauge(NamedTuple):
    """A value that is forecast: `falls` if less of it is worse."""

    resource: str
    node: str
    points: list[Point]
    bound: int | None
    vhost: str = ""
    queue: str = ""
    falls: bool = False


def forecast(gauge: Gauge, until_s: float) -> Forecast:
    """Return where a gauge goes; its node was seen last at `until_s`."""
    line = trend(gauge.points, until_s)
    current, bound = gauge.points[-1][1], gauge.bound
    is_short = bound is not None and (current < bound if gauge.falls else current >= bound)
    leads = line is not None and _leads(gauge, line)
    times = line.seconds_to(bound, current) if line is not None and bound is not None and leads else None
    verdict = "short" if is_short else "none"
    if times is not None and not is_short:
        verdict = "soon" if times[0] < DAY_S else "later"
    rates = (line.slope, line.low, line.high) if line else (0.0, 0.0, 0.0)
    day = [max(0, round(current + rate * DAY_S)) if line else None for rate in rates]
    reached = [None if each is None or is_short else round(each, 1) for each in times or (None, None, None)]
    slope, low, high = (round(rate * 3_600, 1) for rate in rates)
    return Forecast(
        resource=gauge.resource,
        vhost=gauge.vhost,
        queue=gauge.queue,
        verdict=verdict,
        current=int(current),
        bound=bound,
        slope_per_h=slope,
        slope_low=low,
        slope_high=high,
        slope_s=round(line.until_s - line.since_s) if line else 0,
        in_a_day=day[0],
        in_a_day_low=day[1],
        in_a_day_high=day[2],
        reached_in_s=reached[0],
        soonest_s=reached[1],
        latest_s=reached[2],
        node=gauge.node,
    )


def _leads(gauge: Gauge, line: Trend) -> bool:
    """Tell whether a trend certainly leads to the limit, and counts."""
    sign = -1 if gauge.falls else 1
    slowest = min(sign * line.low, sign * line.high)
    if slowest <= 0 or sign * line.rise < MOVED * (gauge.bound or 0):
        return False
    before = [sign * value for at, value in gauge.points if at < line.since_s]
    current = gauge.points[-1][1]
    if gauge.resource == "messages":
        return backlog.is_growth(line, int(current), int(max(before, default=0)))
    return line.until_s - line.since_s >= LONG_S or sign * current > max(before, default=-float("inf"))


class Node(NamedTuple):
    """A node: its recent points, (seconds since 1970, memory used, disk space free), and its last limits."""

    name: str
    points: list[tuple[float, int, int | None]]
    mem_limit: int
    disk_limit: int


def of_nodes(minutes: Minutes, until: datetime) -> list[Node]:
    """Return each node that was seen recently; `minutes` are node_1m."""
    begin_s = until.timestamp() - TREND_S
    found: dict[int, list[dict[str, Any]]] = {}
    for rows in minutes:
        for row in rows.filter(pc.greater_equal(rows["at"], begin_s)).to_pylist():
            found.setdefault(row["n"], []).append(row)
    return [
        Node(
            minutes.things[n][0],
            [(row["at"] + MINUTE_S / 2, row["mem_used_max"], row["disk_free_min"]) for row in rows],
            rows[-1]["mem_limit"],
            rows[-1]["disk_limit"],
        )
        for n, rows in found.items()
    ]


def gauges(nodes: list[Node], queues: list[Recent]) -> "list[tuple[Gauge, float]]":
    """Return what is forecast, with the time up to which it is known; queues that are gone are not."""
    found, seen = [], {}
    for each in nodes:
        used: list[Point] = [(at, memory) for at, memory, _ in each.points]
        seen[each.name] = until_s = used[-1][0]
        found.append((Gauge("memory", each.name, used, each.mem_limit), until_s))
        free: list[Point] = [(at, disk) for at, _, disk in each.points if disk is not None]
        if free:
            found.append((Gauge("disk", each.name, free, each.disk_limit, falls=True), until_s))
    for queue in queues:
        last = queue.points[-1].at
        node, vhost, name = queue.key
        until_s = max(seen.get(node, last), last)
        if queue.deleted or until_s - last > GONE_S:
            continue
        ready = [(point.at, float(point.ready)) for point in queue.points]
        found.append((Gauge("messages", node, ready, queue.length_max, vhost, name), until_s))
        # Octets without a limit are those of the messages once more.
        if queue.octets_max is not None:
            octets = [(point.at, float(point.octets)) for point in queue.points]
            found.append((Gauge("octets", node, octets, queue.octets_max, vhost, name), until_s))
    return found


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    until = run.window.until
    dates = levels.recent_dates(until)
    known = gauges(of_nodes(run.minutes(NODE_1M, NODE_READ, dates), until), levels.recent_of(run))
    found = [forecast(gauge, until_s) for gauge, until_s in known]
    rank = {word: n for n, word in enumerate((*BAD, "later"))}
    found.sort(key=lambda each: (rank.get(each.verdict, len(rank)), each.reached_in_s or 0, *each[:3], each.node))
    summary = [("gauges", len(found)), *((word, sum(each.verdict == word for each in found)) for word in rank)]
    told = foremost(advice(each) for each in found if each.verdict in BAD)
    return run.report("forecast", COLUMNS, found, details=DETAILS, summary=summary, advice=told)


def advice(row: Forecast) -> str:
    """Return where a gauge goes, in a sentence."""
    number = (lambda n: counted(round(n), "message")) if row.resource == "messages" else size
    what = (
        f"{row.resource} of queue '{row.queue}' in vhost '{row.vhost}'"
        if row.queue
        else f"{row.resource} of {row.node}"
    )
    now = f"{what}: {number(row.current)}, limit {number(row.bound or 0)}"
    if row.reached_in_s is None:
        return f"{now}: it is reached" if row.resource != "disk" else f"{now}: less is free than required"
    rate = f"{number(abs(row.slope_per_h))} {'less' if row.slope_per_h < 0 else 'more'} an hour"
    when = about((row.reached_in_s, row.soonest_s, row.latest_s))
    return f"{now}; {rate}, as over the last {lasting(1000 * row.slope_s)}: reached in {when}"
