"""Returned: messages that came back to their queues, how often they were delivered, and until when they wait there.

Rows by queue in flat arrays, four numbers each: first seq, last seq, deliveries, and when it is due, in steady wall
milliseconds (0: it does not wait). 32 octets for a message that came back by itself, and no more for a backlog that
came back whole. Rows may overlap: the one with the highest count came last, and is right.

New rows are appended. Rows that are not right or not live any more leave with the next checkpoint, off the hub, since a
million rows take Python seconds.
"""

from array import array
from heapq import heappop, heappush, merge
from operator import le
from typing import TYPE_CHECKING, Final, TypeAlias

from pybroker.store.segments.ack_ranges import ranges, whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

# First seq, last seq, deliveries, due.
Row: TypeAlias = tuple[int, int, int, int]
# Rows in a flat array, by queue.
Rows: TypeAlias = "dict[int, array[int]]"
# Settled messages of each segment, by queue, as a checkpoint has them.
Settled: TypeAlias = "dict[int, dict[int, array[int]]]"

COLUMNS: Final = 4
# With so many ranges that are new, and half as many as the others, it is time for a checkpoint: 2 MiB.
MANY: Final = 65_536
_NONE: Final = array("Q")


class Returned:
    """`_old` rows are tidy; `_frozen` are those that a thread makes tidy with them, `_new` came since.

    `_gone` are queues that were forgotten meanwhile. Neither old nor frozen arrays change while a thread reads them.
    """

    __slots__ = ("_added", "_frozen", "_gone", "_new", "_old")

    def __init__(self) -> None:
        self._old: Rows = {}
        self._frozen: Rows = {}
        self._new: Rows = {}
        self._gone: set[int] = set()
        self._added = 0  # ranges, since they were frozen

    def __bool__(self) -> bool:
        return bool(self._old or self._frozen or self._new)

    @property
    def many(self) -> bool:
        """Tell whether so many rows are new that they should be made tidy."""
        added = self._added
        return added > MANY and 2 * COLUMNS * added > sum(map(len, self._old.values()))

    def add(self, queue_id: int, deliveries: int, due_ms: int, pairs: "array[int]") -> None:
        """Take ranges (first, last, first, last ...) that came back to a queue."""
        rows = self._new.get(queue_id)
        if rows is None:
            rows = self._new[queue_id] = array("Q")
        self._added += len(pairs) // 2
        for first, last in ranges(pairs):
            append(rows, (first, last, deliveries, due_ms))

    def forget(self, queue_id: int) -> None:
        """Forget the rows of a queue."""
        for rows in (self._old, self._frozen, self._new):
            rows.pop(queue_id, None)
        self._gone.add(queue_id)

    def load(self, rows: Rows) -> None:
        """Take rows as they are."""
        for queue_id, mine in rows.items():
            self._new[queue_id] = self._new.get(queue_id, array("Q")) + mine

    def freeze(self) -> tuple[Rows, Rows]:
        """Return all rows, to be made `tidy`; `replace` has to follow before they are frozen again."""
        assert not self._frozen
        self._frozen, self._new, self._gone, self._added = self._new, {}, set(), 0
        return dict(self._old), dict(self._frozen)

    def replace(self, rows: "Rows | None") -> None:
        """Have these rows in the place of those that were frozen; None: they stay as they are."""
        if rows is not None:
            self._old = {queue_id: mine for queue_id, mine in rows.items() if queue_id not in self._gone}
        else:
            for queue_id, mine in self._new.items():
                self._frozen[queue_id] = self._frozen.get(queue_id, array("Q")) + mine
            self._new = self._frozen
        self._frozen = {}

    def tidy(self, settled: Settled, now_ms: int) -> Rows:
        """Make all rows tidy at once, and return them. Takes a while if there are many: not for the hub."""
        rows = tidy(*self.freeze(), settled, now_ms)
        self.replace(rows)
        return rows


def append(rows: "array[int]", row: Row) -> None:
    """Append a row, as part of the last one where that ends where it begins, and says the same."""
    if rows and rows[-3] + 1 == row[0] and rows[-2] == row[2] and rows[-1] == row[3]:
        rows[-3] = row[1]
    else:
        rows.extend(row)


def ascending(rows: "array[int]") -> "array[int]":
    """Return the rows ordered by their first seqs, in an array of their own."""
    firsts = rows[::COLUMNS]
    if all(map(le, firsts, firsts[1:])):
        return rows[:]
    order = sorted(range(len(firsts)), key=firsts.__getitem__)
    made = array("Q", bytes(8 * len(rows)))
    for column in range(COLUMNS):
        made[column::COLUMNS] = array("Q", map(rows[column::COLUMNS].__getitem__, order))
    return made


def rows_of(rows: "array[int]") -> "Iterator[Row]":
    """Give the rows of a flat array."""
    return zip(rows[::4], rows[1::4], rows[2::4], rows[3::4], strict=True)


def tidy(old: Rows, new: Rows, settled: Settled, now_ms: int) -> Rows:
    """Return rows ascending and disjoint, without settled messages and due times that have passed; `old` are tidy."""
    made: Rows = {}
    for queue_id in {**old, **new}:
        parts = [rows_of(old.get(queue_id, _NONE)), iter(sorted(rows_of(new.get(queue_id, _NONE))))]
        gone = whole([settled[number][queue_id] for number in sorted(settled) if queue_id in settled[number]])
        mine = array("Q")
        for first, last, times, due_ms in unsettled(highest(merge(*parts)), gone):
            append(mine, (first, last, times, due_ms if due_ms > now_ms else 0))
        if mine:
            made[queue_id] = mine
    return made


def highest(rows: "Iterable[Row]") -> "Iterator[Row]":
    """Give rows that ascend by their first seqs as disjoint ones, each with the highest count of those that overlap."""
    coming = iter(rows)
    following = next(coming, None)
    begun: list[tuple[int, int, int]] = []  # minus how often, minus when due, and up to where
    at = 0
    while following is not None or begun:
        if not begun and following is not None:
            at = max(at, following[0])
        while following is not None and following[0] <= at:
            _, last, times, due_ms = following
            heappush(begun, (-times, -due_ms, last))
            following = next(coming, None)
        while begun and begun[0][2] < at:
            heappop(begun)
        if begun:
            times, due_ms, last = begun[0]
            stop = last if following is None else min(last, following[0] - 1)
            yield at, stop, -times, -due_ms
            at = stop + 1


def unsettled(rows: "Iterable[Row]", settled: "array[int]") -> "Iterator[Row]":
    """Give what is left of disjoint ascending rows without these ascending ranges (first, last, first, last ...)."""
    at, end = 0, len(settled)
    for row in rows:
        first, last, times, due_ms = row
        while at < end and settled[at + 1] < first:
            at += 2
        here = at
        while here < end and settled[here] <= last:
            if settled[here] > first:
                yield first, settled[here] - 1, times, due_ms
            first = settled[here + 1] + 1
            here += 2
        if first <= last:
            yield first, last, times, due_ms


def of_queues(rows: Rows, known: "Collection[int]") -> Rows:
    """Return the rows of queues that exist."""
    return {queue_id: mine for queue_id, mine in rows.items() if queue_id in known}
