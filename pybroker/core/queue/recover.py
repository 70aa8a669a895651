"""Recovery of a queue at a start: the log's messages go into its levels, all of them evicted."""

from array import array
from collections.abc import Iterator
from itertools import compress
from typing import TYPE_CHECKING, Final, TypeAlias

from pybroker.core.queue.paging import eviction
from pybroker.core.queue.paging.delivery_counts import DeliveryCounts
from pybroker.core.queue.paging.eviction import SEGMENT_ELEMENTS
from pybroker.core.queue.paging.segments import EvictedSegment
from pybroker.core.queue.retry.recovered import RecoveredRows
from pybroker.run import MAYBE_DELIVERED
from pybroker.seq_ranges import SeqRanges, merge

if TYPE_CHECKING:
    from pybroker.core.queue.paging.delivery_counts import Deliveries
    from pybroker.core.queue.paging.segments import Segments
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level

# Priority, whether the messages have TTLs of their own, and which they are.
Part: TypeAlias = tuple[int, bool, SeqRanges]
# Messages that came back, ascending and disjoint, in a flat array: first and last seq, deliveries, and when they are
# due on the clock's now_ms (0: they do not wait).
Returned: TypeAlias = "array[int]"

_NOT: Final = bytes.maketrans(b"\x00\x01", b"\x01\x00")


def restore(queue: "Queue", parts: list[Part], others: int, returned: "Returned | None" = None) -> None:
    """Put messages into an empty queue, which then owns their seq ranges. Parts may interleave, one's seqs ascend.

    Messages that had not returned were delivered `others` times. A part for each segment keeps that cheap: segments
    that interleave are sorted together.
    """
    backlog = queue.backlog
    assert not backlog.messages_ready
    by_level: dict[Level, list[SeqRanges]] = {}
    for priority, timed, seq_ranges in parts:
        if seq_ranges.count:
            by_level.setdefault(backlog.level_of(priority), []).append(seq_ranges)
            queue.timed = queue.timed or timed
    delayed, deliveries = _parted(array("Q") if returned is None else returned, others)
    for level, unordered in by_level.items():
        for ordered in _in_order(unordered):
            left = ordered if delayed is None else delayed.split_off(ordered)
            if left.count:
                backlog.recover(level, left.count, left.octets)
                # A level whose messages all wait has nothing behind its head window.
                _append(level.segments or level.open_segments(), left, deliveries)
    if delayed is not None:
        backlog.count_delayed(delayed.messages, delayed.octets)
        queue.restore_delayed(delayed.columns())
    queue.set_limits(queue.limits)
    if queue.timed:
        for level in backlog.levels:
            eviction.peek(queue, level)  # when it is due, is all that has to be known
    queue.head_came()


def _parted(returned: Returned, others: int) -> "tuple[RecoveredRows | None, Deliveries]":
    """Return what waits, if anything does, and how often the others were delivered."""
    firsts, lasts, times, dues = (returned[column::4] for column in range(4))
    delayed = RecoveredRows(*[array("Q", compress(column, dues)) for column in (firsts, lasts, times, dues)])
    waits = bytes(map(bool, dues))
    if 0 not in waits:
        return (delayed if dues else None), others
    ready = waits.translate(_NOT)
    signed = array("i", [each or MAYBE_DELIVERED for each in compress(times, ready)])
    counts = DeliveryCounts(array("Q", compress(firsts, ready)), array("Q", compress(lasts, ready)), signed, others)
    return (delayed if 1 in waits else None), counts


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


def _append(segments: "Segments", seq_ranges: SeqRanges, deliveries: "Deliveries") -> None:
    """Append what is above all that is there, in parts that are not too long."""
    parts = segments.parts
    last = parts[-1] if parts else None
    if isinstance(last, EvictedSegment) and len(last.seq_ranges) + len(seq_ranges) <= SEGMENT_ELEMENTS:
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
