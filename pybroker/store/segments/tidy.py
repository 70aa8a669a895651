"""Tidy rows of what came back: ascending, disjoint, joined where they touch and say the same, none of them settled.

Costs are for what changed since they were tidy: a row that stays as it is is copied with its neighbours, in C. A thread
does this, and none of its calls keeps the others waiting for long: what is copied at once are some thousand rows.
"""

from array import array
from bisect import bisect_left, bisect_right
from heapq import heappop, heappush, merge
from itertools import compress
from operator import lt
from typing import TYPE_CHECKING, Final

from pybroker.store.segments.ack_ranges import whole
from pybroker.store.segments.returned_rows import CHUNK, COLUMNS, Row, Rows, Settled, ascending, columns_of, flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_NONE: Final = array("Q")
_NOT: Final = bytes.maketrans(b"\x00\x01", b"\x01\x00")


class Columns:
    """Rows as a column each: first seqs, last seqs, deliveries, when they are due."""

    __slots__ = ("all", "firsts", "lasts")

    def __init__(self, rows: "array[int]" = _NONE) -> None:
        self.all: tuple[array[int], ...] = tuple(array("Q") for _ in range(COLUMNS))
        self.firsts, self.lasts = self.all[:2]
        for start in range(0, len(rows), COLUMNS * CHUNK):
            for column, part in zip(self.all, columns_of(rows[start : start + COLUMNS * CHUNK]), strict=True):
                column.extend(part)

    def __len__(self) -> int:
        return len(self.firsts)

    def append(self, row: Row) -> None:
        """Append a row."""
        for column, number in zip(self.all, row, strict=True):
            column.append(number)

    def extend(self, other: "Columns", start: int, stop: int) -> None:
        """Append rows of others."""
        for at in range(start, stop, CHUNK):
            for mine, theirs in zip(self.all, other.all, strict=True):
                mine.extend(theirs[at : min(at + CHUNK, stop)])

    def rows(self, start: int, stop: int) -> "Iterator[Row]":
        """Give some of the rows."""
        firsts, lasts, times, dues = (column[start:stop] for column in self.all)
        return zip(firsts, lasts, times, dues, strict=True)

    def any_due(self, now_ms: int) -> bool:
        """Tell whether some have waited until now."""
        return any(0 < due_ms <= now_ms for due_ms in self.all[3])

    def flat(self, now_ms: int) -> "array[int]":
        """Return the rows in a flat array, joined; due times that have passed do not count."""
        made = array("Q")
        for start in range(0, len(self), CHUNK):
            firsts, lasts, times, dues = (column[start : start + CHUNK] for column in self.all)
            dues = array("Q", [due_ms if due_ms > now_ms else 0 for due_ms in dues])
            if made and (made[-3] + 1, made[-2], made[-1]) == (firsts[0], times[0], dues[0]):
                firsts[0] = made[-4]
                del made[-4:]
            joins = bytes(
                [
                    last + 1 == first and a == b and c == d
                    for last, first, a, b, c, d in zip(
                        lasts, firsts[1:], times, times[1:], dues, dues[1:], strict=False
                    )
                ]
            )
            if 1 in joins:
                begins, ends = (b"\x00" + joins).translate(_NOT), (joins + b"\x00").translate(_NOT)
                firsts, lasts = array("Q", compress(firsts, begins)), array("Q", compress(lasts, ends))
                times, dues = array("Q", compress(times, begins)), array("Q", compress(dues, begins))
            made += flat(firsts, lasts, times, dues)
        return made


def tidy(old: Rows, new: Rows, settled: Settled, now_ms: int) -> Rows:
    """Return tidy rows, without settled messages and due times that have passed; `old` are tidy."""
    made: Rows = {}
    for queue_id in {**old, **new}:
        gone = whole([settled[number][queue_id] for number in sorted(settled) if queue_id in settled[number]])
        before_rows = old.get(queue_id, _NONE)
        before = Columns(before_rows)
        after = without(merged(before, disjoint(new.get(queue_id, _NONE))), gone)
        mine = before_rows if after is before and not after.any_due(now_ms) else after.flat(now_ms)
        if mine:
            made[queue_id] = mine
    return made


def disjoint(rows: "array[int]") -> Columns:
    """Return rows ascending and disjoint, each with the highest count of those that overlap."""
    columns = Columns(ascending(rows))
    if all(map(lt, columns.lasts, columns.firsts[1:])):
        return columns
    made = Columns()
    for row in highest(columns.rows(0, len(columns))):
        made.append(row)
    return made


def merged(old: Columns, new: Columns) -> Columns:
    """Return the rows of both; where they overlap the highest count is right."""
    if not len(new) or not len(old):
        return new if len(new) else old
    made = Columns()
    at = here = 0  # rows of both that are done with
    while here < len(new):
        start = bisect_left(old.lasts, new.firsts[here], at)
        made.extend(old, at, start)
        at = start
        if at == len(old):
            break
        # All that lies between two old rows goes there.
        stop = bisect_left(new.lasts, old.firsts[at], here)
        if stop > here:
            made.extend(new, here, stop)
            here = stop
            continue
        end, stop = at + 1, here + 1
        high = max(old.lasts[at], new.lasts[here])
        while (wider := (bisect_right(old.firsts, high, end), bisect_right(new.firsts, high, stop))) != (end, stop):
            end, stop = wider
            high = max(old.lasts[end - 1], new.lasts[stop - 1])
        for row in highest(merge(old.rows(at, end), new.rows(here, stop))):
            made.append(row)
        at, here = end, stop
    made.extend(new, here, len(new))
    made.extend(old, at, len(old))
    return made


def without(rows: Columns, gone: "array[int]") -> Columns:
    """Return what is left of disjoint ascending rows without these ascending ranges (first, last, first, last ...)."""
    if not gone or not len(rows):
        return rows
    made = Columns()
    at = 0
    for start, stop, low, high in _touched(rows, gone[::2], gone[1::2]):
        made.extend(rows, at, start)
        for row in unsettled(rows.rows(start, stop), gone[2 * low : 2 * high]):
            made.append(row)
        at = stop
    if not at:
        return rows
    made.extend(rows, at, len(rows))
    return made


def _touched(rows: Columns, firsts: "array[int]", lasts: "array[int]") -> "Iterator[tuple[int, int, int, int]]":
    """Yield which rows are touched by which ranges: from where to where, of both."""
    start = stop = low = high = 0
    for a, b, c, d in _pairs_of(rows, firsts, lasts):
        if a > stop or not stop:
            if stop:
                yield start, stop, low, high
            start, low = a, c
        stop, high = max(stop, b), d
    if stop:
        yield start, stop, low, high


def _pairs_of(rows: Columns, firsts: "array[int]", lasts: "array[int]") -> "Iterator[tuple[int, int, int, int]]":
    """Yield the same for few at a time. It looks for each of the rows, or of the ranges if these are fewer."""
    begin, end = bisect_left(lasts, rows.firsts[0]), bisect_right(firsts, rows.lasts[-1])
    if end - begin <= len(rows):
        start = 0
        for at in range(begin, end):
            start = bisect_left(rows.lasts, firsts[at], start)
            stop = bisect_right(rows.firsts, lasts[at], start)
            if start < stop:
                yield start, stop, at, at + 1
    else:
        for at, (first, last) in enumerate(zip(rows.firsts, rows.lasts, strict=True)):
            begin = bisect_left(lasts, first, begin)
            if begin < end and firsts[begin] <= last:
                yield at, at + 1, begin, bisect_right(firsts, last, begin)


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
