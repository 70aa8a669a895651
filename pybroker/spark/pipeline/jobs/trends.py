"""trends: are the consumers' lag, rejects and dead letters as in the same hour of former weeks?

Each of the last 24 whole hours is compared with the same hour of up to eight weeks before. The value expected is their
median; more than it by four times their usual deviation, by half of it, and by ten at least is too much. A queue with
fewer than three such weeks has no history.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.spark.pipeline.columns.minutes import sums
from pybroker.spark.pipeline.jobs.people import foremost
from pybroker.spark.pipeline.run import Window, iso
from pybroker.spark.pipeline.schemas import QUEUE_1H, TRACE_EVENT
from pybroker.verdicts import meanings

if TYPE_CHECKING:
    from pybroker.spark.pipeline.run import Run

QUEUE: Final = ("node", "vhost", "queue")
HOUR: Final = timedelta(hours=1)
WEEK: Final = timedelta(days=7)
WEEKS: Final = 8
WEEKS_MIN: Final = 3
HOURS: Final = 24
# Of normal values, the deviation is so many medians of their distances.
DEVIATION: Final = 1.4826
DEVIATIONS: Final = 4
PART: Final = 0.5
LEAST: Final = 10
LAG, REJECTED, DEAD = "ready", "rejected", "dead letters: "
PLOTTED: Final = 5

COLUMNS: Final = (
    ("vhost", "virtual host"),
    ("queue", "queue"),
    ("measure", "ready (most messages that waited), rejected, or dead letters and their reason"),
    ("verdict", ", ".join(word for word, _ in meanings("trends"))),
    ("hour", "the hour that differs most, of the last 24"),
    ("value", "value in that hour"),
    ("expected", "median of the same hour in former weeks"),
    ("above", "what would be too much"),
    ("weeks", "former weeks that are known"),
    ("hours_above", "hours with too much, of the last 24"),
    ("node", "node"),
)

Key = tuple[str, str, str, str]


class Expected(NamedTuple):
    """The value expected, and above which one is too much; `weeks` are known."""

    value: float
    above: float
    weeks: int


def expect(former: Sequence[float]) -> Expected | None:
    """Return what former weeks make expect; None if they are too few."""
    if len(former) < WEEKS_MIN:
        return None
    middle = float(median(former))
    deviation = DEVIATION * median(abs(value - middle) for value in former)
    return Expected(middle, middle + max(DEVIATIONS * deviation, PART * middle, LEAST), len(former))


def hours(until: datetime) -> list[datetime]:
    """Return the begins of the last whole hours before a moment."""
    end = until.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return [end - n * HOUR for n in range(HOURS, 0, -1)]


def measures(
    by_hour: "Iterable[pa.Table]", losses: "Iterable[pa.Table]", begins: Iterable[datetime]
) -> list[dict[str, Any]]:
    """Return rows of node, vhost, queue, ts, ready_max, rejected and dead letters by reason, in these hours.

    `by_hour` are queue_1h, `losses` trace_event.
    """
    wanted = pa.array([*begins], pa.timestamp("us", "UTC"))
    dead: dict[tuple[Any, ...], dict[str, int]] = {}
    for rows in losses:
        letters = rows.filter(pc.equal(rows["kind"], "dead_letter"))
        begin = pc.floor_temporal(letters["ts"], unit="hour")
        letters = letters.set_column(letters.column_names.index("ts"), "ts", begin)
        letters = letters.filter(pc.is_in(letters["ts"], value_set=wanted)).select([*QUEUE, "ts", "reason", "count"])
        for row in sums(letters, (*QUEUE, "ts", "reason")).to_pylist():
            reasons = dead.setdefault(tuple(row[name] for name in (*QUEUE, "ts")), {})
            reasons[row["reason"]] = reasons.get(row["reason"], 0) + row["count"]
    found = []
    for rows in by_hour:
        for row in rows.filter(pc.is_in(rows["ts"], value_set=wanted)).to_pylist():
            letters_of = dead.get(tuple(row[name] for name in (*QUEUE, "ts")), {})
            found.append({**row, "rejected": row["rejected"] or 0, "dead": letters_of})
    return found


def by_measure(rows: Iterable[Mapping[str, Any]]) -> dict[Key, dict[datetime, float]]:
    """Return the values by queue and measure, and by hour. In an hour with a row, what has no count is zero."""
    found: dict[Key, dict[datetime, float]] = {}
    seen: dict[tuple[str, str, str], list[datetime]] = {}
    for row in rows:
        queue, hour = (row["node"], row["vhost"], row["queue"]), row["ts"]
        seen.setdefault(queue, []).append(hour)
        values = {LAG: row["ready_max"], REJECTED: row["rejected"]}
        values |= {DEAD + reason: count for reason, count in row["dead"].items()}
        for measure, value in values.items():
            found.setdefault((*queue, measure), {})[hour] = value or 0
    return {key: {hour: values.get(hour, 0) for hour in seen[key[:3]]} for key, values in found.items()}


def compare(
    values: Mapping[datetime, float], begins: Sequence[datetime]
) -> list[tuple[datetime, float, Expected | None]]:
    """Return value and expectation of each of these hours that is known, by what exceeds most first."""
    told = []
    for begin in begins:
        if begin in values:
            former = [values[at] for at in (begin - n * WEEK for n in range(1, WEEKS + 1)) if at in values]
            told.append((begin, values[begin], expect(former)))
    return sorted(told, key=lambda each: (-(each[1] - each[2].above) if each[2] else float("inf"), each[0]))


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    begins = hours(run.window.until)
    every = [begin - n * WEEK for begin in begins for n in range(WEEKS + 1)]
    dates = {begin.date() for begin in every}
    whole = run._replace(window=Window(min(every), run.window.until))
    by_hour = whole.rows(QUEUE_1H, (*QUEUE, "ready_max", "rejected"), dates)
    losses = whole.rows(TRACE_EVENT, (*QUEUE, "kind", "reason", "count"), dates)
    known = by_measure(measures(by_hour, losses, every))
    rows: list[list[Any]] = []
    plots: list[tuple[float, dict[str, Any]]] = []
    for (node, vhost, queue, measure), values in known.items():
        told = compare(values, begins)
        if not told:
            continue
        begin, value, expected = told[0]
        above = sum(each > usual.above for _, each, usual in told if usual)
        verdict = "no history" if expected is None else "higher" if above else "usual"
        figures = (expected.value, round(expected.above, 1), expected.weeks) if expected else (None, None, 0)
        if value or verdict == "higher" or measure == LAG:
            rows.append([vhost, queue, measure, verdict, begin, value, *figures, above, node])
        if verdict == "higher":
            plots.append((value / max(1.0, figures[0] or 0), _plot(f"{measure} of {queue}", told)))
    rank = [word for word, _ in meanings("trends")]
    rows.sort(key=lambda row: (rank.index(row[3]), -(row[5] - (row[6] or 0)), row[:3], row[-1]))
    summary = [(word, sum(row[3] == word for row in rows)) for word in rank]
    drawn = [plot for _, plot in sorted(plots, key=lambda each: -each[0])[:PLOTTED]]
    sentences = foremost(advice(row) for row in rows if row[3] == "higher")
    return run.report(
        "trends", COLUMNS, rows, details={"weeks", "node"}, summary=summary, plots=drawn, advice=sentences
    )


def _plot(title: str, told: Sequence[tuple[datetime, float, Expected | None]]) -> dict[str, Any]:
    points = [
        (round(begin.timestamp() * 1000), value, usual) for begin, value, usual in sorted(told, key=lambda t: t[0])
    ]
    expected = [[at, usual.value] for at, _, usual in points if usual]
    series = [
        {"name": "value", "points": [[at, value] for at, value, _ in points]},
        {"name": "expected", "points": expected, "dashed": True},
    ]
    return {"kind": "lines", "title": title, "unit": "in an hour", "series": series}


def advice(row: Sequence[Any]) -> str:
    """Return what is more than usual, in a sentence."""
    vhost, queue, measure, _, hour, value, expected, *_ = row
    weeks = "in the same hour of former weeks"
    return (
        f"queue '{queue}' in vhost '{vhost}': {measure} {value:,} at {iso(hour)}, {expected:,.0f} expected as {weeks}"
    )
