"""How an answer becomes text: table, pretty_table, json, csv. The table of formatters, each loaded when it is used.

Every formatter is a module with `rows(head, batches)` for listings and `value(answer, node)` for sentences and
documents, both yielding text. They know nothing of commands and sockets.
"""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol, cast

NAMES: Final = ("table", "pretty_table", "json", "csv")
# What programs read: no banner above it.
MACHINE: Final = frozenset({"json", "csv"})

Rows = Sequence[Sequence[Any]]
Value = dict[str, Any] | str | None


class Head(NamedTuple):
    """What a formatter of listings knows beforehand: column names, which hold AMQP tables, header wanted or not."""

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
    """Return the formatter called `name`, one of NAMES."""
    assert name in NAMES, name
    return cast("Formatter", import_module(f"{__name__}.{name}"))
