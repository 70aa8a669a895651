"""How single commands' documents are shown to people; others are shown as `key: value`."""

from collections.abc import Callable, Iterator
from typing import Any

View = Callable[[dict[str, Any], Any], Iterator[str]]


def find(command: str) -> View | None:
    """Return the view of a command's document, loading it now; None if it has none of its own."""
    if command == "status":
        from pybrokerctl.views import status  # noqa: PLC0415 - one of many commands

        return status.view
    return None
