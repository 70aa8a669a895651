"""Index: points of a segment as its index file has them. They are hints: one that is damaged costs time alone."""

from typing import TYPE_CHECKING

from pybroker.store.disk import DiskError
from pybroker.store.streams.format import HEADER_OCTETS, POINT_OCTETS, SYNCED, Point, decode_point, index_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.store.disk import Disk


class Index:
    """The octets of the index of the segment that begins with `first_offset`."""

    __slots__ = ("_first_offset", "_octets", "_seed")

    def __init__(self, octets: bytes, seed: int, first_offset: int) -> None:
        self._octets = octets
        self._seed = seed
        self._first_offset = first_offset

    @classmethod
    def read(cls, disk: "Disk", seed: int, first_offset: int, octets_max: int = -1) -> "Index":
        """Return the index as it is on disk, or its first octets; an empty one if there is none, or it is lost."""
        try:
            file = disk.open(index_name(first_offset))
            try:
                return cls(disk.read_at(file, 0, disk.size(file) if octets_max < 0 else octets_max), seed, first_offset)
            finally:
                disk.close(file)
        except DiskError:
            return cls(b"", seed, first_offset)

    def encode(self) -> bytes:
        """Return the octets of the file."""
        return self._octets

    @property
    def count(self) -> int:
        """Return how many points it has, with the one that says what is synced."""
        return len(self._octets) // POINT_OCTETS

    def synced(self) -> Point | None:
        """Return the point up to which the segment is known to be on disk."""
        point = decode_point(self._octets, 0, self._seed)
        return point if point is not None and point.flags == SYNCED else None

    def point(self, number: int) -> Point | None:
        """Return a place where a chunk begins, numbered from 1; None if it is damaged or not there."""
        point = decode_point(self._octets, number, self._seed)
        return point if point is not None and not point.flags else None

    def place(self, number: int) -> tuple[int, Point]:
        """Return the last sound place up to this one, and its number; 0 is the start, whose timestamp is not known."""
        while number > 0:
            point = self.point(number)
            if point is not None:
                return number, point
            number -= 1
        return 0, Point(self._first_offset, 0, HEADER_OCTETS)

    def last(self, wanted: "Callable[[Point], bool]") -> tuple[int, Point]:
        """Return the last sound place that is wanted, which must be so for all places before it; else the start."""
        low, high = 0, self.count - 1
        while low < high:
            middle = (low + high + 1) // 2
            point = self.point(middle)
            if point is None or wanted(point):
                low = middle
            else:
                high = middle - 1
        number, point = self.place(low)
        while number and not wanted(point):
            number, point = self.place(number - 1)
        return number, point
