"""Recovery of a queue at a start: the log's messages go into its levels, all of them evicted."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from pybroker.core.queue.paging import eviction
from pybroker.core.queue.paging.eviction import SEGMENT_ELEMENTS
from pybroker.core.queue.paging.segments import EvictedSegment
from pybroker.seq_ranges import SeqRanges, merge

if TYPE_CHECKING:
    from pybroker.core.queue.paging.segments import Segments
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level

# Priority, whether the messages have TTLs of their own, and which they are.
Part: TypeAlias = tuple[int, bool, SeqRanges]
# How often messages were delivered before: all of them, or those from first to last, ascending; others never.
Deliveries: TypeAlias = int | list[tuple[int, int, int]]


# Messages that wait: first and last seq, deliveries, and when they are due on the clock's now_ms; ascending.
Delayed: TypeAlias = "Sequence[tuple[int, int, int, int]]"


def restore(queue: "Queue", parts: list[Part], deliveries: Deliveries, delayed: Delayed = ()) -> None:
    """Put messages into an empty queue, which then owns their seq ranges. Parts may interleave, one's seqs ascend.

    A part for each segment keeps that cheap: segments that interleave are sorted together.
    """
    backlog = queue.backlog
    assert not backlog.messages_ready
    by_level: dict[Level, list[SeqRanges]] = {}
    for priority, timed, seq_ranges in parts:
        if seq_ranges.count:
            by_level.setdefault(backlog.level_of(priority), []).append(seq_ranges)
            queue.timed = queue.timed or timed
    for level, unordered in by_level.items():
        segments = level.open_segments()
        for ordered in _in_order(unordered):
            if delayed:
                ordered = _without_delayed(queue, ordered, delayed)
                if not ordered.count:
                    continue
            backlog.recover(level, ordered.count, ordered.octets)
            for times, part in _by_deliveries(ordered, deliveries):
                _append(segments, part, times)
    queue.set_limits(queue.limits)
    if queue.timed:
        for level in backlog.levels:
            eviction.peek(queue, level)  # when it is due, is all that has to be known
    queue.head_came()


def _without_delayed(queue: "Queue", seq_ranges: SeqRanges, delayed: Delayed) -> SeqRanges:
    """Have those wait that are not due; return the others."""
    waiting = queue.delayed
    assert waiting is not None
    start = bisect_left(delayed, seq_ranges.first_seq, key=itemgetter(1))
    stop = bisect_right(delayed, seq_ranges.last_seq, key=itemgetter(0))
    # By hand, since `between` for each of a million is half a minute.
    at, firsts, counts, sizes = 0, seq_ranges.firsts, seq_ranges.counts, seq_ranges.sizes
    for first, last, times, due_ms in delayed[start:stop]:
        while firsts[at] + counts[at] <= first:
            at += 1
        here = at
        while here < len(firsts) and firsts[here] <= last:
            low, high = max(firsts[here], first), min(firsts[here] + counts[here] - 1, last)
            waiting.restore(low, high - low + 1, sizes[here], times, due_ms)
            queue.backlog.count_delayed(high - low + 1, (high - low + 1) * sizes[here])
            here += 1
    waiting.restored()
    return seq_ranges.without((first, last) for first, last, *_ in delayed[start:stop])


def _in_order(unordered: list[SeqRanges]) -> Iterator[SeqRanges]:
    """Yield the same messages as seq ranges each of which is above the one before."""
    unordered.sort(key=lambda seq_ranges: seq_ranges.firsts[0])
    clump: list[SeqRanges] = []
    last_seq = 0
    for seq_ranges in unordered:
        if clump and seq_ranges.first_seq > last_seq:
            yield merge(clump)
            clump = []
        clump.append(seq_ranges)
        last_seq = max(last_seq, seq_ranges.last_seq)
    if clump:
        yield merge(clump)


def _by_deliveries(seq_ranges: SeqRanges, deliveries: Deliveries) -> Iterator[tuple[int, SeqRanges]]:
    """Yield the messages in parts that were delivered equally often."""
    if isinstance(deliveries, int):
        yield deliveries, seq_ranges
        return
    next_seq, last_seq = seq_ranges.first_seq, seq_ranges.last_seq
    for at in range(bisect_left(deliveries, next_seq, key=itemgetter(1)), len(deliveries)):
        first, last, times = deliveries[at]
        if first > last_seq:
            break
        if first > next_seq:
            yield 0, seq_ranges.between(next_seq, first - 1)
            next_seq = first
        yield times, seq_ranges.between(next_seq, last)
        next_seq = last + 1
    if next_seq <= last_seq:
        yield 0, seq_ranges.between(next_seq, last_seq)


def _append(segments: "Segments", seq_ranges: SeqRanges, deliveries: int) -> None:
    """Append what is above all that is there, in parts that are not too long."""
    parts = segments.parts
    if not seq_ranges.count:
        return
    last = parts[-1] if parts else None
    if (
        isinstance(last, EvictedSegment)
        and last.deliveries == deliveries
        and len(last.seq_ranges) + len(seq_ranges) <= SEGMENT_ELEMENTS
    ):
        last.seq_ranges.extend(seq_ranges)
        return
    if len(seq_ranges) <= SEGMENT_ELEMENTS:
        parts.append(EvictedSegment(seq_ranges, deliveries))
        return
    columns = seq_ranges.firsts, seq_ranges.counts, seq_ranges.sizes
    for start in range(0, len(seq_ranges), SEGMENT_ELEMENTS):
        parts.append(
            EvictedSegment(SeqRanges.of(*[column[start : start + SEGMENT_ELEMENTS] for column in columns]), deliveries)
        )
