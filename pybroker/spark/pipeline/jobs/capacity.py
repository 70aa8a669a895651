"""capacity: which memory and disk limits are right?

Candidates are replayed over the history: how often each would have set the alarm, and for how long. The recommendation
(limit_advice.py) leaves room for the worst ten minutes of the history: as long as somebody needs to react. While an
alarm holds publishers, memory grows no further; so if a limit was reached, the need is reported as "at least".
"""

from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.humanize import counted
from pybroker.spark.pipeline.columns import nodes
from pybroker.spark.pipeline.columns.codes import shifted
from pybroker.spark.pipeline.jobs import limit_advice
from pybroker.spark.pipeline.jobs.limit_advice import DISK_LIMITS, HISTORY_S_MIN, MIB, STEP, WATERMARK_MAX, Choice
from pybroker.spark.pipeline.run import iso
from pybroker.spark.pipeline.schemas import NODE_SAMPLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybroker.spark.pipeline.run import Run

REACTION_S: Final = 600
# A sample stands for the time to the next one, but not for a night in which the node did not run.
SAMPLE_MS_MAX: Final = 60_000
READ: Final = (
    *("node", "mem_used", "mem_limit", "mem_total", "watermark", "paging_ratio"),
    *("disk_free", "disk_limit"),
)
WATERMARKS: Final = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

COLUMNS: Final = (
    ("resource", "memory or disk"),
    ("candidate", "the limit that is tried"),
    ("octets", "the same in octets"),
    ("fired", "how often it would have set the alarm"),
    ("seconds", "for how long in all"),
    ("in_force", "whether it is the one at the end of the window"),
    ("recommended", "whether it is the one to have"),
    ("command", "how it is set until the node stops, where that is worth typing"),
    ("node", "node"),
)


class Need(NamedTuple):
    """A node's history: how much there is of it, memory and disk space at worst, and how fast they changed within the
    time to react; the limits are the last ones.
    """

    node: str
    seen_from: datetime
    seen_until: datetime
    samples: int
    seen_s: float
    mem_peak: int
    mem_p999: int
    rise: int
    was_limited: bool
    mem_limit: int
    mem_total: int
    watermark: float | None
    paging_ratio: float | None
    disk_limit: int
    disk_last: int | None
    disk_least: int | None
    fall: int | None


class Tried(NamedTuple):
    """How often a candidate would have set the alarm, and for how long."""

    fired: int
    seconds: float


