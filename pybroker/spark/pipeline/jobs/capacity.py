"""capacity: which memory and disk limits are right?

Candidates are replayed over what happened: how often each would have set the alarm, and for how long. What is
recommended leaves room for the worst ten minutes there were: as long as somebody needs to react. While an alarm holds
publishers memory grows no further, so where the limit in force was reached what is needed is told as at least so much.
"""

import math
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window, functions as f

from pybroker.spark.pipeline.schemas import NODE_SAMPLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from pybroker.spark.pipeline.run import Run

REACTION_S: Final = 600
# A sample stands for the time to the next one, but not for a night in which the node did not run.
SAMPLE_MS_MAX: Final = 60_000
WATERMARKS: Final = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
# Beyond this memory is to be bought: the garbage collector and the kernel need the rest.
WATERMARK_MAX: Final = 0.8
STEP: Final = 0.05
DISK_LIMITS: Final = tuple(n * 1_000_000 for n in (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000))
PAGING_MIN, PAGING_MAX = 0.3, 0.9
MIB: Final = 1 << 20

COLUMNS: Final = (
    ("resource", "memory or disk"),
    ("candidate", "the limit that is tried"),
    ("octets", "the same in octets"),
    ("fired", "how often it would have set the alarm"),
    ("seconds", "for how long in all"),
    ("in_force", "whether it is the one at the end of the window"),
    ("recommended", "whether it is the one to choose"),
    ("command", "how it is set until the node stops; pybroker.conf(5) has the key for good"),
    ("node", "node"),
)


def replay(samples: "DataFrame", candidates: "DataFrame") -> "DataFrame":
    """Return how often and for how long each would have been exceeded.

    `candidates` have node, resource and limit in octets; `samples` are node_sample.
    """
    order = Window.partitionBy("node").orderBy("ts")
    lasted = f.least(f.unix_millis(f.lead("ts").over(order)) - f.unix_millis("ts"), f.lit(SAMPLE_MS_MAX))
    timed = samples.withColumn("lasted_ms", f.coalesce(lasted, f.lit(0)))
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


def needs(samples: "DataFrame") -> "DataFrame":
    """Return for each node what was used and free at worst, and how fast that changed within the time to react."""
    before = Window.partitionBy("node").orderBy(f.unix_timestamp("ts")).rangeBetween(-REACTION_S, 0)
    moving = samples.withColumn("rise", f.col("mem_used") - f.min("mem_used").over(before)).withColumn(
        "fall", f.max("disk_free").over(before) - f.col("disk_free")
    )
    last = [
        f.max_by(name, "ts").alias(name)
        for name in ("mem_total", "mem_limit", "watermark", "disk_limit", "paging_ratio")
    ]
    return moving.groupBy("node").agg(
        f.max("mem_used").alias("mem_peak"),
        f.percentile_approx("mem_used", 0.999, 10_000).alias("mem_p999"),
        f.max("rise").alias("rise"),
        f.min("disk_free").alias("disk_least"),
        f.max("fall").alias("fall"),
        f.max(f.col("mem_used") > f.col("mem_limit")).alias("was_limited"),
        *last,
    )


def recommended_watermark(need: "Row") -> float:
    """Return the part of the memory that holds what was used and the fastest rise, in steps of 0.05."""
    part = (need.mem_p999 + (need.rise or 0)) / need.mem_total
    return float(min(WATERMARK_MAX, max(STEP, math.ceil(round(part / STEP, 6)) * STEP)))


def recommended_disk(need: "Row") -> int:
    """Return the least candidate that the fastest fall does not eat up before somebody can react."""
    return next((limit for limit in DISK_LIMITS if limit >= (need.fall or 0)), DISK_LIMITS[-1])


def recommended_paging(need: "Row", limit: float) -> float:
    """Return from which part of a limit on messages must leave memory so that the fastest rise does not reach it."""
    part = 1 - (need.rise or 0) / limit if limit else PAGING_MIN
    return round(min(PAGING_MAX, max(PAGING_MIN, math.floor(round(part / STEP, 6)) * STEP)), 2)


