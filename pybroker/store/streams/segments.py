"""Segments: what is known in memory of all segments of a stream, 32 octets for each."""

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pybroker.store.streams.writer import Written

# The columns of a segment's row: its first offset, its octets, the times of its first and last chunk.
_OCTETS: Final = 1
_FIRST_MS: Final = 2
_LAST_MS: Final = 3
_COLUMNS: Final = 4


class Place(NamedTuple):
    """A segment as a reader needs it: up to where it is on disk, and the offset at which the next one begins."""

    first_offset: int
    octets: int
    stop_offset: int


class Segments:
    """All segments, the newest of them the one that is written. `octets` are those of all."""

    __slots__ = ("_rows", "octets")

    def __init__(self) -> None:
        # One array for all columns: most streams have one segment, and each array takes eighty octets.
        self._rows = array("q")
        self.octets = 0

    def __len__(self) -> int:
        return len(self._rows) // _COLUMNS

    @property
    def rows(self) -> list[tuple[int, ...]]:
        """Return what is known of each: its first offset, its octets, the times of its first and last chunk."""
        return [tuple(self._rows[at : at + _COLUMNS]) for at in range(0, len(self._rows), _COLUMNS)]

    @property
    def firsts(self) -> "array[int]":
        """Return the first offsets of all, ascending."""
        return self._rows[::_COLUMNS]

    @property
    def first_ms(self) -> int:
        """Return when the first chunk of all came, as wall time; 0: there is none."""
        return next((first_ms for first_ms in self._rows[_FIRST_MS::_COLUMNS] if first_ms), 0)

    def put(self, segment: "Written") -> None:
        """Note the newest segment as it is now, or the one that follows it."""
        rows = self._rows
        if rows and rows[-_COLUMNS] == segment.first_offset:
            self.octets -= rows[_OCTETS - _COLUMNS]
            del rows[-_COLUMNS:]
        # Ascending, also where damage took the time of the last chunk.
        last_ms = max(segment.last_ms, rows[_LAST_MS - _COLUMNS] if rows else 0)
        rows.extend((segment.first_offset, segment.octets, segment.first_ms, last_ms))
        self.octets += segment.octets

    def remove(self, count: int) -> None:
        """Forget the oldest."""
        self.octets -= sum(self._rows[_OCTETS : count * _COLUMNS : _COLUMNS])
        del self._rows[: count * _COLUMNS]

    def holding(self, offset: int) -> int:
        """Return the number of the segment that has this offset; the oldest if it is below all."""
        return max(0, bisect_right(range(len(self)), offset, key=self._first_offset) - 1)

    def below(self, offset: int) -> list[int]:
        """Return the first offsets of the segments that are wholly below an offset, but for the newest."""
        return list(self.firsts[: self.holding(offset)])

    def place(self, number: int, next_offset: int) -> Place:
        """Return a segment for a reader; `next_offset` is that of the stream."""
        stop_offset = self._first_offset(number + 1) if number + 1 < len(self) else next_offset
        return Place(self._first_offset(number), self._rows[number * _COLUMNS + _OCTETS], stop_offset)

    def not_older(self, timestamp_ms: int) -> int:
        """Return the number of the first segment with a chunk that is not older; their count if there is none."""
        return bisect_left(range(len(self)), timestamp_ms, key=lambda number: self._rows[number * _COLUMNS + _LAST_MS])

    def begins_later(self, number: int, timestamp_ms: int) -> bool:
        """Tell whether no chunk of a segment is older."""
        return self._rows[number * _COLUMNS + _FIRST_MS] >= timestamp_ms

    def too_much(self, octets_max: int) -> int:
        """Return how many of the oldest have to go so that no more octets are left, but for the newest."""
        count, octets = 0, self.octets
        while octets > octets_max and count < len(self) - 1:
            octets -= self._rows[count * _COLUMNS + _OCTETS]
            count += 1
        return count

    def _first_offset(self, number: int) -> int:
        return self._rows[number * _COLUMNS]
