"""capacity: which memory and disk limits are right?

Candidates are replayed over the history: how often each would have set the alarm, and for how long. The recommendation
(limit_advice.py) leaves room for the worst ten minutes of the history: as long as somebody needs to react. While an
alarm holds publishers, memory grows no further; so if a limit was reached, the need is reported as "at least".
"""

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window, functions as f

from pybroker.humanize import counted
from pybroker.spark.pipeline.jobs import limit_advice
from pybroker.spark.pipeline.jobs.limit_advice import DISK_LIMITS, HISTORY_S_MIN, MIB, STEP, WATERMARK_MAX, Choice
from pybroker.spark.pipeline.run import iso
from pybroker.spark.pipeline.schemas import NODE_SAMPLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, Row

    from pybroker.spark.pipeline.run import Run

REACTION_S: Final = 600
# A sample stands for the time to the next one, but not for a night in which the node did not run.
SAMPLE_MS_MAX: Final = 60_000
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


def replay(samples: "DataFrame", candidates: "DataFrame") -> "DataFrame":
    """Return how often and for how long each would have been exceeded.

    `candidates` have node, resource and limit in octets; `samples` are node_sample.
    """
    timed = samples.withColumn("lasted_ms", _lasted_ms())
    short = f.when(f.col("resource") == "memory", f.col("mem_used") > f.col("octets")).otherwise(
        f.coalesce(f.col("disk_free") < f.col("octets"), f.lit(False))
    )
    tried = timed.join(f.broadcast(candidates), "node").withColumn("short", short)
    each = Window.partitionBy("node", "resource", "octets").orderBy("ts")
    begins = f.col("short") & ~f.coalesce(f.lag("short").over(each), f.lit(False))
    return (
        tried.withColumn("begins", begins)
        .groupBy("node", "resource", "octets")
        .agg(
            f.sum(f.col("begins").cast("int")).alias("fired"),
            f.round(f.sum(f.when(f.col("short"), f.col("lasted_ms")).otherwise(0)) / 1000, 1).alias("seconds"),
        )
    )


def _lasted_ms() -> "Column":
    """Return for how long a sample stands."""
    order = Window.partitionBy("node").orderBy("ts")
    # The last one stands for nothing. (`least` passes over what is null.)
    lasted = f.unix_millis(f.lead("ts").over(order)) - f.unix_millis("ts")
    return f.least(f.coalesce(lasted, f.lit(0)), f.lit(SAMPLE_MS_MAX))


def needs(samples: "DataFrame") -> "DataFrame":
    """Return for each node what was used and free at worst, how fast that changed within the time to react, and how
    much history says so.
    """
    before = Window.partitionBy("node").orderBy(f.unix_timestamp("ts")).rangeBetween(-REACTION_S, 0)
    moving = samples.withColumn("rise", f.col("mem_used") - f.min("mem_used").over(before)).withColumn(
        "fall", f.max("disk_free").over(before) - f.col("disk_free")
    )
    last = [
        f.max_by(name, "ts").alias(name)
        for name in ("mem_total", "mem_limit", "watermark", "disk_limit", "paging_ratio")
    ]
    timed = moving.withColumn("lasted_ms", _lasted_ms())
    return timed.groupBy("node").agg(
        f.min("ts").alias("seen_from"),
        f.max("ts").alias("seen_until"),
        f.count("ts").alias("samples"),
        (f.sum("lasted_ms") / 1000).alias("seen_s"),
        f.max_by("disk_free", "ts").alias("disk_last"),
        f.max("mem_used").alias("mem_peak"),
        f.percentile_approx("mem_used", 0.999, 10_000).alias("mem_p999"),
        f.max("rise").alias("rise"),
        f.min("disk_free").alias("disk_least"),
        f.max("fall").alias("fall"),
        f.max(f.col("mem_used") > f.col("mem_limit")).alias("was_limited"),
        *last,
    )


def candidates(need: "Row", wanted: "Mapping[str, Choice]") -> list[tuple[str, str, int, bool, bool, str]]:
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
    samples = run.read(NODE_SAMPLE)
    found = needs(samples).orderBy("node").collect()
    rows, advice, summary = [], [], [("nodes", len(found))]
    plots = []
    for need in found:
        wanted = {"memory": limit_advice.memory(need)}
        if need.disk_least is not None:
            wanted["disk"] = limit_advice.disk(need)
        tried = candidates(need, wanted)
        limits = run.spark.createDataFrame(
            [(need.node, resource, octets) for resource, _, octets, *_ in tried],
            "node STRING, resource STRING, octets BIGINT",
        )
        figures = {(row.resource, row.octets): row for row in replay(samples, limits).collect()}
        for resource, label, octets, in_force, chosen, command in tried:
            one = figures[resource, octets]
            rows.append((resource, label, octets, one.fired, one.seconds, in_force, chosen, command, need.node))
        # Of a single node there is no need to say which.
        place = f"{need.node}: " if len(found) > 1 else ""
        advice += [f"{place}{sentence}" for sentence in _advice(need, wanted, figures)]
        summary += [(f"{place}{label}", value) for label, value in _summary(need)]
        plots += [_plot(rows, need.node, resource) for resource in ("memory", "disk")]
    return run.report(
        "capacity", COLUMNS, rows, summary=summary, advice=advice, plots=[plot for plot in plots if plot["bars"]]
    )


def _summary(need: "Row") -> list[tuple[str, Any]]:
    seen = f"{counted(need.samples, 'sample')}, {_span(need.seen_s)} of it seen"
    history = f"{iso(need.seen_from)} to {iso(need.seen_until)}, {seen}"
    told = [
        ("history", history),
        ("most memory used, MiB", round(need.mem_peak / MIB, 1)),
        ("of a thousand samples 999 had no more than, MiB", round(need.mem_p999 / MIB, 1)),
        ("memory there is, MiB", round(need.mem_total / MIB, 1)),
        ("fastest rise in ten minutes, MiB", round((need.rise or 0) / MIB, 1)),
    ]
    if need.disk_least is not None:
        told += [
            ("least disk space free, MiB", round(need.disk_least / MIB, 1)),
            ("fastest fall in ten minutes, MiB", round((need.fall or 0) / MIB, 1)),
        ]
    return told


def _advice(need: "Row", wanted: dict[str, Choice], figures: "Mapping[tuple[str, int], Row]") -> list[str]:
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