def candidates(need: "Row") -> list[tuple[str, str, int, bool, bool, str]]:
    """Return what is tried on a node: resource, label, octets, in force, recommended, command."""
    found: dict[tuple[str, int], tuple[str, str, int, bool, bool, str]] = {}

    def add(resource: str, label: str, octets: int, command: str, *, chosen: bool) -> None:
        in_force = octets == (need.mem_limit if resource == "memory" else need.disk_limit)
        was = found.get((resource, octets))
        found[resource, octets] = (resource, label, octets, in_force, chosen or bool(was and was[4]), command)

    chosen = round(recommended_watermark(need), 2)
    for part in sorted({*WATERMARKS, chosen}):
        octets = int(part * need.mem_total)
        add("memory", f"{part:g}", octets, f"pybrokerctl set_vm_memory_high_watermark {part:g}", chosen=part == chosen)
    if ("memory", need.mem_limit) not in found:
        command = f"pybrokerctl set_vm_memory_high_watermark absolute {need.mem_limit}"
        if need.watermark is not None:
            command = f"pybrokerctl set_vm_memory_high_watermark {need.watermark:g}"
        add(
            "memory",
            "in force" if need.watermark is None else f"{need.watermark:g}",
            need.mem_limit,
            command,
            chosen=False,
        )
    if need.disk_least is not None:
        limit = recommended_disk(need)
        for octets in sorted({*DISK_LIMITS, need.disk_limit}):
            label = size(octets)
            add("disk", label, octets, f"pybrokerctl set_disk_free_limit {label}", chosen=octets == limit)
    return sorted(found.values(), key=lambda one: (one[0] != "memory", one[2]))


def size(octets: int) -> str:
    """Return octets as commands take them: 2GB, 500MB, else plain."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6)):
        if octets >= factor and octets % factor == 0:
            return f"{octets // factor}{unit}"
    return str(octets)


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    samples = run.read(NODE_SAMPLE)
    found = needs(samples).orderBy("node").collect()
    rows, advice, summary = [], [], [("nodes", len(found))]
    plots = []
    for need in found:
        tried = candidates(need)
        limits = run.spark.createDataFrame(
            [(need.node, resource, octets) for resource, _, octets, *_ in tried],
            "node STRING, resource STRING, octets BIGINT",
        )
        figures = {(row.resource, row.octets): row for row in replay(samples, limits).collect()}
        for resource, label, octets, in_force, chosen, command in tried:
            one = figures[resource, octets]
            rows.append((resource, label, octets, one.fired, one.seconds, in_force, chosen, command, need.node))
        advice += _advice(need, rows)
        summary += _summary(need)
        plots += [_plot(rows, need.node, resource) for resource in ("memory", "disk")]
    return run.report(
        "capacity", COLUMNS, rows, summary=summary, advice=advice, plots=[plot for plot in plots if plot["bars"]]
    )


def _summary(need: "Row") -> list[tuple[str, Any]]:
    told = [
        (f"{need.node}: most memory used, MiB", round(need.mem_peak / MIB, 1)),
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


def _advice(need: "Row", rows: list[Any]) -> list[str]:
    mine = [row for row in rows if row[8] == need.node]
    told = []
    for resource in ("memory", "disk"):
        chosen = next((row for row in mine if row[0] == resource and row[6]), None)
        if chosen is None:
            continue
        fired = f"would have set the alarm {_times(chosen[3])}"
        text = "the limit in force is right" if chosen[5] else chosen[7]
        told.append(f"{resource}: {text} ({chosen[1]} {fired})")
    watermark = recommended_watermark(need)
    wanted = (need.mem_p999 + (need.rise or 0)) / need.mem_total
    if wanted > WATERMARK_MAX:
        octets = int((need.mem_p999 + (need.rise or 0)) / WATERMARK_MAX)
        told.append(f"memory: this machine is too small, it needs {octets / MIB:.0f} MiB")
    if need.was_limited:
        told.append("memory: the alarm held publishers, so they need at least so much; look again after the change")
    paging = recommended_paging(need, watermark * need.mem_total)
    if need.paging_ratio is None or abs(paging - need.paging_ratio) > STEP / 2:
        told.append(f"paging: vm_memory_high_watermark_paging_ratio = {paging:g} leaves room for the fastest rise")
    return told


def _plot(rows: list[Any], node: str, resource: str) -> dict[str, Any]:
    mine = [row for row in rows if row[0] == resource and row[8] == node]
    bars = [{"name": row[1], "value": row[4], "note": _times(row[3]), "marked": row[6]} for row in mine]
    what = "memory limit" if resource == "memory" else "free disk limit"
    return {"kind": "columns", "title": f"Seconds of alarm with each {what}", "unit": "s", "bars": bars}


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")
