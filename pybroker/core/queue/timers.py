"""One heap of destinations by when something is due for them.

The daemon asks `next_ms` and calls `run`; nothing here waits.
"""

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pybroker.core.queue.destination import Destination

# Work of one go, up to five milliseconds, in the measure of `Destination.due`; the rest is due at once again.
TURN_COST: Final = 1_024
# A heap this small is not worth building anew.
SWEEP_ABOVE: Final = 64


class Timers:
    """`_due` is when each destination is to be looked at. Only that entry of the heap counts; others are passed over.

    Finding an entry that is void would cost more than leaving it; when they are the most, the heap is built anew.
    """

    __slots__ = ("_count", "_due", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Destination]] = []
        self._due: dict[Destination, int] = {}
        self._count = 0

    @property
    def next_ms(self) -> int:
        """Return when the first is due, on the clock's now_ms; 0 if none is."""
        return self._heap[0][0] if self._heap else 0

    def add(self, due_ms: int, destination: "Destination") -> None:
        """Have `destination` looked at when `due_ms` has come."""
        soonest = self._due.get(destination)
        if soonest is not None and soonest <= due_ms:
            return
        self._due[destination] = due_ms
        self._count += 1
        heappush(self._heap, (due_ms, self._count, destination))
        self._sweep()

    def forget(self, destination: "Destination") -> None:
        """Do not look at `destination` any more: it is deleted."""
        if self._due.pop(destination, None) is not None:
            self._sweep()

    def run(self, now_ms: int) -> None:
        """Look at those that are due, very many of them a turn's share at a time: `next_ms` has come already."""
        heap, left = self._heap, TURN_COST
        while left > 0 and heap and heap[0][0] <= now_ms:
            due_ms, _, destination = heappop(heap)
            if self._due.get(destination) != due_ms:
                continue
            del self._due[destination]
            left -= destination.due(now_ms)
            if not destination.deleted:
                for later in destination.due_times:
                    if later > now_ms:
                        self.add(later, destination)

    def _sweep(self) -> None:
        if len(self._heap) > 2 * len(self._due) + SWEEP_ABOVE:
            # In place: `run` goes on with the same list.
            self._heap[:] = [
                (due_ms, count, destination) for count, (destination, due_ms) in enumerate(self._due.items())
            ]
            heapify(self._heap)
