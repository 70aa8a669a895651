"""Reports that the pipeline has made: where they lie, as text for people and programs, and when they are bad news.

A report is one JSON document with columns, rows, a summary, advice and plots; nothing here knows which report it is.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from pybroker import paths
from pybroker.control.spec import BadArguments, Refused
from pybrokerctl import exit_codes, render
from pybrokerctl.options import Options
from pybrokerctl.render import cell

VERSION: Final = 1
HTML: Final = "html"
ANY: Final = "any"
_CONDITION: Final = re.compile(r"\s*(\w+)\s*(>=|<=|==|!=|>|<)\s*(.*?)\s*", re.DOTALL)

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
        text = (
            f"there is no report {name} in {path.parent} yet; use --fresh, or run 'pybrokerctl pipeline run all' first"
        )
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


def show(report: Document, form: str, options: Options) -> Iterator[str]:
    """Yield a report as text: html, json, or through a formatter of tables."""
    columns = tuple(column["name"] for column in report["columns"])
    if form == HTML:
        from pybrokerctl.reports import page  # noqa: PLC0415 - one of four

        yield from page.page(report)
    elif form == "json":
        rows = [dict(zip(columns, row, strict=True)) for row in report["rows"]]
        facts = {key: report[key] for key in ("report", "made_at", "since", "until", "rows_left_out", "advice")}
        document = {**facts, "summary": dict(report["summary"]), "rows": rows}
        yield from render.load("json").value(document, "")
    else:
        if options.talks and form not in render.MACHINE:
            yield from _above(report)
        head = render.Head(columns, show=options.headers, pad=options.pad)
        yield from render.load(form).rows(head, [report["rows"]])


def _above(report: Document) -> Iterator[str]:
    yield (
        f"Report {report['report']} from {report['since']} to {report['until']}, created at {report['made_at']} (UTC)\n"
    )
    for label, value in report["summary"]:
        yield cell.lines(f"{label}: {'none' if value is None else cell.cell(value)}") + "\n"
    for line in report["advice"]:
        yield cell.lines(f" * {line}") + "\n"
    if report["rows_left_out"]:
        yield f"{report['rows_left_out']} rows are omitted; the tables contain them\n"


def condition(text: str | None) -> Callable[[Document], bool]:
    """Return what tells whether some row is so: `held_ms>60000`, `verdict==grows`, `any`. Raises BadArguments."""
    if text is None:
        return lambda _: False
    if text == ANY:
        return lambda report: bool(report["rows"])
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise BadArguments(f"--fail-on must be a column, a comparison and a value, or any; not '{text}'")
    column, operator, wanted = match.groups()

    def fails(report: Document) -> bool:
        names = [each["name"] for each in report["columns"]]
        if column not in names:
            raise Refused(f"there is no column {column}: {', '.join(names)}", exit_codes.DATAERR)
        index = names.index(column)
        return any(_compare(row[index], operator, wanted) for row in report["rows"])

    return fails


def _compare(value: Any, operator: str, wanted: str) -> bool:
    if value is None:
        return False
    try:
        left, right = float(value), float(wanted)
    except ValueError:
        return _ordered(cell.cell(value), operator, wanted)
    return _ordered(left, operator, right)


def _ordered(left: Any, operator: str, right: Any) -> bool:
    match operator:
        case "==":
            return bool(left == right)
        case "!=":
            return bool(left != right)
        case ">":
            return bool(left > right)
        case ">=":
            return bool(left >= right)
        case "<":
            return bool(left < right)
        case _:
            return bool(left <= right)
