"""`csv`: a header row, then rows; everything but numbers in quotes, as rabbitmqctl writes it. `-s` keeps the header."""

from collections.abc import Iterable, Iterator
from typing import Any

from pybrokerctl.render import Head, Rows, Value
from pybrokerctl.render.cell import cell


def rows(head: Head, batches: Iterable[Rows]) -> Iterator[str]:
    """Yield the header before the first row, then the rows."""
    shown = False
    for batch in batches:
        if not batch:
            continue
        lines = [] if shown else [_line(head.columns)]
        shown = True
        lines += [_line(row, head.tables) for row in batch]
        yield "".join(lines)


def value(answer: Value, node: str) -> Iterator[str]:
    """Yield a sentence as one field, a document as rows of key and value; inner keys are joined by dots."""
    del node
    if isinstance(answer, str):
        yield _line([answer])
    elif answer is not None:
        yield _line(["key", "value"])
        yield "".join(_line(pair) for pair in flatten(answer))


def flatten(document: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted key, plain value) of a document, in order."""
    for key, one in document.items():
        if isinstance(one, dict):
            yield from flatten(one, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", one


def _line(values: Iterable[Any], tables: frozenset[int] = frozenset()) -> str:
    return ",".join(_field(one, index in tables) for index, one in enumerate(values)) + "\n"


def _field(one: Any, table: bool) -> str:
    if isinstance(one, int | float) and not isinstance(one, bool):
        return str(one)
    # Unlike a table's cell, a quoted field may hold any character.
    text = one if isinstance(one, str) else cell(one, table=table)
    return '"' + text.replace('"', '""') + '"'
