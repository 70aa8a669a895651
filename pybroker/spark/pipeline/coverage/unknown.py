"""The spans of a report's window of which the telemetry knows nothing, and why.

Nodes write a row of themselves at every interval whatever else there is no room for, so where these are apart the node
was down or its files are missing. Beside these are the gaps that a node told of itself, and lines that were no rows.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.spark.pipeline.columns import increments
from pybroker.spark.pipeline.columns.codes import in_order, shifted
from pybroker.spark.pipeline.columns.nodes import by_node
from pybroker.spark.pipeline.schemas import GAP, NODE_1M, NODE_SAMPLE
from pybroker.spark.pipeline.tables import BAD

if TYPE_CHECKING:
    from pybroker.spark.pipeline.run import Run

# Rows of a node that are further apart than this are a hole: a late one is none.
INTERVALS: Final = 2.5
# Of nodes that did not tell their interval, and of those of which only minutes are left.
INTERVAL_MS: Final = 10_000
MINUTE_MS: Final = 60_000
DAY_MS: Final = 86_400_000
WRITTEN: Final = pa.schema([(name, pa.int64()) for name in ("ms", "epoch", "seq", "interval_ms")])
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


def samples(run: "Run") -> "dict[str, pa.Table]":
    """Return when the rows of each node in the run's window were written."""
    names = ("node", "epoch", "seq", "interval_ms")
    return written(run.rows(NODE_SAMPLE, names), run.rows(NODE_1M, ("node",)))


def written(samples: "Iterable[pa.Table]", minutes: "Iterable[pa.Table]") -> "dict[str, pa.Table]":
    """Return columns `ms`, `epoch`, `seq` and `interval_ms` of the rows of each node, in the order of their writing.

    Of dates whose samples are gone, minutes tell: these have neither epoch nor seq. Both come date by date.
    """
    found: dict[str, list[pa.Table]] = {}
    known = set()
    for rows in samples:
        for node, mine in by_node(rows):
            known.add((node, _ms(mine)[0].as_py() // DAY_MS))
            interval_ms = pc.fill_null(mine["interval_ms"], INTERVAL_MS)
            columns = [_ms(mine), mine["epoch"], mine["seq"], interval_ms]
            found.setdefault(node, []).append(pa.table(columns, schema=WRITTEN))
    for rows in minutes:
        for node, mine in by_node(rows):
            if (node, _ms(mine)[0].as_py() // DAY_MS) not in known:
                none = pa.nulls(mine.num_rows, pa.int64())
                columns = [_ms(mine), none, none, pa.repeat(pa.scalar(MINUTE_MS, pa.int64()), mine.num_rows)]
                found.setdefault(node, []).append(pa.table(columns, schema=WRITTEN))
    return {node: _as_written(pa.concat_tables(parts)) for node, parts in found.items()}


def _ms(rows: pa.Table) -> pa.ChunkedArray:
    return pc.divide(rows["ts"].cast(pa.int64()), 1_000)


def _as_written(rows: pa.Table) -> pa.Table:
    keys = [pc.fill_null(rows[name], -1).combine_chunks() for name in ("epoch", "seq", "ms")]
    order = in_order(rows, keys)
    return (rows if order is None else rows.take(order)).combine_chunks()


def unknown_spans(run: "Run", rows: "Mapping[str, pa.Table]") -> list[Unknown]:
    """Return the spans of the run's window of which nothing is known, in their order; `rows` are samples of it."""
    since, until = run.window.since, run.window.until
    bad = bad_spans(run.warehouse.folder / BAD)
    found = [*holes(rows, since, until), *told(_gaps(run), rows, until), *bad]
    clipped = [span._replace(since=max(span.since, since), until=min(span.until, until)) for span in found]
    return sorted({span for span in _explained(clipped) if span.since < span.until}, key=_order)


def holes(rows: "Mapping[str, pa.Table]", since: datetime, until: datetime) -> Iterator[Unknown]:
    """Yield where rows of a node are too far apart, and at both ends of the window; without any rows, all of it."""
    if not rows:
        yield Unknown("", "", since, until, BEFORE)
    for node, mine in rows.items():
        ms, interval_ms, epoch = (mine[name].combine_chunks() for name in ("ms", "interval_ms", "epoch"))
        before_ms, epoch_before = shifted(ms), shifted(epoch)
        longest = pc.multiply(pc.max_element_wise(interval_ms, shifted(interval_ms)).cast(pa.float64()), INTERVALS)
        is_hole = pc.fill_null(pc.greater(pc.subtract(ms, before_ms), longest), False)
        is_start = pc.fill_null(pc.not_equal(epoch, epoch_before), False)
        ends = (column.filter(is_hole).to_pylist() for column in (before_ms, ms, is_start))
        for begin, end, is_down in zip(*ends, strict=True):
            yield Unknown(node, "", at_ms(begin), at_ms(end), DOWN if is_down else MISSING)
        limits = pc.min_max(ms)
        first, last = at_ms(limits["min"].as_py()), at_ms(limits["max"].as_py())
        late = timedelta(milliseconds=pc.max(interval_ms).as_py() * INTERVALS)
        if first - since > late:
            yield Unknown(node, "", since, first, BEFORE)
        if until - last > late:
            yield Unknown(node, "", last, until, AFTER)


def _gaps(run: "Run") -> list[dict[str, Any]]:
    """Return all rows of the table gap: one from before the window may reach into it."""
    folders = [run.warehouse.partition(GAP.name, day) for day in run.warehouse.dates(GAP.name)]
    columns = increments.schema(GAP, {"ts", *GAP.key, "to_ms"})
    rows = increments.read([part for folder in folders for part in increments.parts(folder)], columns)
    found: list[dict[str, Any]] = rows.to_pylist()
    return found


def told(gaps: "Iterable[Mapping[str, Any]]", rows: "Mapping[str, pa.Table]", until: datetime) -> Iterator[Unknown]:
    """Yield the gaps that nodes told of; one without an end lasts until the node was seen last in that start."""
    ends: dict[tuple[Any, ...], int | None] = {}
    for row in gaps:
        key = tuple(row[name] for name in GAP.key)
        ends[key] = max((ms for ms in (ends.get(key), row["to_ms"]) if ms is not None), default=None)
    nodes = {node for node, *_ in ends}
    seen = {
        (node, start["epoch"]): start["ms_max"]
        for node in nodes & {*rows}
        for start in rows[node].group_by("epoch").aggregate([("ms", "max")]).to_pylist()
    }
    for (node, epoch, table, from_ms, why), to_ms in ends.items():
        end_ms = to_ms or seen.get((node, epoch))
        end = until if end_ms is None else at_ms(max(end_ms, from_ms))
        yield Unknown(node, table, at_ms(from_ms), end, why)


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
