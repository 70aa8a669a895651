"""One heap of queues by when something is due for them. The daemon asks `next_ms`, calls `run`; nothing here waits."""

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from pybroker.core.queue import expiry

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue

# What is done in one go, up to five milliseconds, in the measure of `expiry.timer`; the rest is due at once again.
TURN_COST: Final = 1_024
# A heap this small is not worth building anew.
SWEEP_ABOVE: Final = 64


class Timers:
    """`_due` is when each queue is to be looked at next. Only that entry of the heap counts; others are passed over.

    Finding an entry that is void would cost more than leaving it; when they are the most, the heap is built anew.
    """

    __slots__ = ("_count", "_due", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Queue]] = []
        self._due: dict[Queue, int] = {}
        self._count = 0

    @property
    def next_ms(self) -> int:
        """Return when the first is due, on the clock's now_ms; 0 if none is."""
        return self._heap[0][0] if self._heap else 0

    def add(self, due_ms: int, queue: "Queue") -> None:
        """Have `queue` looked at when `due_ms` has come."""
        soonest = self._due.get(queue)
        if soonest is not None and soonest <= due_ms:
            return
        self._due[queue] = due_ms
        self._count += 1
        heappush(self._heap, (due_ms, self._count, queue))
        self._sweep()

    def forget(self, queue: "Queue") -> None:
        """Do not look at `queue` any more: it is deleted."""
        if self._due.pop(queue, None) is not None:
            self._sweep()

    def run(self, now_ms: int) -> None:
        """Look at the queues that are due, very many of them a turn's share at a time: `next_ms` has come already."""
        heap, left = self._heap, TURN_COST
        while left > 0 and heap and heap[0][0] <= now_ms:
            due_ms, _, queue = heappop(heap)
            if self._due.get(queue) != due_ms:
                continue
            del self._due[queue]
            left -= expiry.timer(queue, now_ms)
            if not queue.deleted:
                for later in (queue.timer_ms, queue.expires_at_ms):
                    if later > now_ms:
                        self.add(later, queue)

    def _sweep(self) -> None:
        if len(self._heap) > 2 * len(self._due) + SWEEP_ABOVE:
            # In place: `run` goes on with the same list.
            self._heap[:] = [(due_ms, count, queue) for count, (queue, due_ms) in enumerate(self._due.items())]
            heapify(self._heap)
