"""Messages known by their seqs alone, ascending: all that a queue keeps of messages whose contents are on disk.

Three arrays: an element is consecutive seqs whose bodies are of equal size, `firsts[i] .. firsts[i] + counts[i] - 1`,
`sizes[i]` octets each. Neighbours merge, so a flood of one publisher is a few elements, and the worst case, every
message by itself, 16 octets a message. Knows neither queues nor files.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

# The largest count and body size that an element holds.
ELEMENT_MAX: Final = (1 << 32) - 1


class SeqRanges:
    """Invariant: seqs ascend and never repeat. `count` messages whose bodies have `octets` in all."""

    __slots__ = ("count", "counts", "firsts", "octets", "sizes")

    def __init__(self) -> None:
        self.firsts = array("Q")
        self.counts = array("I")
        self.sizes = array("I")
        self.count = 0
        self.octets = 0

    def __len__(self) -> int:
        return len(self.firsts)

    def __repr__(self) -> str:
        return f"SeqRanges({list(self.ranges())})"

    @classmethod
    def of(cls, firsts: "array[int]", counts: "array[int]", sizes: "array[int]") -> "SeqRanges":
        """Return the seq ranges with these columns, which they then own."""
        made = cls()
        made.firsts, made.counts, made.sizes = firsts, counts, sizes
        made._recount()
        return made

    @property
    def first_seq(self) -> int:
        """Return the lowest seq; there is at least one."""
        return self.firsts[0]

    @property
    def last_seq(self) -> int:
        """Return the highest seq; there is at least one."""
        return self.firsts[-1] + self.counts[-1] - 1

    def ranges(self) -> Iterator[tuple[int, int, int]]:
        """Give the elements: first seq, count, octets of each body."""
        return zip(self.firsts, self.counts, self.sizes, strict=True)

    def add(self, first: int, count: int, size: int) -> None:
        """Append `count` seqs from `first` on, above all others; their bodies have `size` octets each."""
        self.count += count
        self.octets += count * size
        if self.firsts:
            last = self.counts[-1]
            if self.firsts[-1] + last == first and self.sizes[-1] == size and last + count <= ELEMENT_MAX:
                self.counts[-1] = last + count
                return
        self.firsts.append(first)
        self.counts.append(count)
        self.sizes.append(size)

    def extend(self, other: "SeqRanges") -> None:
        """Append other seq ranges, all of which are above."""
        if not other.firsts:
            return
        self.add(other.firsts[0], other.counts[0], other.sizes[0])
        self.firsts.extend(other.firsts[1:])
        self.counts.extend(other.counts[1:])
        self.sizes.extend(other.sizes[1:])
        self.count += other.count - other.counts[0]
        self.octets += other.octets - other.counts[0] * other.sizes[0]

    def pop_front(self, count: int) -> "SeqRanges":
        """Remove the first `count` messages (all, if there are fewer) and return them."""
        taken = SeqRanges()
        whole = left = 0
        if count >= self.count:
            whole = len(self.firsts)
        else:
            left = count
            while left >= self.counts[whole]:
                left -= self.counts[whole]
                whole += 1
        taken.firsts, self.firsts = self.firsts[:whole], self.firsts[whole:]
        taken.counts, self.counts = self.counts[:whole], self.counts[whole:]
        taken.sizes, self.sizes = self.sizes[:whole], self.sizes[whole:]
        taken._recount()
        if left:
            taken.add(self.firsts[0], left, self.sizes[0])
            self.firsts[0] += left
            self.counts[0] -= left
        self.count -= taken.count
        self.octets -= taken.octets
        return taken

    def between(self, first: int, last: int) -> "SeqRanges":
        """Return the messages with seqs `first .. last`; these seq ranges keep them."""
        firsts, counts = self.firsts, self.counts
        start = bisect_left(firsts, first)
        if start and firsts[start - 1] + counts[start - 1] > first:
            start -= 1
        stop = bisect_left(firsts, last + 1, start)
        part = SeqRanges()
        part._append(firsts, counts, self.sizes, start, stop)
        if part.firsts:
            before = max(0, first - part.firsts[0])
            part.firsts[0] += before
            part.counts[0] -= before
            part.counts[-1] -= max(0, part.firsts[-1] + part.counts[-1] - 1 - last)
            part._recount()
        return part

    def without(self, gone: Iterable[tuple[int, int]]) -> "SeqRanges":
        """Return what is left when the seq ranges `gone` (first, last; ascending, disjoint) are taken out."""
        firsts, counts, sizes = self.firsts[:], self.counts[:], self.sizes
        left = SeqRanges()
        at = 0  # elements before it are done with
        for first, last in gone:
            i = bisect_left(firsts, first, at)
            if i > at and firsts[i - 1] + counts[i - 1] > first:
                i -= 1
            left._append(firsts, counts, sizes, at, i)
            at = i
            while at < len(firsts) and firsts[at] <= last:
                start, stop = firsts[at], firsts[at] + counts[at]
                if start < first:
                    left._append_one(start, first - start, sizes[at])
                if stop > last + 1:
                    firsts[at], counts[at] = last + 1, stop - last - 1
                    break
                at += 1
        left._append(firsts, counts, sizes, at, len(firsts))
        left._recount()
        return left

    def _append(self, firsts: "array[int]", counts: "array[int]", sizes: "array[int]", start: int, stop: int) -> None:
        self.firsts.extend(firsts[start:stop])
        self.counts.extend(counts[start:stop])
        self.sizes.extend(sizes[start:stop])

    def _append_one(self, first: int, count: int, size: int) -> None:
        self.firsts.append(first)
        self.counts.append(count)
        self.sizes.append(size)

    def _recount(self) -> None:
        self.count = sum(self.counts)
        self.octets = sum(map(int.__mul__, self.counts, self.sizes))


def merge(several: list[SeqRanges]) -> SeqRanges:
    """Return the messages of several of them, none of which has a seq of another, as one. They may be used up."""
    several = sorted((each for each in several if each.count), key=lambda each: each.first_seq)
    if all(one.last_seq < other.first_seq for one, other in pairwise(several)):
        whole = SeqRanges()
        for each in several:
            whole.extend(each)
        return whole
    whole = SeqRanges()
    for first, count, size in sorted(element for each in several for element in each.ranges()):
        whole.add(first, count, size)
    return whole
