"""Entries in the order in which they are due: millions of them, in compact columns, at equal cost.

Blocks of columns: when it is due, seq, and more numbers. Entries ascend by the time, equal ones by seq. Knows neither
messages nor clocks.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar

# Entries of a block: to insert one moves half of it, a tenth of a microsecond.
BLOCK: Final = 1_024
# The largest number of a column of signed 64-bit numbers: later times are as good as never.
DUE_MAX: Final = (1 << 63) - 1

# An entry: a named tuple of when it is due, its seq, and the other columns; of the third the index keeps the sum.
E = TypeVar("E", bound=tuple[int, ...])


class Block:
    """Entries whose place is between those of other blocks."""

    __slots__ = ("columns", "dues", "seqs")

    def __init__(self, columns: "list[array[int]]") -> None:
        self.columns = columns
        self.dues, self.seqs = columns[0], columns[1]

    def place(self, due: int, seq: int) -> int:
        """Return where an entry is, or belongs."""
        start = bisect_left(self.dues, due)
        return bisect_left(self.seqs, seq, start, bisect_right(self.dues, due, start))

    def has(self, at: int, due: int, seq: int) -> bool:
        """Tell whether the entry at a place is this one."""
        return at < len(self.seqs) and self.seqs[at] == seq and self.dues[at] == due

    def part(self, start: int, stop: int) -> "Block":
        """Return some of the entries as a block of their own."""
        return Block([column[start:stop] for column in self.columns])

    def insert(self, place: int, entry: tuple[int, ...]) -> None:
        """Put an entry there."""
        for column, value in zip(self.columns, entry, strict=True):
            column.insert(place, value)

    def remove(self, start: int, stop: int) -> None:
        """Take out the entries from `start` up to `stop`."""
        for column in self.columns:
            del column[start:stop]

    @property
    def last(self) -> tuple[int, int]:
        """Return the place of the last entry in the order of all."""
        return self.dues[-1], self.seqs[-1]


class DueIndex(Generic[E]):
    """`count` entries; `total` is the sum of their third column. `_lasts` has the last entry of each block.

    `_made` makes an entry of its columns, whose types are `_typecodes`.
    """

    __slots__ = ("_blocks", "_lasts", "_made", "_typecodes", "count", "total")

    def __init__(self, made: Any, typecodes: str) -> None:
        self._made = made
        self._typecodes = typecodes
        self._blocks: list[Block] = []
        self._lasts: list[tuple[int, int]] = []
        self.count = 0
        self.total = 0

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[E]:
        for block in self._blocks:
            yield from self._items(block, 0, len(block.seqs))

    def insert(self, entry: tuple[int, ...]) -> None:
        """Take an entry that is not there; its time is DUE_MAX at most."""
        due, seq = entry[0], entry[1]
        self.count += 1
        self.total += entry[2]
        if not self._blocks:
            columns = zip(self._typecodes, entry, strict=True)
            self._blocks.append(Block([array(code, (value,)) for code, value in columns]))
            self._lasts.append((due, seq))
            return
        at = min(bisect_left(self._lasts, (due, seq)), len(self._blocks) - 1)
        block = self._blocks[at]
        place = block.place(due, seq)
        block.insert(place, entry)
        length = len(block.seqs)
        if place == length - 1:
            self._lasts[at] = (due, seq)
        if length >= 2 * BLOCK:
            # At the end, where time goes on, a block that is full stays full.
            keep = length - 1 if at == len(self._blocks) - 1 and place == length - 1 else BLOCK
            self._blocks[at : at + 1] = halves = [block.part(0, keep), block.part(keep, length)]
            self._lasts[at : at + 1] = [half.last for half in halves]

    def load(self, columns: "list[array[int]]") -> None:
        """Take entries, as columns in any order, while there is none: a sixth of what it costs to insert each."""
        assert not self._blocks
        dues, seqs = columns[0], columns[1]
        order = sorted(range(len(seqs)), key=seqs.__getitem__)
        order.sort(key=dues.__getitem__)
        self.count = len(order)
        self.total = sum(columns[2])
        for start in range(0, len(order), BLOCK):
            places = order[start : start + BLOCK]
            self._blocks.append(Block([array(each.typecode, map(each.__getitem__, places)) for each in columns]))
        self._lasts = [block.last for block in self._blocks]

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

    def first(self, count: int, upto: int = DUE_MAX) -> list[E]:
        """Return the first entries that are due at `upto` or before, `count` at most."""
        found: list[E] = []
        for block in self._blocks:
            stop = bisect_right(block.dues, upto)
            found += self._items(block, 0, min(stop, count - len(found)))
            if stop < len(block.dues) or len(found) >= count:
                break
        return found

    def drop(self, count: int) -> None:
        """Take the first entries out."""
        while count > 0:
            n = min(count, len(self._blocks[0].seqs))
            self._cut(0, 0, n)
            count -= n

    def after(self, due: int, seq: int, count: int) -> list[E]:
        """Return the entries behind this one, which need not be there any more, `count` at most."""
        found: list[E] = []
        at = bisect_right(self._lasts, (due, seq))
        for block in self._blocks[at:]:
            start = block.place(due, seq)
            start += block.has(start, due, seq)
            found += self._items(block, start, start + count - len(found))
            if len(found) >= count:
                break
        return found

    def find(self, seq: int) -> int | None:
        """Return when the message of this seq is due; it looks at all of them."""
        for block in self._blocks:
            if seq in block.seqs:
                return block.dues[block.seqs.index(seq)]
        return None

    def clear(self) -> list[Block]:
        """Take all out, and return the blocks."""
        blocks = self._blocks
        self._blocks, self._lasts = [], []
        self.count = self.total = 0
        return blocks

    def _items(self, block: Block, start: int, stop: int) -> Iterator[E]:
        return map(self._made, *[column[start:stop] for column in block.columns])

    def _cut(self, at: int, start: int, stop: int) -> None:
        block = self._blocks[at]
        self.count -= stop - start
        self.total -= sum(block.columns[2][start:stop])
        block.remove(start, stop)
        if not block.seqs:
            del self._blocks[at]
            del self._lasts[at]
        else:
            self._lasts[at] = block.last
