"""unroutable: what goes nowhere, and what died? By way, with what would catch it."""

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as f

from pybroker.spark.pipeline.jobs.people import foremost
from pybroker.spark.pipeline.run import milliseconds
from pybroker.spark.pipeline.schemas import TRACE_EVENT
from pybroker.verdicts import meanings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

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


def unroutable(events: "DataFrame", days: float) -> "DataFrame":
    """Return a row for each way in which messages were lost: unroutable ones first, then by their number."""
    found = events.groupBy(*WAY).agg(
        f.sum("count").alias("messages"),
        f.sum(f.when(f.col("returned"), f.col("count")).otherwise(0)).alias("returned"),
        f.sum("size").alias("octets"),
        f.min("ts").alias("first_at"),
        f.max("ts").alias("last_at"),
        f.max_by("has_ae", "ts").alias("has_ae"),
    )
    rows = found.withColumn("per_day", f.round(f.col("messages") / f.lit(days), 1))
    order = (f.col("kind") != "unroutable", f.col("messages").desc(), *WAY)
    return rows.select(*(name for name, _ in COLUMNS)).orderBy(*order)


def over_time(events: "DataFrame", bucket_s: int) -> "DataFrame":
    """Return how many messages were lost, by kind, in each bucket of time."""
    begin = f.timestamp_seconds(f.floor(f.unix_timestamp("ts") / bucket_s) * bucket_s)
    return events.groupBy("kind", begin.alias("at")).agg(f.sum("count").alias("messages")).orderBy("kind", "at")


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    events = run.read(TRACE_EVENT)
    days = max((run.window.until - run.window.since).total_seconds() / 86_400, 1 / 24)
    found = unroutable(events, days).collect()
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


def _plots(run: "Run", events: "DataFrame") -> list[dict[str, Any]]:
    """Return what was lost over time; where nothing was there is no point, so zeros are put around each."""
    step = run.bucket_s * 1000
    lines: dict[str, dict[int, int]] = {}
    for row in over_time(events, run.bucket_s).collect():
        at = milliseconds(row["at"])
        line = lines.setdefault(row.kind, {})
        line[at] = row.messages
        line.setdefault(at - step, 0)
        line.setdefault(at + step, 0)
    for kind, line in lines.items():
        # A zero that was put behind one point may be the place of the next.
        lines[kind] = dict(sorted(line.items()))
    series = [{"name": kind, "points": [list(point) for point in line.items()]} for kind, line in lines.items()]
    minutes = run.bucket_s // 60
    unit = f"messages in {minutes} minute{'s' * (minutes != 1)}"
    return [{"kind": "lines", "title": "Messages lost", "unit": unit, "series": series}]


def _advice(row: "Row") -> str:
    place = f"vhost '{row.vhost}'"
    if not row.exchange:
        return f"{row.messages} messages to queue '{row.routing_key}' in {place}, which does not exist: declare it"
    fix = f"channel.queue_bind(QUEUE, exchange='{row.exchange}', routing_key='{row.routing_key}')"
    also = "" if row.has_ae else ", or give the exchange an alternate exchange"
    what = f"{row.messages} messages to exchange '{row.exchange}' with key '{row.routing_key}' in {place}"
    return f"{what}: bind a queue, {fix}{also}"
