"""How single commands' documents are shown to people; others are shown as `key: value`, or by their `message`."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final, Protocol


class View(Protocol):
    """The shape of a view. `drawn`: for a person at a terminal, who did not ask for a formatter."""

    def __call__(self, document: dict[str, Any], args: Any, *, drawn: bool = False) -> Iterator[str]:
        """Yield the text."""


# A view is the module of its command's name; it is loaded when it is needed.
NAMES: Final = frozenset(
    {"cluster_status", "environment", "log_status", "memory_breakdown", "status", "stream_status", "why_blocked"}
)

# Of these the formatters that know nothing but tables show rows, which their views make.
TABLES: Final = frozenset({"why_blocked"})

# Commands that stream: the views of these show people what comes, by `lines`.
STREAMS: Final = frozenset({"trace_message"})

# Commands that a terminal shows live instead of once.
LIVE: Final = frozenset({"top"})


def find(command: str) -> View | None:
    """Return the view of a command's document, loading it now; None if it has none of its own."""
    if command not in NAMES:
        return None
    view: View = import_module(f"{__name__}.{command}").view
    return view


def lines(command: str, batches: Iterable[Any], *, drawn: bool) -> Iterator[str]:
    """Yield what a command of STREAMS streams as text."""
    module = import_module(f"{__name__}.{command}")
    text: Iterator[str] = module.lines(batches, drawn=drawn)
    return text


def table(command: str, document: dict[str, Any]) -> tuple[tuple[str, ...], list[list[Any]]]:
    """Return a document of TABLES as columns and rows."""
    module = import_module(f"{__name__}.{command}")
    rows: list[list[Any]] = module.rows(document)
    return module.COLUMNS, rows
