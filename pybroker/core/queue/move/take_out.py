"""Removes messages from a level of a queue wherever they are: in memory, returned, on disk.

The cost is per entry and per seq range between the first and the last message removed.
"""

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

from pybroker.core.queue.paging.segments import EvictedSegment
from pybroker.run import Entry
from pybroker.seq_ranges import SeqRanges

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterable, Iterator

    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level

    Part = Entry | EvictedSegment
    # The first and the last seq. Several spans ascend and do not overlap.
    Span = tuple[int, int]


class Taken(NamedTuple):
    """The seqs that were removed. It is `busy` if some of the others are being read back from disk: try again later."""

    spans: "list[Span]"
    busy: bool


class _Cut:
    """Splits parts of a level into messages with seqs in `spans` and the others."""

    __slots__ = ("_spans", "busy", "entries", "evicted")

    def __init__(self, spans: "list[Span]") -> None:
        self._spans = spans
        self.entries: list[Entry] = []
        self.evicted: list[tuple[SeqRanges, EvictedSegment]] = []
        self.busy = False

    def of(self, parts: "Iterable[Part]") -> "list[Part]":
        """Take the messages out of `parts`, which ascend, and return the others."""
        left: list[Part] = []
        for part in parts:
            if isinstance(part, Entry):
                left += self._of_entry(part)
            elif part.found is not None:
                # Its messages are in memory. If they are being written to a page, they are taken back.
                found, part.found = part.found, None
                for entry in found:
                    left += self._of_entry(entry)
            elif part.asked:
                self.busy = self.busy or bool(self._within(part.seq_ranges.first_seq, part.seq_ranges.last_seq))
                left.append(part)
            else:
                left += self._of_segment(part)
        return left

    def _within(self, first: int, last: int) -> "list[Span]":
        """Return the spans that overlap these seqs."""
        start = bisect_left(self._spans, first, key=_last_of_span)
        return self._spans[start : bisect_right(self._spans, last, lo=start, key=_first_of_span)]

    def _of_entry(self, entry: Entry) -> "list[Entry]":
        run, indexes = entry.run, entry.indexes
        left = []
        at = 0
        for first, last in self._within(entry.first_seq, entry.last_seq):
            start = bisect_left(indexes, first - run.first_seq)
            stop = bisect_right(indexes, last - run.first_seq)
            if start == stop:
                continue
            if start > at:
                left.append(Entry(run, indexes[at:start], entry.deliveries))
            self.entries.append(Entry(run, indexes[start:stop], entry.deliveries))
            at = stop
        if not at:
            return [entry]
        return [*left, Entry(run, indexes[at:], entry.deliveries)] if at < len(indexes) else left

    def _of_segment(self, segment: EvictedSegment) -> "list[EvictedSegment]":
        mine = segment.seq_ranges
        spans = self._within(mine.first_seq, mine.last_seq)
        gone = SeqRanges()
        for first, last in spans:
            gone.extend(mine.between(first, last))
        if not gone.count:
            return [segment]
        self.evicted.append((gone, segment))
        if gone.count == mine.count:
            return []
        return [EvictedSegment(mine.without(spans), segment.deliveries, segment.page)]


def take_out(queue: "Queue", level: "Level", spans: "list[Span]") -> Taken:
    """Remove the messages of a level that have seqs in `spans`. Nothing is settled."""
    cut = _Cut(spans)
    first, last = spans[0][0], spans[-1][1]
    returned = level.returned
    stop = bisect_right(returned, -first, key=_descending_last)
    start = bisect_left(returned, -last, hi=stop, key=_descending_first)
    returned[start:stop] = [part for part in reversed(cut.of(returned[start:stop][::-1])) if isinstance(part, Entry)]
    _take_of(level.ready, first, last, cut)
    segments = level.segments
    if segments is not None:
        for parts in (segments.parts, segments.paged, segments.fresh):
            _take_of(parts, first, last, cut)
    backlog = queue.backlog
    backlog.count_removed(level, cut.entries)
    for gone, segment in cut.evicted:
        if segment.page is not None:
            segment.page.release(gone.count)
        backlog.count_dropped(level, gone.count, gone.octets, transient=segment.page is not None)
    if segments is not None:
        segments.start_over()
        if not level.ready or not segments.parts:
            level.advance()
    taken = [span for entry in cut.entries for span in _spans(entry)]
    return Taken(sorted(taken + [span for gone, _ in cut.evicted for span in EvictedSegment(gone).spans()]), cut.busy)


def _spans(entry: Entry) -> "Iterator[Span]":
    if entry.indexes.step == 1:
        yield entry.first_seq, entry.last_seq
    else:
        for index in entry.indexes:
            yield entry.run.first_seq + index, entry.run.first_seq + index


def _take_of(parts: "deque[Any]", first: int, last: int, cut: _Cut) -> None:
    """Apply `cut` to the parts of a deque between two seqs."""
    start = bisect_left(parts, first, key=_last_seq)
    stop = bisect_right(parts, last, lo=start, key=_first_seq)
    if start < stop:
        parts.rotate(-start)
        mine = [parts.popleft() for _ in range(stop - start)]
        parts.extendleft(reversed(cut.of(mine)))
        parts.rotate(start)


def _first_seq(part: "Part") -> int:
    return part.first_seq if isinstance(part, Entry) else part.seq_ranges.first_seq


def _last_seq(part: "Part") -> int:
    return part.last_seq if isinstance(part, Entry) else part.seq_ranges.last_seq


def _descending_first(entry: Entry) -> int:
    return -entry.first_seq


def _descending_last(entry: Entry) -> int:
    return -entry.last_seq


def _first_of_span(span: "Span") -> int:
    return span[0]


def _last_of_span(span: "Span") -> int:
    return span[1]
