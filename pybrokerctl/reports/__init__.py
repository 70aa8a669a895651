"""Reports that the pipeline has made: where they lie, as text for people and programs, and when they are bad news.

A report is one JSON document with columns, rows, a summary, advice and plots; nothing here knows which report it is.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pybroker import paths
from pybroker.control.arguments.durations import parse_duration_ms
from pybroker.control.spec import BadArguments, Refused
from pybroker.text import row_condition
from pybroker.text.duration import UNITS_MS
from pybrokerctl import exit_codes, render
from pybrokerctl.options import Options
from pybrokerctl.render import cell

VERSION: Final = 1
HTML: Final = "html"
# Twice the interval of the timer.
MAX_AGE: Final = "2h"
AGE_MS_MAX: Final = 3_650 * UNITS_MS["d"]

Document = dict[str, Any]


def place(warehouse: str | None, name: str) -> Path:
    """Return where a report lies."""
    folder = paths.data_dir() / "warehouse" if warehouse is None else Path(warehouse)
    return folder / "_reports" / f"{name}.json"


def read(warehouse: str | None, name: str) -> Document:
    """Return a report. Raises Refused when there is none, or it is none."""
    path = place(warehouse, name)
    try:
        document: Document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        text = f"the report '{name}' was not made yet: run 'pybrokerctl pipeline run all', or add --fresh ({path})"
        raise Refused(text, exit_codes.UNAVAILABLE) from None
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}", exit_codes.UNAVAILABLE) from None
    except ValueError as error:
        raise Refused(
            f"{path} is damaged: {error}; run 'pybrokerctl pipeline run {name}'", exit_codes.DATAERR
        ) from None
    if document.get("v") != VERSION:
        raise Refused(
            f"{path} was written by another version; run 'pybrokerctl pipeline run {name}'", exit_codes.DATAERR
        )
    return document


def show(report: Document, form: str, options: Options, *, details: bool = False) -> Iterator[str]:
    """Yield a report as text: html, json, or through a formatter of tables.

    People see the chosen columns, unless they ask for `details`; a page has a switch, and programs get all.
    """
    columns = tuple(column["name"] for column in report["columns"])
    if form == HTML:
        from pybrokerctl.reports import page  # noqa: PLC0415 - one of four

        yield from page.page(report)
    elif form == "json":
        rows = [dict(zip(columns, row, strict=True)) for row in report["rows"]]
        facts = {key: report[key] for key in ("report", "made_at", "since", "until", "rows_left_out", "advice")}
        facts |= {key: report.get(key) for key in ("seen_from", "seen_until")}
        facts["incomplete"] = report.get("incomplete", [])
        document = {**facts, "summary": dict(report["summary"]), "rows": rows}
        yield from render.load("json").value(document, "")
    else:
        if options.talks and form not in render.MACHINE:
            yield from _above(report)
        shown = [n for n, each in enumerate(report["columns"]) if details or form == "csv" or not each.get("detail")]
        head = render.Head(tuple(columns[n] for n in shown), show=options.headers, pad=options.pad)
        yield from render.load(form).rows(head, [[[row[n] for n in shown] for row in report["rows"]]])
        if options.talks and form not in render.MACHINE and len(shown) < len(columns):
            hidden = len(columns) - len(shown)
            yield f"--details shows {hidden} more column{'s' * (hidden != 1)}\n"


def _above(report: Document) -> Iterator[str]:
    yield (
        f"Report {report['report']} from {report['since']} to {report['until']}, created at {report['made_at']} (UTC)\n"
    )
    for line in report.get("incomplete", ()):
        yield cell.lines(f"Telemetry incomplete: {line}") + "\n"
    for label, value in report["summary"]:
        yield cell.lines(f"{label}: {'none' if value is None else cell.cell(value)}") + "\n"
    for line in report["advice"]:
        yield cell.lines(f" * {line}") + "\n"
    if report["rows_left_out"]:
        yield f"Rows omitted: {report['rows_left_out']}; the tables contain them\n"


def condition(text: str | None) -> Callable[[Document], bool]:
    """Return what tells whether some row is so: `held_ms>60000`, `verdict==grows`, `any`. Raises BadArguments."""
    if text is None:
        return lambda _: False
    if text == row_condition.ANY:
        return lambda report: bool(report["rows"])
    try:
        row_condition.split(text)
    except ValueError as error:
        raise BadArguments(f"--fail-on {error}") from None

    def fails(report: Document) -> bool:
        try:
            holds = row_condition.condition(text, [each["name"] for each in report["columns"]])
        except ValueError as error:
            raise Refused(str(error), exit_codes.DATAERR) from None
        return any(map(holds, report["rows"]))

    return fails


def known_until(report: Document) -> datetime:
    """Return the moment up to which a report tells: that of its newest sample, if it has any."""
    newest = min(report[name] for name in ("made_at", "until", "seen_until") if report.get(name))
    return datetime.fromisoformat(newest).replace(tzinfo=UTC)


def too_old(text: str | None) -> Callable[[Document], None]:
    """Return what raises Refused if a report tells of nothing younger than this: `90m`, `2h`. Raises BadArguments."""
    if text is None:
        return lambda _: None
    oldest = datetime.now(UTC) - timedelta(milliseconds=parse_duration_ms(text, 0, AGE_MS_MAX, "--max-age"))

    def check(report: Document) -> None:
        newest = known_until(report)
        if newest < oldest:
            told = f"has nothing newer than {newest:%Y-%m-%d %H:%M:%S} (UTC), which is older than {text}"
            what_to_do = "run 'pybrokerctl pipeline run all'"
            raise Refused(f"report {report['report']} {told}; {what_to_do}", exit_codes.STALE)

    return check
