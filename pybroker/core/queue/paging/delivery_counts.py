"""How often the messages were delivered that a start found: any two that follow one another may differ.

A part for each of them would be half a kilobyte a message; this is 20 octets for each range of equal ones.
"""

from bisect import bisect_left
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator

# Of all messages alike; or as they differ.
Deliveries: TypeAlias = "int | DeliveryCounts"


class DeliveryCounts:
    """Ranges of seqs, ascending and disjoint, that were delivered `times[i]` times each; all others, `others` times."""

    __slots__ = ("firsts", "lasts", "others", "times")

    def __init__(self, firsts: "array[int]", lasts: "array[int]", times: "array[int]", others: int) -> None:
        self.firsts = firsts
        self.lasts = lasts
        self.times = times
        self.others = others

    def __len__(self) -> int:
        return len(self.firsts)

    def at(self, seq: int) -> int:
        """Return how often one message was delivered."""
        at = bisect_left(self.lasts, seq)
        return self.times[at] if at < len(self.firsts) and self.firsts[at] <= seq else self.others

    def ranges(self, first: int, last: int) -> "Iterator[tuple[int, int, int]]":
        """Yield first and last seq of those that were delivered equally often, and how often."""
        for at in range(bisect_left(self.lasts, first), len(self.firsts)):
            start = self.firsts[at]
            if start > last:
                break
            if start > first:
                yield first, start - 1, self.others
                first = start
            stop = min(self.lasts[at], last)
            yield first, stop, self.times[at]
            first = stop + 1
        if first <= last:
            yield first, last, self.others


def deliveries_at(deliveries: Deliveries, seq: int) -> int:
    """Return how often one message was delivered."""
    return deliveries if isinstance(deliveries, int) else deliveries.at(seq)


def delivered_alike(deliveries: Deliveries, first: int, last: int) -> "Iterator[tuple[int, int, int]]":
    """Yield first and last seq of those that were delivered equally often, and how often."""
    if isinstance(deliveries, int):
        yield first, last, deliveries
    else:
        yield from deliveries.ranges(first, last)
