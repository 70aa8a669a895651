"""Entries that purged and deleted queues leave behind, released a few in each turn.

Freeing a million of them takes Python a third of a second. A small number is released at once.
"""

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from pybroker.core.background_task import BackgroundTask
from pybroker.core.queue.paging.segments import EvictedSegment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, MutableSequence

    from pybroker.core.queue.queue import Queue
    from pybroker.run import Entry
    from pybroker.session import Turn

    Removed = MutableSequence[Entry] | MutableSequence[Entry | EvictedSegment]

# Entries, or seq ranges, forgotten in one go, some milliseconds.
TURN_ENTRIES_MAX: Final = 8_192


class PurgeTask(BackgroundTask):
    """Entries that are in no queue any more."""

    __slots__ = ("_waiting",)

    def __init__(self, turn: "Turn") -> None:
        super().__init__(turn)
        self._waiting: deque[tuple[Removed, Iterator[None]]] = deque()

    def __len__(self) -> int:
        return sum(len(entries) for entries, _ in self._waiting)

    def add(self, queue: "Queue", removed: "Iterable[Removed]") -> None:
        """Take what was removed from `queue`."""
        for entries in removed:
            steps = _forget(queue, entries)
            if len(entries) > TURN_ENTRIES_MAX or any(isinstance(entry, EvictedSegment) for entry in entries):
                self._waiting.append((entries, steps))
                self.wake()
            else:
                deque(steps, 0)

    def finish(self) -> None:
        """Forget all of it now: at a clean stop nobody waits any more, and what is left would be back after it."""
        while self._waiting:
            self.deliver(0)

    def deliver(self, _now_ms: int) -> None:
        """Forget a turn's share."""
        entries, steps = self._waiting[0]
        deque(islice(steps, TURN_ENTRIES_MAX), 0)
        if not entries and next(steps, _AT_END) is _AT_END:
            self._waiting.popleft()
        if self._waiting:
            self.wake_again()


_AT_END: Final = object()


def _forget(queue: "Queue", entries: "Removed") -> "Iterator[None]":
    """Forget one entry, or one range of seqs, in each step."""
    log = queue.log
    while entries:
        entry = entries.pop()
        if not isinstance(entry, EvictedSegment):
            queue.forget(entry.run, entry.indexes)
        elif entry.found is not None:
            for each in entry.found:
                queue.forget(each.run, each.indexes)
        elif entry.page is not None:
            if not entry.asked:
                entry.page.release(entry.seq_ranges.count)
        elif not queue.deleted:
            for first, last in entry.spans():
                log.settle_seqs(queue.id, first, last)
                yield
        yield
