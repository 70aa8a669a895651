"""EventBuffer: the events of a trace that its reader has not taken yet, at most EVENTS_MAX."""

from collections import deque
from typing import Any, Final

EVENTS_MAX: Final = 10_000

Event = dict[str, Any]


class EventBuffer:
    """Drops new events if it is full, except the end of the trace. Their number is an event as well."""

    __slots__ = ("_dropped", "_events")

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._dropped = 0

    def add(self, event: Event) -> None:
        """Add an event, if there is room."""
        if len(self._events) >= EVENTS_MAX and event["event"] != "ended":
            self._dropped += 1
        else:
            self._events.append(event)

    def pop(self, most: int) -> list[Event]:
        """Remove the oldest events and return them."""
        found = [self._events.popleft() for _ in range(min(most, len(self._events)))]
        if self._dropped and not self._events:
            found.append({"event": "events_dropped", "count": self._dropped})
            self._dropped = 0
        return found

    def clear(self) -> None:
        """Remove all events."""
        self._events.clear()
        self._dropped = 0
