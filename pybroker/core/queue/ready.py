"""Ready messages of one priority: entries in the order of their seqs, returned ones in their place.

Invariant: every seq in `returned` is below every seq in `ready`, because messages leave in order and nothing but a
return brings a lower seq back; but for delayed messages that a start found, which may be above those that were
unacknowledged then, and leave before them. `returned` is kept descending (its end is the head) and free of overlaps.
The seqs in `segments`, behind the head window, are above those of both; messages may be evicted there, without contents
(`paging/`). `backlog` has the totals of all levels of a queue.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from typing import TYPE_CHECKING, Final

from pybroker.core.queue.paging.segments import Segments, fills_window
from pybroker.run import Entry, Run

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence

    from pybroker.core.queue.paging.segments import EvictedSegment

    Removed = MutableSequence[Entry] | MutableSequence[Entry | EvictedSegment]

# Taken from behind in one go.
ADVANCE_ENTRIES: Final = 4_096
# If so many times as many lie between the returned ones, each of these is inserted alone.
APART: Final = 8


def _first_seq(entry: Entry) -> int:
    return entry.run.first_seq + entry.indexes.start


def _last_seq(entry: Entry) -> int:
    return entry.run.first_seq + entry.indexes[-1]


def _key(entry: Entry) -> int:
    return -entry.run.first_seq - entry.indexes.start


def _last_key(entry: Entry) -> int:
    return -entry.run.first_seq - entry.indexes[-1]


class Level:
    """`count` messages, FIFO by seq. `tail` is where new ones go: `ready`, or the fresh part of `segments`.

    With messages but no `head`, the first ones are evicted: nothing can be taken until they are back.
    """

    __slots__ = ("count", "priority", "ready", "returned", "segments", "tried_at")

    def __init__(self, priority: int = 0) -> None:
        self.priority = priority
        self.ready: deque[Entry] = deque()
        self.returned: list[Entry] = []
        self.segments: Segments | None = None
        self.count = 0
        self.tried_at = 0  # how much had been published to the queue when a head window was measured last

    @property
    def tail(self) -> deque[Entry]:
        """Return where new messages go: `ready`, or what is fresh behind it."""
        return self.ready if self.segments is None else self.segments.fresh

    def __iter__(self) -> "Iterator[Entry]":
        """Yield the entries whose contents are in memory."""
        yield from reversed(self.returned)
        yield from self.ready
        if self.segments is not None:
            yield from self.segments.entries()

    def push(self, run: Run, indexes: range) -> None:
        """Append new messages: the last entry grows if it ends where `indexes` begin."""
        self.count += len(indexes)
        tail = self.ready if self.segments is None else self.segments.fresh
        if tail:
            last = tail[-1]
            if last.run is run and last.indexes.stop == indexes.start and not last.deliveries:
                last.indexes = range(last.indexes.start, indexes.stop)
                return
        tail.append(Entry(run, indexes))

    def head(self) -> Entry | None:
        """Return the entry that leaves first; None while it is evicted."""
        if self.returned:
            return self.returned[-1]
        return self.ready[0] if self.ready else None

    def pop(self, count: int) -> Entry:
        """Remove up to `count` messages of the head entry, which there is, and return them."""
        returned, ready = self.returned, self.ready
        entry = returned[-1] if returned else ready[0]
        n = len(entry.indexes)
        if count >= n:
            self.count -= n
            if returned:
                returned.pop()
            else:
                ready.popleft()
                if self.segments is not None and not ready:
                    self.advance()
            return entry
        self.count -= count
        taken = Entry(entry.run, entry.indexes[:count], entry.deliveries)
        entry.indexes = entry.indexes[count:]
        return taken

    def pop_tail(self, count: int) -> list[Entry]:
        """Remove the `count` youngest messages of `tail` (a publish that is rejected), oldest first."""
        taken: list[Entry] = []
        tail = self.tail
        while count and tail:
            entry = tail[-1]
            n = len(entry.indexes)
            if n <= count:
                tail.pop()
            else:
                entry = Entry(entry.run, entry.indexes[n - count :], entry.deliveries)
                tail[-1].indexes = tail[-1].indexes[: n - count]
                n = count
            taken.append(entry)
            count -= n
            self.count -= n
        taken.reverse()
        return taken

    def give_back(self, entries: list[Entry]) -> None:
        """Put entries back to where their seqs belong; those that follow one another become one."""
        self.count += sum([len(entry.indexes) for entry in entries])
        if len(entries) == 1 and self._insert(entries[0]):
            return
        entries = sorted(entries, key=_first_seq)
        returned = self.returned
        # Entries between the new ones, most often none.
        start = bisect_left(returned, -max(map(_last_seq, entries)), key=_key)
        stop = bisect_right(returned, -_first_seq(entries[0]), lo=start, key=_last_key)
        if stop - start > APART * len(entries):
            entries = [entry for entry in entries if not self._insert(entry)]
            if entries:
                self.returned = _without_overlaps(sorted([*returned, *entries], key=_first_seq))
        else:
            between = returned[start:stop]
            between.reverse()
            returned[start:stop] = _without_overlaps(sorted(between + entries, key=_first_seq) if between else entries)

    def clear(self) -> "list[Removed]":
        """Remove everything and return it."""
        removed: list[Removed] = [self.returned, self.ready]
        if self.segments is not None:
            removed += [self.segments.parts, self.segments.paged, self.segments.fresh]
        self.returned, self.ready = [], deque()
        self.segments = None
        self.count = 0
        return removed

    def advance(self) -> None:
        """Let what comes next behind the head window move up, as far as it is in memory."""
        segments = self.segments
        assert segments is not None
        self.ready.extend(segments.pop_front(ADVANCE_ENTRIES))
        if not segments.parts and not (self.ready and segments.fresh):
            if not self.ready:
                self.ready = segments.fresh
            self.segments = None
        else:
            segments.mark_low(self.ready)

    def part_window(self) -> Segments | None:
        """Part the head window from what lies behind it; None if nothing does."""
        ready = self.ready
        stay = fills_window(ready)
        if not stay or stay == len(ready):
            return None
        self.segments = segments = Segments(ready)
        self.ready = deque([ready.popleft() for _ in range(stay)])
        segments.mark_low(self.ready)
        return segments

    def part_window_anew(self, published: int) -> Segments | None:
        """Do the same, unless little was `published` to the queue since that was tried last."""
        # Another level may be the crowded one, or messages that came back: measuring this one each time would be
        # wasted.
        if published - self.tried_at < len(self.ready) // 4:
            return None
        self.tried_at = published
        return self.part_window()

    def open_segments(self) -> Segments:
        """Return what is behind the head window of an empty level, made now."""
        self.segments = Segments()
        return self.segments

    def count_paged(self, messages: int) -> None:
        """Count evicted messages that came behind the head window, or, below zero, that left it unseen."""
        self.count += messages

    def _insert(self, entry: Entry) -> bool:
        """Insert one entry that overlaps no other; False if it does."""
        returned = self.returned
        at = bisect_left(returned, -entry.first_seq, key=_key)
        if at < len(returned) and returned[at].last_seq >= entry.first_seq:
            return False
        if at and returned[at - 1].first_seq <= entry.last_seq:
            return False
        returned.insert(at, entry)
        return True


def _without_overlaps(entries: list[Entry]) -> list[Entry]:
    """Return entries descending; those whose seqs interleave (strides dealt to several consumers) are split up.

    `entries` ascend by their first seq: only then does the highest seq so far tell whether the next one overlaps. One
    that begins where another of its kind ends makes that one longer.
    """
    ascending: list[Entry] = []
    append = ascending.append
    clump: list[Entry] = []
    highest = 0
    for entry in entries:
        indexes, base = entry.indexes, entry.run.first_seq
        if base + indexes.start > highest:
            if len(clump) > 1:
                ascending[-1:] = _untangle(clump)
            if ascending and _follows(entry, ascending[-1]):
                entry = ascending[-1]
                entry.indexes = range(entry.indexes.start, indexes.stop)
            else:
                append(entry)
            clump = [entry]
        else:
            clump.append(entry)
        highest = max(highest, base + indexes[-1])
    if len(clump) > 1:
        ascending[-1:] = _untangle(clump)
    ascending.reverse()
    return ascending


def _follows(entry: Entry, last: Entry) -> bool:
    """Tell whether an entry can be one with the last one before it."""
    mine, before = entry.indexes, last.indexes
    if mine.start != before.stop or entry.run is not last.run or entry.deliveries != last.deliveries:
        return False
    return mine.step == before.step == 1


def _untangle(clump: list[Entry]) -> list[Entry]:
    """Return what overlaps as pieces that do not, ascending.

    It need not be of one run: the last message of an old delivery gets a run of its own, between the others' strides.
    """
    places = {entry.run.first_seq + i: (entry, i) for entry in clump for i in entry.indexes}
    ascending: list[Entry] = []
    run, start, stop, times = clump[0].run, -1, -1, -1
    for seq in sorted(places):
        entry, index = places[seq]
        if index != stop or entry.run is not run or entry.deliveries != times:
            if stop > start:
                ascending.append(Entry(run, range(start, stop), times))
            run, start, times = entry.run, index, entry.deliveries
        stop = index + 1
    ascending.append(Entry(run, range(start, stop), times))
    return ascending
