"""One heap of queues by when something is due for them. The daemon asks `next_ms`, calls `run`; nothing here waits."""

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from pybroker.core.queue import expiry

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue


class Timers:
    """Entries are never removed: a queue that is looked at in vain costs less than finding it in the heap."""

    __slots__ = ("_count", "_heap", "_soonest")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Queue]] = []
        self._soonest: dict[Queue, int] = {}  # keeps one queue from standing in the heap twice for the same time
        self._count = 0

    @property
    def next_ms(self) -> int:
        """Return when the first is due, on the clock's now_ms; 0 if none is."""
        return self._heap[0][0] if self._heap else 0

    def add(self, due_ms: int, queue: "Queue") -> None:
        """Have `queue` looked at when `due_ms` has come."""
        soonest = self._soonest.get(queue)
        if soonest is not None and soonest <= due_ms:
            return
        self._soonest[queue] = due_ms
        self._count += 1
        heappush(self._heap, (due_ms, self._count, queue))

    def run(self, now_ms: int) -> None:
        """Look at every queue that is due."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            due_ms, _, queue = heappop(heap)
            if self._soonest.get(queue) == due_ms:
                del self._soonest[queue]
            expiry.timer(queue, now_ms)
            if not queue.deleted:
                for later in (queue.timer_ms, queue.expires_at_ms):
                    if later > now_ms:
                        self.add(later, queue)
