"""Loading of a schedule's messages from the log at a start, to learn when they are due.

A portion is on its way from the disk while the one before it is looked at, a share in each turn. Contents are forgotten
again. Knows the log by its seam, and of a schedule how to put a message into it.
"""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.seq_ranges import SeqRanges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.delayed.schedule import Schedule
    from pybroker.run import Run

# Read at a time, and looked at in one turn.
READ_MESSAGES: Final = 8_192
READ_OCTETS: Final = 4_194_304
SHARE_MESSAGES: Final = 256
# Portions that are here or on their way.
PORTIONS: Final = 2


class DelayedLoader:
    """`left` messages are not known yet. `lost` counts those that could not be read."""

    __slots__ = ("_arrived", "_asked", "_portions", "_schedule", "left", "lost")

    def __init__(self, schedule: "Schedule", seq_ranges: SeqRanges) -> None:
        self._schedule = schedule
        self._portions = portions(seq_ranges)
        self._asked = 0
        self._arrived: deque[tuple[int, deque[tuple[Run, range]]]] = deque()
        self.left = seq_ranges.count
        self.lost = 0
        self._ask()

    def share(self) -> bool:
        """Look at a turn's share of what was read; tell whether more of it is here."""
        left = SHARE_MESSAGES
        while self._arrived and left > 0:
            missing, found = self._arrived[0]
            while found and left > 0:
                run, indexes = found.popleft()
                if len(indexes) > left:
                    found.appendleft((run, indexes[left:]))
                    indexes = indexes[:left]
                self._schedule.load(run, indexes)
                left -= len(indexes)
                self.left -= len(indexes)
            if not found:
                self._arrived.popleft()
                self._asked -= 1
                self.left -= missing
                self.lost += missing
                self._ask()
        return bool(self._arrived)

    def _ask(self) -> None:
        while self._asked < PORTIONS:
            part = next(self._portions, None)
            if part is None:
                return
            self._asked += 1
            schedule = self._schedule
            schedule.log.fetch(schedule.id, part, partial(self._came, part.count))

    def _came(self, count: int, found: "list[tuple[Run, range]]") -> None:
        missing = count - sum([len(indexes) for _, indexes in found])
        self._arrived.append((missing, deque(found)))
        self._schedule.wake()


def portions(seq_ranges: SeqRanges) -> "Iterator[SeqRanges]":
    """Give the messages in parts that are read back one after the other."""
    part = SeqRanges()
    for first, count, size in seq_ranges.ranges():
        while count:
            room = READ_MESSAGES - part.count
            if size:
                room = min(room, max(0, READ_OCTETS - part.octets) // size)
            n = min(count, room if part.count else max(1, room))
            if n:
                part.add(first, n, size)
                first, count = first + n, count - n
            if not n or part.count >= READ_MESSAGES:
                yield part
                part = SeqRanges()
    if part.count:
        yield part
