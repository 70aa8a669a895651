"""One run of a job: Spark, the warehouse, the window of time, and what its report is made of.

Much new telemetry is made tables by Spark's tasks; of Spark only what its Connect has, too, is used. A report is pure
functions of the tables' rows, and a `run` that reads, applies them, writes. It has its rows date by date as Arrow's
columns, in the order in which they are in the files: planning a query would cost more than this, and Spark would sort
all of them.
"""

import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.spark.pipeline.schemas import Table
from pybroker.spark.pipeline.tables import Warehouse
from pybroker.verdicts import VERDICTS, words

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Sequence

    import pyarrow as pa

    from pybroker.spark.pipeline.alerts.alerts import Alerts
    from pybroker.spark.pipeline.columns.minutes import Minutes
    from pybroker.spark.pipeline.coverage.coverage import Coverage
    from pybroker.spark.pipeline.session import Spark

# The most that a report shows: the tables have more.
ROWS_MAX: Final = 200
POINTS_MAX: Final = 240
REPORT_VERSION: Final = 1
PLACES: Final = ("node", "vhost")


class Window(NamedTuple):
    """From when to when, in UTC; `until` is not in it."""

    since: datetime
    until: datetime

    @property
    def dates(self) -> list[date]:
        """Return the dates that it touches."""
        last = (self.until - timedelta(microseconds=1)).date()
        return [self.since.date() + timedelta(days=n) for n in range((last - self.since.date()).days + 1)]

    @property
    def bucket_s(self) -> int:
        """Return how many seconds a point of a plot stands for, whole minutes."""
        return max(60, -(-int((self.until - self.since).total_seconds()) // POINTS_MAX // 60) * 60)


class Run(NamedTuple):
    """The context of a job."""

    spark: "Spark"
    warehouse: Warehouse
    journal: Path
    window: Window
    quiet: bool = False
    alerts: "Alerts | None" = None

    def say(self, text: str) -> None:
        """Tell waiting people of progress."""
        if not self.quiet:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def rows(
        self, table: Table, names: "Iterable[str]", dates: "Container[date] | None" = None
    ) -> "Iterator[pa.Table]":
        """Yield columns of the rows of a table that lie in the window, date by date: of all, or of some."""
        from pybroker.spark.pipeline.columns import increments  # noqa: PLC0415 - takes a moment

        wanted, since, until = {"ts", *names}, self.window.since, self.window.until
        columns = increments.schema(table, wanted)
        for day in self.warehouse.dates(table.name):
            if since.date() <= day <= until.date() and (dates is None or day in dates):
                parts = increments.parts(self.warehouse.partition(table.name, day))
                bounds = {
                    "since": since if day == since.date() else None,
                    "until": until if day == until.date() else None,
                }
                yield increments.read(parts, columns, **bounds)

    def minutes(self, table: Table, names: "Iterable[str]", dates: "Container[date] | None" = None) -> "Minutes":
        """Return the rows of a table of minutes in their order."""
        from pybroker.spark.pipeline.columns.minutes import Minutes  # noqa: PLC0415 - takes a moment

        return Minutes(table.key, self.rows(table, {*table.key, *names}, dates))

    @property
    def coverage(self) -> "Coverage":
        """Return of which part of the window the telemetry tells."""
        from pybroker.spark.pipeline.coverage.coverage import coverage  # noqa: PLC0415 - takes a moment

        return coverage(self)

    @property
    def bucket_s(self) -> int:
        """Return how many seconds a point of a plot stands for: plots have no more than what is covered."""
        since, until = self.coverage.seen_from or self.window.since, self.coverage.seen_until or self.window.until
        return Window(since, until).bucket_s

    def report(
        self,
        name: str,
        columns: "Sequence[tuple[str, str]]",
        rows: "Iterable[Sequence[Any]]",
        *,
        details: "Collection[str]" = (),
        summary: "Sequence[tuple[str, Any]]" = (),
        plots: "Sequence[dict[str, Any]]" = (),
        advice: "Sequence[str]" = (),
    ) -> dict[str, Any]:
        """Write a report that pybrokerctl shows, and return its figures.

        `columns` are names with what they mean; people see those that are `details` when they ask for all.
        """
        found = [[_plain(value) for value in row] for row in rows]
        # Of several nodes or virtual hosts people need to know which.
        names = [column for column, _ in columns]
        several = {name for n, name in enumerate(names) if name in PLACES and len({row[n] for row in found}) > 1}
        covered = self.coverage
        document = {
            "v": REPORT_VERSION,
            "report": name,
            "made_at": iso(self.warehouse.now),
            "since": iso(self.window.since),
            "until": iso(self.window.until),
            "seen_from": _plain(covered.seen_from),
            "seen_until": _plain(covered.seen_until),
            "incomplete": covered.incomplete,
            "columns": [_column(name, column, text, {*details} - several) for column, text in columns],
            "rows": found[:ROWS_MAX],
            "rows_left_out": max(0, len(found) - ROWS_MAX),
            "summary": [[label, _plain(value)] for label, value in summary],
            "plots": list(plots),
            "advice": list(advice),
        }
        self.warehouse.write_report(name, document)
        if self.alerts is not None:
            self.alerts.judge(document, found)
        return {"rows": len(found)}


def _column(report: str, name: str, text: str, details: "Collection[str]") -> dict[str, Any]:
    """Return what a report says of one of its columns: also whether people see it, and how its words are coloured."""
    column: dict[str, Any] = {"name": name, "help": text}
    if name in details:
        column["detail"] = True
    if VERDICTS.get(report, ("", ()))[0] == name:
        column |= {kind: list(words(report, kind)) for kind in ("bad", "good")}
    return column


def iso(when: datetime) -> str:
    """Return a time as reports have it, in UTC: `2026-01-31 13:00:05`."""
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def utc(when: datetime) -> datetime:
    """Return what Spark collected, a local time without a zone, as the moment that it was."""
    return when.astimezone(UTC)


def milliseconds(when: datetime) -> int:
    """Return a collected time in milliseconds since 1970, for plots."""
    return round(utc(when).timestamp() * 1000)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, float):
        return round(value, 3)
    return value
