"""Coverage: of which part of a window the telemetry tells, and the holes in it."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

from pybroker.humanize import lasting
from pybroker.spark.pipeline.schemas import NODE_SAMPLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pybroker.spark.pipeline.run import Run, Window
    from pybroker.spark.pipeline.tables import Warehouse

# A node has a sample each interval, of ten seconds by default: three that are missing are a hole.
HOLE_S: Final = 60
INTERVALS: Final = 3
HOLES_MAX: Final = 20


class Coverage(NamedTuple):
    """The first and the last sample of any node, and sentences on what is not known; None without a sample."""

    seen_from: datetime | None
    seen_until: datetime | None
    incomplete: list[str]


# All reports of a run have the same one.
_known: WeakKeyDictionary["Warehouse", dict["Window", Coverage]] = WeakKeyDictionary()


def coverage(run: "Run") -> Coverage:
    """Return what is covered of the window of a run."""
    known = _known.setdefault(run.warehouse, {})
    if run.window not in known:
        known[run.window] = _look(run)
    return known[run.window]


def _look(run: "Run") -> Coverage:
    if not set(run.warehouse.dates(NODE_SAMPLE.name)) & set(run.window.dates):
        return Coverage(None, None, [])
    from pyspark.sql import functions as f  # noqa: PLC0415 - takes a moment

    samples = run.read(NODE_SAMPLE)
    ends = [f.unix_timestamp(of("ts")).alias(name) for name, of in (("begin", f.min), ("end", f.max))]
    nodes = samples.groupBy("node").agg(*ends).orderBy("node").collect()
    if not nodes:
        return Coverage(None, None, [])
    begin, end = min(row.begin for row in nodes), max(row.end for row in nodes)
    told = [_hole(row.node, row.begin, row.end) for row in holes(samples).limit(HOLES_MAX).collect()]
    told += [_hole(row.node, row.end, end) for row in nodes if end - row.end > HOLE_S * INTERVALS]
    return Coverage(_moment(begin), _moment(end), told)


def holes(samples: "DataFrame") -> "DataFrame":
    """Return node, `begin` and `end`, in seconds since 1970, of each hole in node_sample, the longest first."""
    from pyspark.sql import Window, functions as f  # noqa: PLC0415 - takes a moment

    order = Window.partitionBy("node").orderBy("ts")
    at = f.unix_timestamp("ts")
    known = samples.select("node", f.lag(at).over(order).alias("begin"), at.alias("end"))
    known = known.withColumn("seconds", f.col("end") - f.col("begin"))
    usual = known.groupBy("node").agg(f.percentile_approx("seconds", 0.5).alias("usual"))
    least = f.greatest(f.col("usual") * INTERVALS, f.lit(HOLE_S))
    found = known.join(f.broadcast(usual), "node").where(f.col("seconds") > least)
    return found.select("node", "begin", "end").orderBy(f.col("begin") - f.col("end"), "begin", "node")


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _hole(node: str, begin: int, end: int) -> str:
    since, until = (f"{_moment(each):%Y-%m-%d %H:%M:%S}" for each in (begin, end))
    return f"{node}: nothing from {since} to {until} ({lasting(1000 * (end - begin))})"
