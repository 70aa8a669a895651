"""Segments: what is known in memory of all segments of a stream, 32 octets for each."""

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pybroker.store.streams.writer import Written


class Place(NamedTuple):
    """A segment as a reader needs it: up to where it is on disk, and the offset at which the next one begins."""

    first_offset: int
    octets: int
    stop_offset: int


class Segments:
    """All segments, the newest of them the one that is written. `octets` are those of all."""

    __slots__ = ("_first_ms", "_last_ms", "_octets", "firsts", "octets")

    def __init__(self) -> None:
        self.firsts = array("Q")
        self._octets = array("Q")
        self._first_ms = array("q")
        self._last_ms = array("q")
        self.octets = 0

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def first_ms(self) -> int:
        """Return when the first chunk of all came, as wall time; 0: there is none."""
        return next((first_ms for first_ms in self._first_ms if first_ms), 0)

    def put(self, segment: "Written") -> None:
        """Note the newest segment as it is now, or the one that follows it."""
        if self.firsts and self.firsts[-1] == segment.first_offset:
            self.octets -= self._octets.pop()
            for column in (self.firsts, self._first_ms, self._last_ms):
                column.pop()
        self.firsts.append(segment.first_offset)
        self._octets.append(segment.octets)
        self._first_ms.append(segment.first_ms)
        # Ascending, also where damage took the time of the last chunk.
        self._last_ms.append(max(segment.last_ms, self._last_ms[-1] if self._last_ms else 0))
        self.octets += segment.octets

    def remove(self, count: int) -> None:
        """Forget the oldest."""
        self.octets -= sum(self._octets[:count])
        for column in (self.firsts, self._octets, self._first_ms, self._last_ms):
            del column[:count]

    def holding(self, offset: int) -> int:
        """Return the number of the segment that has this offset; the oldest if it is below all."""
        return max(0, bisect_right(self.firsts, offset) - 1)

    def below(self, offset: int) -> list[int]:
        """Return the first offsets of the segments that are wholly below an offset, but for the newest."""
        return list(self.firsts[: self.holding(offset)])

    def place(self, number: int, next_offset: int) -> Place:
        """Return a segment for a reader; `next_offset` is that of the stream."""
        stop_offset = self.firsts[number + 1] if number + 1 < len(self.firsts) else next_offset
        return Place(self.firsts[number], self._octets[number], stop_offset)

    def not_older(self, timestamp_ms: int) -> int:
        """Return the number of the first segment with a chunk that is not older; their count if there is none."""
        return bisect_left(self._last_ms, timestamp_ms)

    def begins_later(self, number: int, timestamp_ms: int) -> bool:
        """Tell whether no chunk of a segment is older."""
        return self._first_ms[number] >= timestamp_ms

    def too_much(self, octets_max: int) -> int:
        """Return how many of the oldest have to go so that no more octets are left, but for the newest."""
        count, octets = 0, self.octets
        while octets > octets_max and count < len(self) - 1:
            octets -= self._octets[count]
            count += 1
        return count
