"""Delayed messages that a start found: rows of the log, cut out of the seq ranges of what lives."""

from array import array
from bisect import bisect_left, bisect_right
from itertools import chain

from pybroker.core.due_index import DUE_MAX
from pybroker.core.queue.retry.window import FETCH_MESSAGES, FETCH_OCTETS
from pybroker.seq_ranges import SeqRanges


class RecoveredRows:
    """Messages that wait, ascending by seq; `split_off` finds them. `messages` and their `octets` are those found.

    A million may have come back one by one: costs are a few appends for each.
    """

    __slots__ = ("_dues", "_firsts", "_found", "_lasts", "_times", "messages", "octets")

    def __init__(self, firsts: "array[int]", lasts: "array[int]", times: "array[int]", dues: "array[int]") -> None:
        self._firsts, self._lasts, self._times, self._dues = firsts, lasts, times, dues
        # When it is due, seq, messages, deliveries, size: the columns of a RetryIndex.
        self._found = array("q"), array("Q"), array("I"), array("I"), array("I")
        self.messages = self.octets = 0

    def columns(self) -> "list[array[int]]":
        """Return the messages that were found, as columns of a RetryIndex, in any order."""
        return list(self._found)

    def split_off(self, seq_ranges: SeqRanges) -> SeqRanges:
        """Find those of these messages that wait; return the others."""
        start = bisect_left(self._lasts, seq_ranges.first_seq)
        stop = bisect_right(self._firsts, seq_ranges.last_seq)
        if start == stop:
            return seq_ranges
        columns = (column[start:stop] for column in (self._firsts, self._lasts, self._times, self._dues))
        firsts, counts, sizes = array("Q"), array("I"), array("I")
        elements = chain(seq_ranges.ranges(), [(_END, 0, 0)])
        low, count, size = next(elements)
        high = low + count
        for first, last, times, due_ms in zip(*columns, strict=True):
            while low <= last:
                if low < first:
                    stop = min(first, high)
                    firsts.append(low)
                    counts.append(stop - low)
                    sizes.append(size)
                    low = stop
                if low < high and low <= last:
                    stop = min(last + 1, high)
                    self._add(low, stop - low, size, times, due_ms)
                    low = stop
                if low == high:
                    low, count, size = next(elements)
                    high = low + count
        if low < high:
            firsts.append(low)
            counts.append(high - low)
            sizes.append(size)
        for low, count, size in elements:
            if count:
                firsts.append(low)
                counts.append(count)
                sizes.append(size)
        return SeqRanges.of(firsts, counts, sizes)

    def _add(self, first: int, count: int, size: int, times: int, due_ms: int) -> None:
        """Take consecutive messages; rows are no larger than a window."""
        self.messages += count
        self.octets += count * size
        dues, seqs, counts, deliveries, sizes = self._found
        while count:
            part = count if count == 1 else min(count, FETCH_MESSAGES, FETCH_OCTETS // size if size else count) or 1
            dues.append(min(due_ms, DUE_MAX))
            seqs.append(first)
            counts.append(part)
            deliveries.append(times)
            sizes.append(size)
            first += part
            count -= part


# Above all seqs.
_END = 1 << 64
