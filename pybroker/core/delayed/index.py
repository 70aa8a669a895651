"""Scheduled messages in the order in which they are due: millions of entries, 20 octets each, at equal cost.

Blocks of three columns: when it is due, seq, octets of the body. Entries ascend by the time, equal ones by seq: in the
order in which they were published. Knows neither messages nor clocks.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

# Entries of a block: to insert one moves half of it, a tenth of a microsecond.
BLOCK: Final = 1_024
# The largest number of a column of signed 64-bit numbers: later times are as good as never.
DUE_MAX: Final = (1 << 63) - 1
# The largest body that a column holds; a message is never so large.
SIZE_MAX: Final = (1 << 32) - 1
ENTRY_OCTETS: Final = 20


class Item(NamedTuple):
    """One entry: milliseconds of some clock, the message's seq, octets of its body."""

    due: int
    seq: int
    size: int


class Block:
    """Entries whose place is between those of other blocks."""

    __slots__ = ("dues", "seqs", "sizes")

    def __init__(self, dues: "array[int]", seqs: "array[int]", sizes: "array[int]") -> None:
        self.dues = dues
        self.seqs = seqs
        self.sizes = sizes

    def place(self, due: int, seq: int) -> int:
        """Return where an entry is, or belongs."""
        start = bisect_left(self.dues, due)
        return bisect_left(self.seqs, seq, start, bisect_right(self.dues, due, start))

    def has(self, at: int, due: int, seq: int) -> bool:
        """Tell whether the entry at a place is this one."""
        return at < len(self.seqs) and self.seqs[at] == seq and self.dues[at] == due

    def part(self, start: int, stop: int) -> "Block":
        """Return some of the entries as a block of their own."""
        return Block(self.dues[start:stop], self.seqs[start:stop], self.sizes[start:stop])

    def remove(self, start: int, stop: int) -> None:
        """Take out the entries from `start` up to `stop`."""
        del self.dues[start:stop]
        del self.seqs[start:stop]
        del self.sizes[start:stop]

    def items(self, start: int, stop: int) -> Iterator[Item]:
        """Give the entries from `start` up to `stop`."""
        return map(Item, self.dues[start:stop], self.seqs[start:stop], self.sizes[start:stop])

    @property
    def last(self) -> tuple[int, int]:
        """Return the place of the last entry in the order of all."""
        return self.dues[-1], self.seqs[-1]


class DelayedIndex:
    """`count` entries; `octets` of bodies. `_lasts` has the last entry of each block."""

    __slots__ = ("_blocks", "_lasts", "count", "octets")

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._lasts: list[tuple[int, int]] = []
        self.count = 0
        self.octets = 0

    def __len__(self) -> int:
        return self.count

    def add(self, due: int, seq: int, size: int) -> None:
        """Take an entry that is not there."""
        due, size = min(due, DUE_MAX), min(size, SIZE_MAX)
        self.count += 1
        self.octets += size
        if not self._blocks:
            self._blocks.append(Block(array("q", (due,)), array("Q", (seq,)), array("I", (size,))))
            self._lasts.append((due, seq))
            return
        at = min(bisect_left(self._lasts, (due, seq)), len(self._blocks) - 1)
        block = self._blocks[at]
        place = block.place(due, seq)
        block.dues.insert(place, due)
        block.seqs.insert(place, seq)
        block.sizes.insert(place, size)
        length = len(block.seqs)
        if place == length - 1:
            self._lasts[at] = (due, seq)
        if length >= 2 * BLOCK:
            # At the end, where time goes on, a block that is full stays full.
            keep = length - 1 if at == len(self._blocks) - 1 and place == length - 1 else BLOCK
            self._blocks[at : at + 1] = halves = [block.part(0, keep), block.part(keep, length)]
            self._lasts[at : at + 1] = [half.last for half in halves]

    def remove(self, due: int, seq: int) -> bool:
        """Take an entry out; tell whether it was there."""
        due = min(due, DUE_MAX)
        at = bisect_left(self._lasts, (due, seq))
        if at == len(self._blocks):
            return False
        block = self._blocks[at]
        place = block.place(due, seq)
        if not block.has(place, due, seq):
            return False
        self._cut(at, place, place + 1)
        return True

    def has(self, due: int, seq: int) -> bool:
        """Tell whether an entry is there."""
        at = bisect_left(self._lasts, (due, seq))
        return at < len(self._blocks) and self._blocks[at].has(self._blocks[at].place(due, seq), due, seq)

    def first(self, count: int, upto: int = DUE_MAX) -> list[Item]:
        """Return the first entries that are due at `upto` or before, `count` at most."""
        found: list[Item] = []
        for block in self._blocks:
            stop = bisect_right(block.dues, upto)
            found += block.items(0, min(stop, count - len(found)))
            if stop < len(block.dues) or len(found) >= count:
                break
        return found

    def drop(self, count: int) -> None:
        """Take the first entries out."""
        while count > 0:
            n = min(count, len(self._blocks[0].seqs))
            self._cut(0, 0, n)
            count -= n

    def after(self, due: int, seq: int, count: int) -> list[Item]:
        """Return the entries behind this one, which need not be there any more, `count` at most."""
        found: list[Item] = []
        at = bisect_right(self._lasts, (due, seq))
        for block in self._blocks[at:]:
            start = block.place(due, seq)
            start += block.has(start, due, seq)
            found += block.items(start, start + count - len(found))
            if len(found) >= count:
                break
        return found

    def find(self, seq: int) -> int | None:
        """Return when the message of this seq is due; it looks at all of them."""
        for block in self._blocks:
            if seq in block.seqs:
                return block.dues[block.seqs.index(seq)]
        return None

    def clear(self) -> None:
        """Take all out."""
        self._blocks, self._lasts = [], []
        self.count = self.octets = 0

    def _cut(self, at: int, start: int, stop: int) -> None:
        block = self._blocks[at]
        self.count -= stop - start
        self.octets -= sum(block.sizes[start:stop])
        block.remove(start, stop)
        if not block.seqs:
            del self._blocks[at]
            del self._lasts[at]
        else:
            self._lasts[at] = block.last


class Waiting(NamedTuple):
    """One scheduled message as others see it: `due_ms` on the clock that its delayed_index goes by."""

    due_ms: int
    seq: int
    size: int
    delayed_index: DelayedIndex
