"""StoredEntries: a chunk whose entries stay in its segment until they are sent, and the open segment they come from."""

import contextlib
from typing import TYPE_CHECKING, Final

from pybroker.entries_run import EntriesRun
from pybroker.store.disk import DiskError
from pybroker.store.streams.format import segment_name

if TYPE_CHECKING:
    from pybroker.store.disk import Disk
    from pybroker.store.streams.format import Front

# Of memory that one takes.
STORED_OCTETS: Final = 512
# Of one, given away or read from the disk at a time.
PART_OCTETS: Final = 524_288


class StoredEntries(EntriesRun):
    """A chunk that was found sound; its `octets` are at `position` in the segment that begins with offset `segment`."""

    __slots__ = ("position", "segment")

    segment: int
    position: int

    @classmethod
    def found(cls, front: "Front", segment: int, position: int) -> "StoredEntries":
        """Return the chunk with this front, whose data begin at `position`."""
        run = cls(front.first_offset, [], front.entries, front.messages, 0, front.timestamp_ms, bloom=front.bloom)
        run.octets = front.data_octets
        run.timestamp_ms = front.timestamp_ms
        run._crc = front.data_crc
        run.segment = segment
        run.position = position
        return run


class OpenSegment:
    """A segment that can be read at once, by any thread.

    It is closed when nobody has it any more: who is in the middle of a chunk can read on in a segment that is removed.
    """

    __slots__ = ("_disk", "file", "first_offset")

    def __init__(self, disk: "Disk", first_offset: int) -> None:
        """Open it. Raises DiskError."""
        self.file = -1
        self._disk = disk
        self.first_offset = first_offset
        self.file = disk.open(segment_name(first_offset))

    def read_now(self, position: int, buffer: memoryview) -> int:
        """Fill a buffer from the system's memory; return how many octets that had there."""
        return self._disk.read_now(self.file, position, buffer)

    def send_now(self, position: int, octets: int, socket: int) -> int:
        """Have the system send what it has in memory; return how much the socket took. Raises OSError of the socket."""
        return self._disk.send_now(self.file, position, octets, socket)

    def __del__(self) -> None:
        if self.file >= 0:
            with contextlib.suppress(DiskError):
                self._disk.close(self.file)
