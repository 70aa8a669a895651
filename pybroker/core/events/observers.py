"""Observers: functions that are told of events."""

from collections.abc import Callable, Mapping
from typing import Any

from pybroker.core.events.cause import Cause

# Emits an event with its cause, if it has one.
Notify = Callable[[str, Mapping[str, Any], Cause | None], None]


class Observers:
    """Functions that are called with each event of a noun, in the order in which they were added."""

    __slots__ = ("_all",)

    def __init__(self) -> None:
        self._all: list[Notify] = []

    def add(self, observer: Notify) -> None:
        """Have a function called with each event from now on."""
        self._all.append(observer)

    def notify(self, event: str, facts: Mapping[str, Any], cause: Cause | None = None) -> None:
        """Call each of them."""
        for observer in self._all:
            observer(event, facts, cause)
