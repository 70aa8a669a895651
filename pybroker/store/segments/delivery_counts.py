"""DeliveryCounts: how often messages that came back to a queue had been delivered, by ranges of seqs that may overlap.

A backlog that came back whole is one range, and what is done with it costs as much as one.
"""

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


def highest(returned: "Mapping[tuple[int, int], int]") -> "Iterator[tuple[int, int, int]]":
    """Give ranges (first, last, deliveries), ascending and disjoint, with the highest number of those that overlap."""
    waiting = sorted(((first, last, times) for (first, last), times in returned.items()), reverse=True)
    begun: list[tuple[int, int]] = []  # minus how often, and up to where
    at = 0
    while waiting or begun:
        if not begun:
            at = max(at, waiting[-1][0])
        while waiting and waiting[-1][0] <= at:
            _, last, times = waiting.pop()
            heappush(begun, (-times, last))
        while begun and begun[0][1] < at:
            heappop(begun)
        if begun:
            times, last = begun[0]
            stop = min(last, waiting[-1][0] - 1) if waiting else last
            yield at, stop, -times
            at = stop + 1


def joined(parts: "Iterable[tuple[int, int, int]]") -> list[tuple[int, int, int]]:
    """Return ascending ranges with those made one that touch and came back as often."""
    made: list[tuple[int, int, int]] = []
    for first, last, times in parts:
        if made and made[-1][1] + 1 == first and made[-1][2] == times:
            made[-1] = made[-1][0], last, times
        else:
            made.append((first, last, times))
    return made
