"""`pretty_table`: boxes with a rule between the rows, drawn in UTF-8 where the terminal has it, in ASCII elsewhere."""

import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pybrokerctl.render import Head, Rows, Value
from pybrokerctl.render.cell import cell
from pybrokerctl.render.csv import flatten
from pybrokerctl.terminal import terminal

# Differs from RabbitMQ: without UTF-8 it switches the terminal's character set, which shows as garbage in a file.
# Left, line, crossing, right: top, between, bottom; and the upright.
UTF8: Final = ("┌─┬┐", "├─┼┤", "└─┴┘", "│")
ASCII: Final = ("+-++", "+-++", "+-++", "|")
BOLD: Final = "\x1b[1m{}\x1b[0m"


def rows(head: Head, batches: Iterable[Rows]) -> Iterator[str]:
    """Yield the whole table at the end: its widths are known only then. Nothing without rows."""
    lines = [
        [_shown(one, table=index in head.tables) for index, one in enumerate(row)] for batch in batches for row in batch
    ]
    if lines:
        yield draw(head.columns, lines, utf8=terminal.has_utf8(sys.stdout), bold=terminal.has_colour(sys.stdout))


def value(answer: Value, node: str) -> Iterator[str]:
    """Yield a sentence as a table of one cell, a document as one of keys and values."""
    del node
    if isinstance(answer, str):
        yield from rows(Head(("Output",)), [[[line] for line in answer.splitlines()]])
    elif answer is not None:
        yield from rows(Head(("key", "value")), [list(flatten(answer))])


def draw(columns: Sequence[str], lines: Sequence[Sequence[str]], *, utf8: bool, bold: bool = False) -> str:
    """Return the table as text."""
    top, between, bottom, upright = UTF8 if utf8 else ASCII
    widths = [max(map(width, column)) for column in zip(columns, *lines, strict=True)]

    def rule(shape: str) -> str:
        return shape[0] + shape[2].join(shape[1] * (size + 2) for size in widths) + shape[3]

    def line(cells: Iterable[str], style: str = "{}") -> str:
        filled = [
            f" {style.format(text)}{' ' * (size - width(text))} " for text, size in zip(cells, widths, strict=True)
        ]
        return upright + upright.join(filled) + upright

    out = [rule(top), line(columns, BOLD if bold else "{}")]
    for cells in lines:
        out += [rule(between), line(cells)]
    return "\n".join([*out, rule(bottom)]) + "\n"


def width(text: str) -> int:
    """Return the terminal columns `text` takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
        for char in text
    )


def _shown(one: object, *, table: bool) -> str:
    if isinstance(one, list) and not table:
        # rabbitmqctl drops the brackets here, which its plain table keeps.
        return ", ".join(map(cell, one))
    return "" if table and not one else cell(one, table=table)
