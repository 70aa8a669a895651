"""Answers of the control socket to a request, line by line.

Knows no socket: `control/server.py` sends what is made here of the parts that `control/execute.py` yields.
"""

from collections.abc import Iterable, Iterator

from pybroker.control import codec
from pybroker.control.execute import End, Listed, Part, Rows, SendLines
from pybroker.control.spec import AwaitShown, Early, Progress, Refused


def part_lines(part: Part) -> bytes:
    """Return the lines of one part of an answer: none for a slice without rows that is not the first."""
    match part:
        case Rows(columns, nouns, first):
            head = codec.encode({"columns": [column.name for column in columns]}) if first else b""
            return head + (codec.encode_lines(_rows(part)) if nouns else b"")
        case Early(value):
            return codec.encode({"value": value})
        case Progress():
            return codec.encode({"progress": list(part)})
        case SendLines():
            return codec.encode({"send": "lines"})
        case AwaitShown():
            return codec.encode({"send": "shown"})


def end_lines(end: End) -> bytes:
    """Return the lines that end an answer."""
    if isinstance(end, Listed):
        return codec.encode({"end": end.rows, **({"facts": end.facts} if end.facts else {})})
    return codec.encode({"value": end.value}) + codec.encode({"end": 0})


def error_line(refused: Refused) -> bytes:
    """Return the line that ends an answer which is none."""
    facts = {"facts": refused.facts} if refused.facts else {}
    return codec.encode({"error": {"text": refused.text, "exit_code": refused.exit_code, **facts}})


def _rows(part: Rows) -> Iterator[Iterable[object]]:
    columns = part.columns
    if any(column.table for column in columns):
        for noun in part.nouns:
            yield [codec.table_triples(c.read(noun)) if c.table else c.read(noun) for c in columns]
    else:
        reads = [column.read for column in columns]
        for noun in part.nouns:
            yield [read(noun) for read in reads]
