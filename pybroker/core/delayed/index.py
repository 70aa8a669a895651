"""Scheduled messages in the order in which they are due: millions of entries, 20 octets each, at equal cost.

Equal times are in the order in which the messages were published. Knows neither messages nor clocks.
"""

from typing import Final, NamedTuple

from pybroker.core.due_index import BLOCK, DUE_MAX, DueIndex

__all__ = ["BLOCK", "DUE_MAX", "ENTRY_OCTETS", "DelayedIndex", "Item", "Waiting"]

# The largest body that a column holds; a message is never so large.
SIZE_MAX: Final = (1 << 32) - 1
ENTRY_OCTETS: Final = 20


class Item(NamedTuple):
    """One entry: milliseconds of some clock, the message's seq, octets of its body."""

    due: int
    seq: int
    size: int


class DelayedIndex(DueIndex[Item]):
    """An entry for each message; `octets` are those of their bodies."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Item, "qQI")

    @property
    def octets(self) -> int:
        """Return the octets of all bodies."""
        return self.total

    def add(self, due: int, seq: int, size: int) -> None:
        """Take an entry that is not there."""
        self.insert((min(due, DUE_MAX), seq, min(size, SIZE_MAX)))


class Waiting(NamedTuple):
    """One scheduled message as others see it: `due_ms` on the clock that its delayed_index goes by."""

    due_ms: int
    seq: int
    size: int
    delayed_index: DelayedIndex
