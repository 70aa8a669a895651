"""AckRanges: the seqs that a queue has settled in one segment, as ranges. It knows neither files nor messages.

A queue that settles in order is one range, whose end grows. One that settles in scattered order (delayed messages,
priorities) has as many ranges as half the segment's messages, and to bring all of them in order at once would take the
loop's time: more than a few are kept in parts, each of which is brought in order by itself.
"""

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Ranges that came out of order are brought in order when there are this many more numbers than after the last time.
NORMALIZE_AT: Final = 256
# A part that has more numbers when it is in order is cut: at most twice as many are sorted at once, 1 to 3 ms.
PART_MAX: Final = 4_096
# Two neighbours that have fewer become one.
JOIN_BELOW: Final = PART_MAX // 4


class AckRanges:
    """Ranges as a flat array, first, last, first, last; and those below it as parts that are such arrays, if many.

    `_normal` is how long the array was when it was brought in order: it still is, if it is as long. `_below` has the
    parts, ascending, and for each the lowest seq above it; none of them is empty.
    """

    __slots__ = ("_below", "_normal", "_pairs")

    def __init__(self, pairs: "array[int] | None" = None) -> None:
        self._pairs = pairs if pairs is not None else array("Q")
        self._normal = 0
        self._below: tuple[list[int], list[AckRanges]] | None = None
        if pairs:
            self._tidy()

    def add(self, first: int, last: int) -> None:
        """Add a range; it overlaps no other."""
        pairs = self._pairs
        if pairs and pairs[-1] + 1 == first:
            pairs[-1] = last
            return
        if self._below is not None and first < self._below[0][-1]:
            self._add_below(first, last)
            return
        pairs.append(first)
        pairs.append(last)
        if len(pairs) - self._normal > NORMALIZE_AT and len(pairs) > min(2 * self._normal, 2 * PART_MAX):
            self._tidy()

    def copies(self) -> "list[array[int]]":
        """Return copies of the arrays as they are: they ascend, what is in each need not. `whole` makes one of them."""
        parts = self._below[1] if self._below is not None else []
        return [part._pairs[:] for part in (*parts, self)]

    def copy(self) -> "array[int]":
        """Return a copy of all ranges as they are: in any order, and not joined."""
        if self._below is None:
            return self._pairs[:]
        copied = array("Q")
        for part in (*self._below[1], self):
            copied += part._pairs
        return copied

    def normalize(self) -> "array[int]":
        """Return all ranges in order and joined. Takes a while if there are many: not for the hub."""
        return whole(self.within(0, (1 << 64) - 1))

    def within(self, first: int, last: int) -> "Iterator[array[int]]":
        """Give arrays in order, ascending, with all ranges that `first .. last` touches. They are not to be changed."""
        if self._below is not None:
            borders, parts = self._below
            stop = bisect_right(borders, last)
            for part in parts[bisect_right(borders, first) : stop + 1]:
                yield part._in_order()
            if stop < len(parts):
                return
        yield self._in_order()

    def _in_order(self) -> "array[int]":
        """Return the array, in order. If it is long it is cut when something is added."""
        if len(self._pairs) != self._normal:
            self._pairs = normalized(self._pairs, self._normal)
            self._normal = len(self._pairs)
        return self._pairs

    def _tidy(self) -> None:
        """Bring the array in order; if it is long, keep its end and make parts of the rest."""
        pairs = self._in_order()
        if len(pairs) <= PART_MAX:
            return
        size = PART_MAX // 2
        ends = range(size, len(pairs), size)
        borders, parts = self._below = self._below or ([], [])
        for end in ends:
            part = AckRanges()
            part._pairs, part._normal = pairs[end - size : end], size
            borders.append(pairs[end])
            parts.append(part)
        self._pairs = pairs[ends[-1] :]
        self._normal = len(self._pairs)

    def _add_below(self, first: int, last: int) -> None:
        """Add a range to the parts it belongs to: two at most, since it overlaps none of the ranges that each has."""
        while first <= last and self._below is not None and first < self._below[0][-1]:
            borders, parts = self._below
            at = bisect_right(borders, first)
            end = min(last, borders[at] - 1)
            part = parts[at]
            pairs = part._pairs
            part.add(first, end)
            first = end + 1
            if part._pairs is not pairs:
                self._rearrange(borders, parts, at)
        if first <= last:
            self.add(first, last)

    def _rearrange(self, borders: list[int], parts: "list[AckRanges]", at: int) -> None:
        """Take over what a part has cut off; or join it with the one above, if both are short."""
        part = parts[at]
        above = parts[at + 1] if at + 1 < len(parts) else self
        if part._below is not None:
            borders[at:at], parts[at:at] = part._below
            part._below = None
        elif len(part._pairs) + len(above._pairs) < JOIN_BELOW:
            above._pairs = normalized(part._pairs + above._pairs)
            above._normal = len(above._pairs)
            del borders[at], parts[at]
            if not parts:
                self._below = None


def ranges(pairs: "array[int]") -> "Iterable[tuple[int, int]]":
    """Give the ranges of a flat array."""
    return zip(pairs[::2], pairs[1::2], strict=True)


def normalized(pairs: "array[int]", checked: int = 0) -> "array[int]":
    """Return ranges (first, last, first, last ...) ascending, joined where they touch or overlap.

    The first `checked` numbers are known to be so.
    """
    at = max(0, checked - 2)
    if all(last + 1 < first for last, first in zip(pairs[at + 1 :: 2], pairs[at + 2 :: 2], strict=False)):
        return pairs
    # Apart: how many ranges a seq is in depends on how many begin and end before it, not on which ends go together.
    firsts, lasts = sorted(pairs[::2]), sorted(pairs[1::2])
    gaps = [at for at, (last, first) in enumerate(zip(lasts, firsts[1:], strict=False), 1) if last + 1 < first]
    joined = array("Q", bytes(16 * (len(gaps) + 1)))
    joined[::2] = array("Q", [firsts[0], *[firsts[at] for at in gaps]])
    joined[1::2] = array("Q", [*[lasts[at - 1] for at in gaps], lasts[-1]])
    return joined


def whole(parts: "Iterable[array[int]]") -> "array[int]":
    """Return as one, in order and joined, the ranges of arrays that ascend: each of them is sorted by itself."""
    joined = array("Q")
    for part in parts:
        pairs = normalized(part)
        if joined and pairs and joined[-1] + 1 == pairs[0]:
            joined[-1] = pairs[1]
            pairs = pairs[2:]
        joined += pairs
    return joined
