"""The spans of a report's window of which the telemetry knows nothing, and why.

Nodes write a row of themselves at every interval whatever else there is no room for, so where these are apart the node
was down or its files are missing. Beside these are the gaps that a node told of itself, and lines that were no rows.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.spark.pipeline.schemas import GAP, NODE_1M, NODE_SAMPLE
from pybroker.spark.pipeline.tables import BAD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pybroker.spark.pipeline.run import Run

# Rows of a node that are further apart than this are a hole: a late one is none.
INTERVALS: Final = 2.5
# Of nodes that did not tell their interval, and of those of which only minutes are left.
INTERVAL_MS: Final = 10_000
MINUTE_MS: Final = 60_000
# Bad lines that are no further apart belong together.
TOGETHER_MS: Final = 60_000

BEFORE: Final = "before"  # no telemetry yet
DOWN: Final = "down"  # the node was not running
MISSING: Final = "missing"  # it was, but its rows are not there
AFTER: Final = "after"  # no telemetry any more, or not read yet
CORRUPTED: Final = "corrupted"
FORWARD: Final = "clock_forward"

_TIME: Final = re.compile(r'"ts":(\d{12,14})')
_NODE: Final = re.compile(r'"node":"([^"\\]*)"')


class Unknown(NamedTuple):
    """A span; an empty `table` stands for all of them, an empty `node` for any.

    `why` is before, down, missing, after or corrupted, or what the table gap says: disk, failed, overflow,
    clock_forward or clock_back. With the last, all is known of the span, but twice.
    """

    node: str
    table: str
    since: datetime
    until: datetime
    why: str


def unknown_spans(run: "Run") -> list[Unknown]:
    """Return the spans of the run's window of which nothing is known, in their order."""
    samples, minutes = run.read(NODE_SAMPLE), run.read(NODE_1M)
    gaps = run.warehouse.read(run.spark, GAP, run.warehouse.dates(GAP.name))
    since, until = run.window.since, run.window.until
    bad = bad_spans(run.warehouse.folder / BAD)
    found = [*holes(samples, minutes, since, until), *told(gaps, samples, until), *bad]
    clipped = [span._replace(since=max(span.since, since), until=min(span.until, until)) for span in found]
    return sorted({span for span in _explained(clipped) if span.since < span.until}, key=_order)


def holes(samples: "DataFrame", minutes: "DataFrame", since: datetime, until: datetime) -> Iterator[Unknown]:
    """Yield where rows of a node are too far apart, and at both ends of the window; without any rows, all of it."""
    from pyspark.sql import Window, functions as f  # noqa: PLC0415 - takes a moment

    older = minutes.join(samples.select("node", "date").distinct(), ["node", "date"], "left_anti")
    rows = samples.select(
        "node", "ts", "epoch", "seq", f.coalesce("interval_ms", f.lit(INTERVAL_MS)).alias("interval_ms")
    ).unionByName(
        older.select("node", "ts", f.lit(MINUTE_MS).alias("interval_ms")),
        allowMissingColumns=True,
    )
    order = Window.partitionBy("node").orderBy("epoch", "seq", "ts")
    ms = f.unix_millis("ts")
    ordered = rows.select(
        "node",
        ms.alias("ms"),
        f.lag(ms).over(order).alias("before_ms"),
        "interval_ms",
        f.lag("interval_ms").over(order).alias("interval_before_ms"),
        (f.lag("epoch").over(order) != f.col("epoch")).alias("is_start"),
    )
    longest = f.greatest("interval_ms", "interval_before_ms") * INTERVALS
    for row in ordered.where(f.col("ms") - f.col("before_ms") > longest).collect():
        yield Unknown(row.node, "", at_ms(row.before_ms), at_ms(row.ms), DOWN if row.is_start else MISSING)
    ends = rows.groupBy("node").agg(
        f.min(ms).alias("first"), f.max(ms).alias("last"), f.max("interval_ms").alias("interval_ms")
    )
    nodes = ends.collect()
    if not nodes:
        yield Unknown("", "", since, until, BEFORE)
    for row in nodes:
        late = timedelta(milliseconds=row.interval_ms * INTERVALS)
        if at_ms(row.first) - since > late:
            yield Unknown(row.node, "", since, at_ms(row.first), BEFORE)
        if until - at_ms(row.last) > late:
            yield Unknown(row.node, "", at_ms(row.last), until, AFTER)


def told(gaps: "DataFrame", samples: "DataFrame", until: datetime) -> Iterator[Unknown]:
    """Yield the gaps that nodes told of; one without an end lasts until the node was seen last in that start."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - takes a moment

    whole = gaps.groupBy("node", "epoch", "table", "from_ms", "why").agg(f.max("to_ms").alias("to_ms"))
    seen = samples.groupBy("node", "epoch").agg(f.max(f.unix_millis("ts")).alias("seen_ms"))
    for row in whole.join(seen, ["node", "epoch"], "left").collect():
        end_ms = row.to_ms or row.seen_ms
        end = until if end_ms is None else at_ms(max(end_ms, row.from_ms))
        yield Unknown(row.node, row.table, at_ms(row.from_ms), end, row.why)


def bad_spans(folder: Path) -> Iterator[Unknown]:
    """Yield the spans of lines that were no rows: by the times in them, else the hour of their file."""
    for path in sorted(folder.glob("*/*")):
        table, text = path.parent.name, path.read_text(encoding="utf-8", errors="replace")
        times: dict[str, list[int]] = {}
        for line in text.splitlines():
            time, node = _TIME.search(line), _NODE.search(line)
            if time is None:
                hour = datetime.strptime(path.name[:11], "%Y%m%dT%H").replace(tzinfo=UTC)
                yield Unknown("", table, hour, hour + timedelta(hours=1), CORRUPTED)
            else:
                times.setdefault(node[1] if node else "", []).append(int(time[1]))
        for node_name, found in times.items():
            for first, last in _together(sorted(found)):
                yield Unknown(node_name, table, at_ms(first - INTERVAL_MS), at_ms(last + 1), CORRUPTED)


def _together(times: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for time in times:
        if first is None or last is None or time - last > TOGETHER_MS:
            if first is not None and last is not None:
                yield first, last
            first = time
        last = time
    if first is not None and last is not None:
        yield first, last


def _explained(spans: list[Unknown]) -> Iterator[Unknown]:
    """Yield them but holes for which a node told the cause: its clock was set forward."""
    forward = [span for span in spans if span.why == FORWARD]
    for span in spans:
        if span.why != MISSING or not any(_is_cause(each, span) for each in forward):
            yield span


def _is_cause(forward: Unknown, hole: Unknown) -> bool:
    return forward.node == hole.node and forward.since < hole.until and hole.since < forward.until


def _order(span: Unknown) -> Any:
    return span.since, span.until, span.node, span.table, span.why


def at_ms(ms: int) -> datetime:
    """Return the time so many milliseconds after the beginning of 1970."""
    return datetime.fromtimestamp(ms / 1000, UTC)
