"""Cursor: goes through the chunks of a segment, reading it piece by piece, also past damage."""

from typing import TYPE_CHECKING, Final
from zlib import crc32

from pybroker.store.streams.format import FRONT_OCTETS_MAX, Front, decode_front, find_front

if TYPE_CHECKING:
    from collections.abc import Callable

# Unless told otherwise it reads in pieces of this size.
PIECE_OCTETS: Final = 1_048_576
# Data of so many octets are read by themselves, and not copied once more.
DIRECT_OCTETS: Final = 65_536


class Cursor:
    """A place in a segment, at which a chunk begins. Nothing is read from `stop` on.

    `read` gives octets of the file; raises DiskError. `piece` is how many are asked for at once.
    """

    __slots__ = ("_base", "_octets", "_read", "_seed", "piece", "position", "stop")

    def __init__(
        self, read: "Callable[[int, int], bytes]", seed: int, position: int, stop: int, piece: int = PIECE_OCTETS
    ) -> None:
        self._read = read
        self._seed = seed
        self._base = position
        self._octets = b""
        self.position = position
        self.stop = stop
        self.piece = piece

    def front(self) -> Front | None:
        """Return the front of the chunk that begins here; None if it is damaged, or not all of it is there."""
        at = self._have(FRONT_OCTETS_MAX)
        front = decode_front(self._octets, at, self._seed)
        return front if front is not None and self.position + front.octets <= self.stop else None

    def data(self, front: Front) -> bytes | None:
        """Return the data of the chunk that begins here; None if they are damaged."""
        data = self._data(front)
        return data if crc32(data) == front.data_crc else None

    def _data(self, front: Front) -> bytes:
        if front.data_octets >= DIRECT_OCTETS and self.position + front.octets > self._base + len(self._octets):
            return self._read(self.position + front.front_octets, front.data_octets)
        at = self._have(front.octets)
        return self._octets[at + front.front_octets : at + front.octets]

    def sound(self, first_offset: int) -> Front | None:
        """Return the front of the chunk that begins here if all of it is sound, and it begins with this offset."""
        front = self.front()
        if front is None or front.first_offset != first_offset or self.data(front) is None:
            return None
        return front

    def next_sound(self, first_offset: int) -> Front | None:
        """Go to the next chunk that is sound and not below this offset, and return its front; None at the end."""
        while True:
            front = self.front()
            if front is not None:
                if front.first_offset >= first_offset and self.data(front) is not None:
                    return front
                self.position += front.octets - 1  # octets in its data that look like a chunk are none
            if not self.search():
                return None

    def octets(self, front: Front) -> bytes:
        """Return the whole chunk that begins here."""
        at = self._have(front.octets)
        return self._octets[at : at + front.octets]

    def search(self) -> bool:
        """Go to the next chunk behind this place whose front is sound; tell whether there is one, else go to `stop`."""
        self.position += 1
        while self.position < self.stop:
            at = self._have(FRONT_OCTETS_MAX)
            found = find_front(self._octets, at, self._seed)
            if found >= 0:
                self.position = self._base + found
                if self.front() is not None:
                    return True
                self.position += 1
            elif self._base + len(self._octets) >= self.stop:
                break
            else:
                # A front may have begun in the last octets that were read.
                self.position = max(self.position, self._base + len(self._octets) - FRONT_OCTETS_MAX) + 1
        self.position = self.stop
        return False

    def _have(self, octets: int) -> int:
        """Read if need be, so that as many octets are there as are asked for and the file has; return where."""
        end = self._base + len(self._octets)
        if self.position + octets > end and end < self.stop:
            self._base = self.position
            self._octets = self._read(self.position, min(max(self.piece, octets), self.stop - self.position))
            if not self._octets:
                self.stop = self.position  # the file ends here
        return self.position - self._base
