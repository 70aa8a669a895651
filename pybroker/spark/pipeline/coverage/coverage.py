"""Coverage: of which part of a window the telemetry tells, and the holes in it."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

import pyarrow.compute as pc

from pybroker.humanize import lasting
from pybroker.spark.pipeline.coverage.unknown import (
    AFTER,
    BEFORE,
    CORRUPTED,
    DOWN,
    FORWARD,
    MISSING,
    Unknown,
    at_ms,
    samples,
    unknown_spans,
)
from pybroker.spark.pipeline.schemas import NODE_SAMPLE

if TYPE_CHECKING:
    from pybroker.spark.pipeline.run import Run, Window
    from pybroker.spark.pipeline.tables import Warehouse

# A node that is silent for no longer may write yet.
LATE: Final = timedelta(minutes=3)
SPANS_MAX: Final = 20

SENTENCES: Final = {
    DOWN: "the node was not running",
    MISSING: "{rows} are missing",
    AFTER: "no {rows}",
    CORRUPTED: "damaged {rows}",
    "disk": "{rows} left out for want of disk space",
    "failed": "{rows} lost because they could not be written",
    "overflow": "{rows} left out because there were too many",
    FORWARD: "the clock was set forward, so there is nothing",
    "clock_back": "the clock was set back, so times are there twice",
}
# Of reasons that a newer node may give.
OTHERWISE: Final = "{rows} left out ({why})"


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
    rows = samples(run)
    # Minutes, of dates whose samples are gone, have no epoch: they tell of holes alone.
    ends = [pc.min_max(mine["ms"].filter(pc.is_valid(mine["epoch"]))) for mine in rows.values()]
    known = [end for end in ends if end["min"].is_valid]
    if not known:
        return Coverage(None, None, [])
    begin, end = at_ms(min(end["min"].as_py() for end in known)), at_ms(max(end["max"].as_py() for end in known))
    # Before the first sample of any node, and after the last, nobody expects anything: a report says from when to when
    # it has seen them.
    found = [
        span._replace(until=min(span.until, end))
        for span in unknown_spans(run, rows)
        if span.until > begin and span.since < end
    ]
    found = [span for span in found if span.why != BEFORE and (span.why != AFTER or span.until - span.since > LATE)]
    longest = sorted(found, key=lambda span: span.since - span.until)[:SPANS_MAX]
    return Coverage(begin, end, [_sentence(span) for span in longest])


def _sentence(span: Unknown) -> str:
    since, until = (f"{moment:%Y-%m-%d %H:%M:%S}" for moment in (span.since, span.until))
    lasted = lasting((span.until - span.since) / timedelta(milliseconds=1))
    rows = f"rows of {span.table}" if span.table else "rows"
    node = f"{span.node}: " if span.node else ""
    return (
        f"{node}{SENTENCES.get(span.why, OTHERWISE).format(rows=rows, why=span.why)} from {since} to {until} ({lasted})"
    )
