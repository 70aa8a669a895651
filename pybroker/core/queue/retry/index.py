"""Delayed messages in the order in which they are due: 28 octets for consecutive ones that came back together."""

from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.core.due_index import DUE_MAX, Block, DueIndex
from pybroker.core.queue.paging.segments import EvictedSegment
from pybroker.seq_ranges import SeqRanges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.run import Entry

ROW_OCTETS: Final = 28


class Row(NamedTuple):
    """Messages `seq .. seq + messages - 1`, due then on the clock's now_ms; each body has `size` octets."""

    due_ms: int
    seq: int
    messages: int
    deliveries: int
    size: int

    @property
    def octets(self) -> int:
        """Return the octets of all bodies."""
        return self.messages * self.size


class RetryIndex(DueIndex[Row]):
    """A row for each range; `total` is the number of messages."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Row, "qQIII")

    def add(self, row: Row) -> None:
        """Take a row that is not there."""
        self.insert(row if row.due_ms <= DUE_MAX else row._replace(due_ms=DUE_MAX))


class LeavingBlock(EvictedSegment):
    """Rows of a queue that was purged, whose seqs are settled when it is their turn; those in memory go otherwise."""

    __slots__ = ("_block", "_resident")

    def __init__(self, block: Block, resident: "dict[int, list[Entry]]") -> None:
        super().__init__(SeqRanges())
        self._block = block
        self._resident = resident

    def spans(self) -> "Iterator[tuple[int, int]]":
        """Yield the seqs as ranges, first and last."""
        _, seqs, counts, *_ = self._block.columns
        for first, count in sorted(zip(seqs, counts, strict=True)):
            if first not in self._resident:
                yield first, first + count - 1
