"""Rows of messages that came back, four numbers each in flat arrays: first seq, last seq, deliveries, and when due."""

from array import array
from operator import le
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection

# First seq, last seq, deliveries, due.
Row: TypeAlias = tuple[int, int, int, int]
# Rows in a flat array, by queue.
Rows: TypeAlias = "dict[int, array[int]]"
# Settled messages of each segment, by queue, as a checkpoint has them.
Settled: TypeAlias = "dict[int, dict[int, array[int]]]"

COLUMNS: Final = 4
# Rows that are handled at once where there may be a million: the other threads wait for less than a millisecond.
CHUNK: Final = 16_384


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
    return flat(*[array("Q", map(column.__getitem__, order)) for column in columns_of(rows)])


def columns_of(rows: "array[int]") -> "tuple[array[int], array[int], array[int], array[int]]":
    """Return the columns of a flat array."""
    return rows[::4], rows[1::4], rows[2::4], rows[3::4]


def flat(*columns: "array[int]") -> "array[int]":
    """Return four columns as a flat array."""
    rows = array("Q", bytes(8 * COLUMNS * len(columns[0])))
    for at, column in enumerate(columns):
        rows[at::COLUMNS] = column
    return rows


def of_queues(rows: Rows, known: "Collection[int]") -> Rows:
    """Return the rows of queues that exist."""
    return {queue_id: mine for queue_id, mine in rows.items() if queue_id in known}
