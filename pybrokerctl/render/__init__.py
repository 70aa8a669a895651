"""How an answer becomes text: table, pretty_table, json, csv. The table of formatters, each loaded when it is used.

Every formatter is a module with `rows(head, batches)` for listings and `value(answer, node)` for sentences and
documents, both yielding text. They know nothing of commands and sockets.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

NAMES: Final = ("table", "pretty_table", "json", "csv")
# How `table` looks when a person reads it, unless somebody asked for `table`.
TERMINAL: Final = "terminal"
# Formatters that show a document in its own view, if it has one.
FOR_PEOPLE: Final = frozenset({"table", TERMINAL})
# Formats for programs: without a banner.
MACHINE: Final = frozenset({"json", "csv"})

Rows = Sequence[Sequence[Any]]
Value = dict[str, Any] | str | None


class Head(NamedTuple):
    """The head of a listing: column names, the columns that hold AMQP tables, and whether the header is shown."""

    columns: tuple[str, ...]
    tables: frozenset[int] = frozenset()
    show: bool = True
    pad: bool = False


class Formatter(Protocol):
    """The shape of a formatter module."""

    def rows(self, head: Head, batches: Iterable[Rows]) -> Iterator[str]:
        """Yield the text of a listing, batch by batch, so that the first rows are seen at once."""

    def value(self, answer: Value, node: str) -> Iterator[str]:
        """Yield the text of a sentence, a document or plain success."""


def load(name: str) -> Formatter:
    """Return the formatter called `name`, one of NAMES or TERMINAL."""
    formatter: Formatter
    match name:
        case "pretty_table":
            from pybrokerctl.render import pretty_table  # noqa: PLC0415 - one of four is needed

            formatter = pretty_table
        case "json":
            from pybrokerctl.render import json  # noqa: PLC0415 - likewise

            formatter = json
        case "csv":
            from pybrokerctl.render import csv  # noqa: PLC0415 - likewise

            formatter = csv
        case "terminal":
            from pybrokerctl.render import terminal  # noqa: PLC0415 - likewise

            formatter = terminal
        case _:
            assert name == "table", name
            from pybrokerctl.render import table  # noqa: PLC0415 - likewise

            formatter = table
    return formatter