def replay(samples: pa.Table, resource: str, octets: int) -> Tried:
    """Return how often and for how long a limit would have been exceeded; `samples` are a node's, in their order."""
    is_memory = resource == "memory"
    exceeds = pc.greater(samples["mem_used"], octets) if is_memory else pc.less(samples["disk_free"], octets)
    short = pc.fill_null(exceeds, False).combine_chunks()
    begins = pc.and_(short, pc.invert(pc.fill_null(shifted(short), False)))
    ms = pc.sum(pc.if_else(short, _lasted_ms(samples), 0)).as_py() or 0
    return Tried(pc.sum(begins).as_py() or 0, (ms + 50) // 100 / 10)


def _lasted_ms(samples: pa.Table) -> pa.Array:
    """Return for how long each sample stands."""
    ms = pc.divide(samples["ts"].cast(pa.int64()), 1_000).combine_chunks()
    following = pa.concat_arrays([ms.slice(1), ms.slice(len(ms) - 1)])
    # The last one stands for nothing.
    return pc.min_element_wise(pc.subtract(following, ms), SAMPLE_MS_MAX)


def need(node: str, samples: pa.Table) -> Need:
    """Return what a node needed, by its samples in their order."""
    used, free = samples["mem_used"], samples["disk_free"]
    free_limits, times = pc.min_max(free), pc.min_max(samples["ts"])
    last = samples.slice(samples.num_rows - 1).to_pylist()[0]
    known = pc.sort_indices(used).slice(0, samples.num_rows - used.null_count)
    # The value that so many of all are no more than.
    rank = max(1, -(-len(known) * 999 // 1_000))
    return Need(
        node=node,
        seen_from=times["min"].as_py(),
        seen_until=times["max"].as_py(),
        samples=samples.num_rows,
        seen_s=pc.sum(_lasted_ms(samples)).as_py() / 1_000,
        mem_peak=pc.max(used).as_py(),
        mem_p999=used[known[rank - 1].as_py()].as_py(),
        rise=_fastest(samples, "mem_used") or 0,
        was_limited=bool(pc.any(pc.greater(used, samples["mem_limit"])).as_py()),
        **{name: last[name] for name in ("mem_limit", "mem_total", "watermark", "paging_ratio", "disk_limit")},
        disk_last=last["disk_free"],
        disk_least=free_limits["min"].as_py(),
        fall=_fastest(samples, "disk_free", falls=True),
    )


def _fastest(samples: pa.Table, name: str, *, falls: bool = False) -> int | None:
    """Return by how much a column rose, or fell, within the time to react at most; None without any value."""
    values = pc.negate(samples[name]) if falls else samples[name]
    second = pc.divide(samples["ts"].cast(pa.int64()), 1_000_000)
    rows = pa.table({"at": second, "value": values}).filter(pc.is_valid(values))
    ends = rows.group_by("at", use_threads=False).aggregate([("value", "min"), ("value", "max")])
    least: deque[tuple[int, int]] = deque()
    fastest = None
    for at, low, high in zip(*(ends[each].to_pylist() for each in ("at", "value_min", "value_max")), strict=True):
        # The lowest of the time before, and after it those that are the lowest once it is too old.
        while least and least[-1][1] >= low:
            least.pop()
        least.append((at, low))
        while least[0][0] < at - REACTION_S:
            least.popleft()
        fastest = max(fastest or 0, high - least[0][1])
    return fastest


def candidates(need: Need, wanted: "Mapping[str, Choice]") -> list[tuple[str, str, int, bool, bool, str]]:
    """Return what is tried on a node: resource, label, octets, in force, recommended, command."""
    tried: dict[tuple[str, int], str] = {}
    for part in WATERMARKS:
        tried["memory", int(part * need.mem_total)] = f"{part:g}"
    in_force = limit_advice.size(need.mem_limit) if need.watermark is None else f"{need.watermark:g}"
    tried["memory", need.mem_limit] = in_force
    if "disk" in wanted:
        for octets in (*DISK_LIMITS, need.disk_limit):
            tried["disk", octets] = limit_advice.size(octets)
    for resource, one in wanted.items():
        tried[resource, one.octets] = one.label
    force = {"memory": need.mem_limit, "disk": need.disk_limit}
    rows = []
    for (resource, octets), label in sorted(tried.items(), key=lambda each: (each[0][0] != "memory", each[0][1])):
        one = wanted[resource]
        chosen = octets == one.octets
        rows.append((resource, label, octets, octets == force[resource], chosen, one.command if chosen else ""))
    return rows


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    samples = nodes.together(run.rows(NODE_SAMPLE, READ))
    found = [need(node, mine) for node, mine in samples.items()]
    rows, advice, summary = [], [], [("nodes", len(found))]
    plots = []
    for each in found:
        wanted = {"memory": limit_advice.memory(each)}
        if each.disk_least is not None:
            wanted["disk"] = limit_advice.disk(each)
        figures = {}
        for resource, label, octets, in_force, chosen, command in candidates(each, wanted):
            one = figures[resource, octets] = replay(samples[each.node], resource, octets)
            rows.append((resource, label, octets, one.fired, one.seconds, in_force, chosen, command, each.node))
        # Of a single node there is no need to say which.
        place = f"{each.node}: " if len(found) > 1 else ""
        advice += [f"{place}{sentence}" for sentence in _advice(each, wanted, figures)]
        summary += [(f"{place}{label}", value) for label, value in _summary(each)]
        plots += [_plot(rows, each.node, resource) for resource in ("memory", "disk")]
    return run.report(
        "capacity", COLUMNS, rows, summary=summary, advice=advice, plots=[plot for plot in plots if plot["bars"]]
    )


def _summary(need: Need) -> list[tuple[str, Any]]:
    seen = f"{counted(need.samples, 'sample')}, sampled for {_span(need.seen_s)}"
    history = f"{iso(need.seen_from)} to {iso(need.seen_until)}, {seen}"
    told = [
        ("history", history),
        ("most memory used, MiB", round(need.mem_peak / MIB, 1)),
        ("99.9th percentile of memory used, MiB", round(need.mem_p999 / MIB, 1)),
        ("available memory, MiB", round(need.mem_total / MIB, 1)),
        ("fastest rise in ten minutes, MiB", round((need.rise or 0) / MIB, 1)),
    ]
    if need.disk_least is not None:
        told += [
            ("least disk space free, MiB", round(need.disk_least / MIB, 1)),
            ("fastest fall in ten minutes, MiB", round((need.fall or 0) / MIB, 1)),
        ]
    return told


def _advice(need: Need, wanted: dict[str, Choice], figures: "Mapping[tuple[str, int], Tried]") -> list[str]:
    told = []
    if not limit_advice.is_enough(need):
        seen = f"{_span(need.seen_s)} of history ({counted(need.samples, 'sample')})"
        told.append(f"{seen} are too little to lower a limit, or to call one right: that takes {_span(HISTORY_S_MIN)}")
    force = {"memory": need.mem_limit, "disk": need.disk_limit}
    for resource, one in wanted.items():
        now = figures[resource, force[resource]]
        had = f"set the alarm {_times(now.fired)}, for {now.seconds:g} s" if now.fired else "never set the alarm"
        if not one.command:
            told.append(f"{resource}: leave the limit at {one.label}, which {had}: {one.why}")
            continue
        then = figures[resource, one.octets]
        verb = "raise" if one.octets > force[resource] else "lower"
        would = f"would have set the alarm {_times(then.fired)}" if then.fired else "would never have set the alarm"
        told.append(f"{resource}: {verb} the limit, which {had}: {one.command}")
        told.append(f"{resource}: {one.why}; {one.label} {would}")
        told.append(f"{resource}: the command holds until the node stops; for good, in pybroker.conf: {one.setting}")
    if wanted["memory"].command and need.was_limited:
        told.append("memory: the alarm held publishers, so they need at least so much; look again after the change")
    octets = int((need.mem_p999 + (need.rise or 0)) / WATERMARK_MAX)
    if octets > need.mem_total:
        told.append(f"memory: this machine is too small, it needs {octets / MIB:.0f} MiB")
    paging = limit_advice.paging(need, wanted["memory"].octets)
    if limit_advice.is_enough(need) and need.paging_ratio is not None and paging < need.paging_ratio - STEP / 2:
        setting = f"vm_memory_high_watermark_paging_ratio = {paging:g}"
        told.append(f"paging: {setting} in pybroker.conf leaves room for the fastest rise")
    return told


def _span(seconds: float) -> str:
    for unit, each in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * each:
            return f"{seconds / each:.3g} {unit}"
    return f"{seconds:.0f} seconds"


def _plot(rows: list[Any], node: str, resource: str) -> dict[str, Any]:
    mine = [row for row in rows if row[0] == resource and row[8] == node]
    bars = [{"name": row[1], "value": row[4], "note": _times(row[3]), "marked": row[6]} for row in mine]
    what = "memory limit" if resource == "memory" else "free disk limit"
    return {"kind": "columns", "title": f"Seconds of alarm with each {what}", "unit": "s", "bars": bars}


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")
