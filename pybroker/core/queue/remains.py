"""What purged and deleted queues leave behind: entries that are forgotten a few in each turn.

To free a million of them takes Python a third of a second. Few of them are forgotten at once.
"""

from collections import deque
from typing import TYPE_CHECKING, Final

from pybroker.core.chore import Chore

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from pybroker.core.queue.queue import Queue
    from pybroker.run import Entry
    from pybroker.session import Turn

# Entries forgotten in one go, some milliseconds.
TURN_ENTRIES_MAX: Final = 8_192


class Remains(Chore):
    """Entries that are in no queue any more."""

    __slots__ = ("_waiting",)

    def __init__(self, turn: "Turn") -> None:
        super().__init__(turn)
        self._waiting: deque[tuple[Queue, MutableSequence[Entry]]] = deque()

    def __len__(self) -> int:
        return sum(len(entries) for _, entries in self._waiting)

    def add(self, queue: "Queue", removed: "tuple[MutableSequence[Entry], ...]") -> None:
        """Take what was removed from `queue`."""
        for entries in removed:
            if len(entries) <= TURN_ENTRIES_MAX:
                _forget(queue, entries)
            else:
                self._waiting.append((queue, entries))
                self.wake()

    def deliver(self, _now_ms: int) -> None:
        """Forget a turn's share."""
        queue, entries = self._waiting[0]
        _forget(queue, entries)
        if not entries:
            self._waiting.popleft()
        if self._waiting:
            self.wake()


def _forget(queue: "Queue", entries: "MutableSequence[Entry]") -> None:
    for _ in range(min(len(entries), TURN_ENTRIES_MAX)):
        entry = entries.pop()
        queue.forget(entry.run, entry.indexes)
