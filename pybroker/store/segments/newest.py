"""A small file in the data folder with the number of the segment that was begun last.

It is on disk before the first batch of that segment is, and lies outside the log's own folder: by it a start notices
that the newest segment, or the whole folder, is missing. The list of a checkpoint is older.
"""

from typing import TYPE_CHECKING, Final

from google_crc32c import value as crc32c

if TYPE_CHECKING:
    from pybroker.store.disk import Disk

NAME: Final = "log.newest"


class Newest:
    """The file, in the folder `disk`. Used by one thread at a time."""

    __slots__ = ("_disk",)

    def __init__(self, disk: "Disk") -> None:
        self._disk = disk

    def write(self, number: int) -> None:
        """Note a segment's number; on disk when this returns. Raises DiskError."""
        text = b"%016x" % number
        self._disk.write_file(NAME, b"%b %08x\n" % (text, crc32c(text)))

    def read(self) -> int | None:
        """Return the number that was noted last; None if there is none that can be read. Raises DiskError."""
        if NAME not in self._disk.names():
            return None
        words = self._disk.read_file(NAME).split()
        if len(words) != 2 or words[1] != b"%08x" % crc32c(words[0]):
            return None
        return int(words[0], 16)
