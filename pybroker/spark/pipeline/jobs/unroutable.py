"""unroutable: what goes nowhere, and what died? By way, with what would catch it."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.spark.pipeline.columns.minutes import MICROSECONDS, by_thing, sums
from pybroker.spark.pipeline.jobs.people import foremost
from pybroker.spark.pipeline.schemas import TRACE_EVENT
from pybroker.verdicts import meanings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pybroker.spark.pipeline.run import Run

WAY: Final = ("node", "kind", "reason", "vhost", "exchange", "routing_key", "queue")
# People see the others first.
DETAILS: Final = frozenset({"returned", "octets", "per_day", "has_ae", "node"})

COLUMNS: Final = (
    ("kind", ", ".join(word for word, _ in meanings("unroutable"))),
    ("reason", "why"),
    ("vhost", "virtual host"),
    ("exchange", "exchange it was published to; empty for the default one"),
    ("routing_key", "routing key it was published with"),
    ("queue", "queue it left"),
    ("messages", "messages"),
    ("returned", "of these, returned to the publisher"),
    ("octets", "octets of them"),
    ("per_day", "messages a day of the window"),
    ("first_at", "when the first were lost"),
    ("last_at", "when the last were"),
    ("has_ae", "whether the exchange has an alternate exchange"),
    ("node", "node"),
)


class Way(NamedTuple):
    """A way in which messages were lost: the fields are COLUMNS."""

    kind: str
    reason: str
    vhost: str
    exchange: str
    routing_key: str
    queue: str
    messages: int
    returned: int
    octets: int
    per_day: float
    first_at: datetime
    last_at: datetime
    has_ae: bool | None
    node: str


def unroutable(dates: "Iterable[pa.Table]", days: float) -> list[Way]:
    """Return a row for each way in which messages were lost: unroutable ones first, then by their number."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for rows in dates:
        returned = pc.if_else(pc.fill_null(rows["returned"], False), rows["count"], 0)
        ordered = rows.set_column(rows.column_names.index("returned"), "returned", returned).sort_by("ts")
        summed = {name: (name, "sum") for name in ("count", "returned", "size")}
        made = {**summed, "first_at": ("ts", "min"), "last_at": ("ts", "max"), "has_ae": ("has_ae", "last")}
        for row in by_thing(ordered, made, WAY).to_pylist():
            one = found.setdefault(tuple(row[name] for name in WAY), {**row, **dict.fromkeys(summed, 0)})
            one |= {name: one[name] + (row[name] or 0) for name in summed}
            one |= {"last_at": row["last_at"], "has_ae": row["has_ae"]}
    ways = [
        Way(
            **{name: one[name] for name in (*WAY, "returned", "first_at", "last_at", "has_ae")},
            messages=one["count"],
            octets=one["size"],
            per_day=round(one["count"] / days, 1),
        )
        for one in found.values()
    ]
    return sorted(ways, key=lambda way: (way.kind != "unroutable", -way.messages, *(getattr(way, n) for n in WAY)))


def over_time(dates: "Iterable[pa.Table]", bucket_s: int) -> dict[tuple[str, int], int]:
    """Return how many messages were lost, by kind, in each bucket of time: by its begin, in seconds since 1970."""
    found: dict[tuple[str, int], int] = {}
    for rows in dates:
        second = pc.divide(rows["ts"].cast(pa.int64()), MICROSECONDS)
        at = pc.multiply(pc.divide(second, bucket_s), bucket_s)
        lost = pa.table({"kind": rows["kind"], "at": at, "count": rows["count"]})
        for row in sums(lost, ("kind", "at")).to_pylist():
            key = (row["kind"], row["at"])
            found[key] = found.get(key, 0) + (row["count"] or 0)
    return dict(sorted(found.items()))


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    names = (*WAY, "count", "returned", "size", "has_ae")
    events = [rows for rows in run.rows(TRACE_EVENT, names) if rows.num_rows]
    days = max((run.window.until - run.window.since).total_seconds() / 86_400, 1 / 24)
    found = unroutable(events, days)
    nowhere = [row for row in found if row.kind == "unroutable"]
    summary = [
        ("messages that went nowhere", sum(row.messages for row in nowhere)),
        ("of these, returned to their publisher", sum(row.returned for row in nowhere)),
    ]
    reasons = sorted({(row.kind, row.reason) for row in found if row.kind != "unroutable"})
    for kind, reason in reasons:
        label = f"dead letters: {reason}" if kind == "dead_letter" else f"dropped: {reason}"
        summary.append((label, sum(row.messages for row in found if (row.kind, row.reason) == (kind, reason))))
    plots = _plots(run, events) if found else []
    advice = foremost(_advice(row) for row in nowhere if row.reason == "NO_ROUTE")
    return run.report("unroutable", COLUMNS, found, details=DETAILS, summary=summary, plots=plots, advice=advice)


def _plots(run: "Run", events: "Sequence[pa.Table]") -> list[dict[str, Any]]:
    """Return what was lost over time; where nothing was there is no point, so zeros are put around each."""
    step = run.bucket_s * 1000
    lines: dict[str, dict[int, int]] = {}
    for (kind, begin_s), messages in over_time(events, run.bucket_s).items():
        at = begin_s * 1_000
        line = lines.setdefault(kind, {})
        line[at] = messages
        line.setdefault(at - step, 0)
        line.setdefault(at + step, 0)
    for kind, line in lines.items():
        # A zero that was put behind one point may be the place of the next.
        lines[kind] = dict(sorted(line.items()))
    series = [{"name": kind, "points": [list(point) for point in line.items()]} for kind, line in lines.items()]
    minutes = run.bucket_s // 60
    unit = f"messages in {minutes} minute{'s' * (minutes != 1)}"
    return [{"kind": "lines", "title": "Messages lost", "unit": unit, "series": series}]


def _advice(row: Way) -> str:
    place = f"vhost '{row.vhost}'"
    if not row.exchange:
        return f"{row.messages} messages to queue '{row.routing_key}' in {place}, which does not exist: declare it"
    fix = f"channel.queue_bind(QUEUE, exchange='{row.exchange}', routing_key='{row.routing_key}')"
    also = "" if row.has_ae else ", or give the exchange an alternate exchange"
    what = f"{row.messages} messages to exchange '{row.exchange}' with key '{row.routing_key}' in {place}"
    return f"{what}: bind a queue, {fix}{also}"
