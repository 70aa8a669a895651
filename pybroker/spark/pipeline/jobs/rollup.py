"""rollup: samples become minutes and hours, totals become counts.

A count is the difference of two totals of one thing in one start of the node; of a thing's first row it is the total,
which began at 0. So a restart, and a queue that is deleted and declared again, neither lose nor invent a message. The
order of rows is that in which the node wrote them: where a clock was set back, the rows of both passes share minutes.

A date is made from its first new row on, a little by this process, much in Spark's tasks, one a date; either way by
`minutes`, some hours at a time.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pybroker.spark.pipeline import session
from pybroker.spark.pipeline.columns import codes, increments
from pybroker.spark.pipeline.jobs import aggregation
from pybroker.spark.pipeline.jobs.aggregation import Recipe, Span
from pybroker.spark.pipeline.replacement import PARTITION
from pybroker.spark.pipeline.schemas import (
    CONNECTION_1M,
    CONNECTION_SAMPLE,
    GAP,
    NODE_1M,
    NODE_SAMPLE,
    QUEUE_1H,
    QUEUE_1M,
    QUEUE_SAMPLE,
    SAMPLES_KEPT,
    Table,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pybroker.spark.pipeline.run import Run

QUEUE_TOTALS: Final = {
    "publish": "publish_total",
    "deliver": "deliver_total",
    "ack": "ack_total",
    "redeliver": "redeliver_total",
    "expired": "expired_total",
    "dropped": "dropped_total",
    "rejected": "rejected_total",
    "delivery_limited": "delivery_limit_total",
    "requeued": "requeue_total",
    "refused": "refused_total",
    "purged": "purged_total",
}
CONNECTION_TOTALS: Final = {
    "recv": "recv_oct",
    "send": "send_oct",
    "blocked_ms": "blocked_ms_total",
    "flow_ms": "flow_ms_total",
    "publish": "publish_total",
    "deliver": "deliver_total",
}
NODE_TOTALS: Final = {
    "publish": "publish_total",
    "returned": "returned_total",
    "unroutable": "unroutable_total",
    "cpu_ms": "cpu_ms_total",
}

# The column that each is made of, and how: see Recipe.
QUEUE_MINUTE: Final = {
    "ready_max": ("ready", "max"),
    "ready_last": ("ready", "last"),
    "unacked_max": ("unacked", "max"),
    "unacked_last": ("unacked", "last"),
    "consumers_min": ("consumers", "min"),
    "consumers_last": ("consumers", "last"),
    "bytes_first": ("bytes", "first"),
    "bytes_last": ("bytes", "last"),
    "paged_out_max": ("paged_out", "max"),
    "length_max": ("length_max", "last"),
    "octets_max": ("octets_max", "last"),
    "head_age_target_ms": ("head_age_target_ms", "last"),
    "time_to_consume_target_ms": ("time_to_consume_target_ms", "last"),
    "consumers_full_min": ("consumers_full", "min"),
    "head_age_ms_max": ("head_age_ms", "max"),
    "unacknowledged_age_ms_last": ("unacknowledged_age_ms", "last"),
    "discarded": ("discarded", "sum"),
    "deleted": ("deleted_ms", "last_is_there"),
    "last_ts": ("ts", "max"),
    "last_epoch": ("epoch", "last"),
    "last_seq": ("seq", "last"),
    "samples": ("ts", "count"),
}
# Hours of the minutes: counts are summed up.
_OF_MINUTES: Final = {"count": "sum", "last_is_there": "last"}
QUEUE_HOUR: Final = {name: (name, _OF_MINUTES.get(how, how)) for name, (_, how) in QUEUE_MINUTE.items()}
CONNECTION_MINUTE: Final = {
    "user": ("user", "last"),
    "vhost": ("vhost", "last"),
    "client_name": ("client_name", "last"),
    "connected_ms": ("connected_ms", "min"),
    "last_ts": ("ts", "max"),
    "recv_oct": ("recv", "sum"),
    "send_oct": ("send", "sum"),
    "blocked_ms": ("blocked_ms", "sum"),
    "flow_ms": ("flow_ms", "sum"),
    "flow_cause": (aggregation.FLOW_CAUSE, "last_known"),
    "publish": ("publish", "sum"),
    "deliver": ("deliver", "sum"),
    "samples": ("ts", "count"),
}
NODE_MINUTE: Final = {
    "mem_used_max": ("mem_used", "max"),
    "mem_limit": ("mem_limit", "last"),
    "mem_total": ("mem_total", "last"),
    "watermark": ("watermark", "last"),
    "paging_ratio": ("paging_ratio", "last"),
    "disk_free_min": ("disk_free", "min"),
    "disk_limit": ("disk_limit", "last"),
    "fds_max": ("fds", "max"),
    "loop_lag_ms_max": ("loop_lag_ms", "max"),
    "connections_max": ("connections", "max"),
    "samples": ("ts", "count"),
}


def _sums(totals: "Mapping[str, str]") -> dict[str, tuple[str, str]]:
    return {name: (name, "sum") for name in totals}


MADE: Final[tuple[tuple[Table, Table, Mapping[str, str], Mapping[str, tuple[str, str]]], ...]] = (
    (QUEUE_SAMPLE, QUEUE_1M, QUEUE_TOTALS, _sums(QUEUE_TOTALS) | QUEUE_MINUTE),
    (CONNECTION_SAMPLE, CONNECTION_1M, CONNECTION_TOTALS, CONNECTION_MINUTE),
    (NODE_SAMPLE, NODE_1M, NODE_TOTALS, _sums(NODE_TOTALS) | NODE_MINUTE),
    (QUEUE_1M, QUEUE_1H, {}, _sums(QUEUE_TOTALS) | QUEUE_HOUR),
)
# Spark takes seconds of CPU to say that it has begun: so many rows are read here in less.
HERE_ROWS_MAX: Final = 300_000


def recipe(source: Table, table: Table, totals: "Mapping[str, str]", made: "Mapping[str, tuple[str, str]]") -> Recipe:
    """Return how rows of a table are made of those of another, without any class of ours: it goes to executors."""
    return Recipe(
        source=increments.schema(source),
        table=increments.schema(table),
        key=source.key,
        by=table.key,
        totals=totals,
        made=made,
        unit_s=3_600 if table is QUEUE_1H else 60,
    )


def run(run: "Run") -> dict[str, Any]:
    """Make what is older than the samples that it is made of; return how many dates of each table that concerned."""
    figures = {}
    for source, table, totals, made in MADE:
        days = stale(run, source.name, table.name)
        if days:
            run.say(f"rollup: {table.name}: {len(days)} date{'s' * (len(days) != 1)}")
            run.warehouse.change(table, partial(_make, run, source, recipe(source, table, totals, made), days))
        figures[f"{table.name} dates"] = len(days)
    return figures


def _make(
    run: "Run", source: Table, recipe: Recipe, days: "Sequence[date]", staging: "Path", number: str
) -> "Mapping[date, datetime]":
    """Have dates made from their first new row on; return from when on each is another."""
    warehouse, table = run.warehouse, staging.name.partition(".")[0]
    back = _set_back(run) if recipe.totals else []
    spans = []
    for day in days:
        begin = aggregation.floor(warehouse.since(source.name, day), recipe.unit_s)
        midnight = aggregation.floor(begin, aggregation.DAY_S)
        end = midnight + timedelta(days=1)
        # The row before one may be of a later date, if a clock was set back over midnight.
        after = max((last - midnight for first, last in back if first < end < last), default=timedelta())
        dates = [day + timedelta(days=n) for n in range(-1 if recipe.totals else 0, after.days + 1)]
        folders = [warehouse.partition(source.name, each) for each in dates]
        here, new = warehouse.partition(table, day), staging / f"{PARTITION}{day}"
        spans.append(Span(begin, end, back, folders, here, new))
    rows = sum(
        part.rows
        for span in spans
        for part in increments.parts(warehouse.partition(source.name, span.begin.date()))
        if part.has(span.begin, None)
    )
    work = partial(aggregation.make, recipe=recipe, number=number)
    if rows <= HERE_ROWS_MAX:
        for span in spans:
            work(span)
    else:
        session.in_tasks(run.spark, work, spans, aggregation, increments, codes)
    return {span.begin.date(): span.begin for span in spans}


def _set_back(run: "Run") -> list[tuple[datetime, datetime]]:
    """Return the spans that nodes have twice, as they told; rows of a date before may tell of it."""
    columns = pa.schema([field for field in increments.schema(GAP) if field.name in {"ts", "from_ms", "to_ms", "why"}])
    oldest = run.warehouse.now.date() - timedelta(days=SAMPLES_KEPT)
    days = [run.warehouse.partition(GAP.name, day) for day in run.warehouse.dates(GAP.name) if day >= oldest]
    rows = increments.read([part for day in days for part in increments.parts(day)], columns).to_pylist()
    told = [(row["from_ms"], row["to_ms"]) for row in rows if row["why"] == "clock_back" and row["to_ms"]]
    return [(aggregation.at_ms(first), aggregation.at_ms(last)) for first, last in told]


def stale(run: "Run", source: str, table: str) -> list[date]:
    """Return the dates of which the source is newer than what was made of it."""
    known = run.warehouse.state().get("made", {})
    made, newest = known.get(table, {}), known.get(source, {})
    return [day for day in run.warehouse.dates(source) if made.get(str(day), -1) < newest.get(str(day), 0)]
