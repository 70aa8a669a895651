"""Messages of one priority that are ready: entries in the order of their seqs, returned ones at their original place.

Invariant: every seq in `returned` is below every seq in `ready`, because messages leave in order and nothing but a
return brings a lower seq back. `returned` is kept descending (its end is the head) and free of overlaps.
"""

from bisect import bisect_left
from collections import deque
from typing import TYPE_CHECKING

from pybroker.run import Entry, Run

if TYPE_CHECKING:
    from collections.abc import Iterator


def _first_seq(entry: Entry) -> int:
    return entry.run.first_seq + entry.indexes.start


def _key(entry: Entry) -> int:
    return -entry.run.first_seq - entry.indexes.start


class Level:
    """`count` messages, first in first out by seq."""

    __slots__ = ("count", "priority", "ready", "returned")

    def __init__(self, priority: int = 0) -> None:
        self.priority = priority
        self.ready: deque[Entry] = deque()
        self.returned: list[Entry] = []
        self.count = 0

    def __iter__(self) -> "Iterator[Entry]":
        yield from reversed(self.returned)
        yield from self.ready

    def push(self, run: Run, indexes: range) -> None:
        """Append new messages: the last entry grows if it ends where `indexes` begin."""
        self.count += len(indexes)
        ready = self.ready
        if ready:
            last = ready[-1]
            if last.run is run and last.indexes.stop == indexes.start and not last.deliveries:
                last.indexes = range(last.indexes.start, indexes.stop)
                return
        ready.append(Entry(run, indexes))

    def head(self) -> Entry | None:
        """Return the entry that leaves first."""
        if self.returned:
            return self.returned[-1]
        return self.ready[0] if self.ready else None

    def take(self, count: int) -> Entry:
        """Remove up to `count` messages of the head entry and return them; the level is not empty."""
        from_returned = bool(self.returned)
        entry = self.returned[-1] if from_returned else self.ready[0]
        n = len(entry.indexes)
        if count >= n:
            if from_returned:
                self.returned.pop()
            else:
                self.ready.popleft()
            self.count -= n
            return entry
        self.count -= count
        taken = Entry(entry.run, entry.indexes[:count], entry.deliveries)
        entry.indexes = entry.indexes[count:]
        return taken

    def take_tail(self, count: int) -> list[Entry]:
        """Remove the `count` youngest messages of `ready` (a publish that is rejected), oldest first."""
        taken: list[Entry] = []
        while count and self.ready:
            entry = self.ready[-1]
            n = len(entry.indexes)
            if n <= count:
                self.ready.pop()
            else:
                entry = Entry(entry.run, entry.indexes[n - count :], entry.deliveries)
                self.ready[-1].indexes = self.ready[-1].indexes[: n - count]
                n = count
            taken.append(entry)
            count -= n
            self.count -= n
        taken.reverse()
        return taken

    def give_back(self, entries: list[Entry]) -> None:
        """Put entries back to where their seqs belong."""
        self.count += sum([len(entry.indexes) for entry in entries])
        if len(entries) == 1 and self._insert(entries[0]):
            return
        self.returned = _without_overlaps(sorted([*self.returned, *entries], key=_first_seq))

    def clear(self) -> "tuple[list[Entry], deque[Entry]]":
        """Remove everything and return it."""
        removed = self.returned, self.ready
        self.returned, self.ready = [], deque()
        self.count = 0
        return removed

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

    `entries` ascend by their first seq: only then does the highest seq so far tell whether the next one overlaps.
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
            clump = [entry]
            append(entry)
        else:
            clump.append(entry)
        highest = max(highest, base + indexes[-1])
    if len(clump) > 1:
        ascending[-1:] = _untangle(clump)
    ascending.reverse()
    return ascending


def _untangle(clump: list[Entry]) -> list[Entry]:
    """Return what overlaps as pieces that do not, ascending.

    It need not be of one run: of an old delivery the last message gets a run of its own, amidst the others' strides.
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
