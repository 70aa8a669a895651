"""Recovery of a queue at a start: the log's messages go into its levels, all of them evicted."""

from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from pybroker.core.queue.paging import eviction
from pybroker.core.queue.paging.eviction import AWAY_ELEMENTS
from pybroker.core.queue.paging.segments import Away
from pybroker.seq_ranges import SeqRanges, merge

if TYPE_CHECKING:
    from pybroker.core.queue.paging.segments import Behind
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level

# Priority, whether the messages have TTLs of their own, and which they are.
Part: TypeAlias = tuple[int, bool, SeqRanges]
# How often messages were delivered before: all of them, or those from first to last, ascending; others never.
Deliveries: TypeAlias = int | list[tuple[int, int, int]]


def restore(queue: "Queue", parts: list[Part], deliveries: Deliveries) -> None:
    """Put messages into an empty queue, which then owns the stretches. Parts may interleave, one's seqs ascend.

    A part for each segment keeps that cheap: segments that interleave are sorted together.
    """
    backlog = queue.backlog
    assert not backlog.messages_ready
    by_level: dict[Level, list[SeqRanges]] = {}
    for priority, timed, stretch in parts:
        if stretch.count:
            by_level.setdefault(backlog.level_of(priority), []).append(stretch)
            queue.timed = queue.timed or timed
    for level, stretches in by_level.items():
        behind = level.open_behind()
        for ordered in _in_order(stretches):
            backlog.recover(level, ordered.count, ordered.octets)
            for times, part in _by_deliveries(ordered, deliveries):
                _append(behind, part, times)
    queue.set_limits(queue.limits)
    if queue.timed:
        for level in backlog.levels:
            eviction.peek(queue, level)  # when it is due, is all that has to be known
    queue.head_came()


def _in_order(stretches: list[SeqRanges]) -> Iterator[SeqRanges]:
    """Yield the same messages in stretches each of which is above the one before."""
    stretches.sort(key=lambda stretch: stretch.firsts[0])
    clump: list[SeqRanges] = []
    last_seq = 0
    for stretch in stretches:
        if clump and stretch.first_seq > last_seq:
            yield merge(clump)
            clump = []
        clump.append(stretch)
        last_seq = max(last_seq, stretch.last_seq)
    if clump:
        yield merge(clump)


def _by_deliveries(stretch: SeqRanges, deliveries: Deliveries) -> Iterator[tuple[int, SeqRanges]]:
    """Yield the messages in parts that were delivered equally often."""
    if isinstance(deliveries, int):
        yield deliveries, stretch
        return
    next_seq, last_seq = stretch.first_seq, stretch.last_seq
    for at in range(bisect_left(deliveries, next_seq, key=itemgetter(1)), len(deliveries)):
        first, last, times = deliveries[at]
        if first > last_seq:
            break
        if first > next_seq:
            yield 0, stretch.between(next_seq, first - 1)
            next_seq = first
        yield times, stretch.between(next_seq, last)
        next_seq = last + 1
    if next_seq <= last_seq:
        yield 0, stretch.between(next_seq, last_seq)


def _append(behind: "Behind", stretch: SeqRanges, deliveries: int) -> None:
    """Append what is above all that is there, in parts that are not too long."""
    parts = behind.parts
    if not stretch.count:
        return
    last = parts[-1] if parts else None
    if isinstance(last, Away) and last.deliveries == deliveries and len(last.stretch) + len(stretch) <= AWAY_ELEMENTS:
        last.stretch.extend(stretch)
        return
    if len(stretch) <= AWAY_ELEMENTS:
        parts.append(Away(stretch, deliveries))
        return
    columns = stretch.firsts, stretch.counts, stretch.sizes
    for start in range(0, len(stretch), AWAY_ELEMENTS):
        parts.append(Away(SeqRanges.of(*[column[start : start + AWAY_ELEMENTS] for column in columns]), deliveries))
