"""CommitMarker: a small file that says which transaction of the definitions was the last to return.

It is not synced: it outlives the process, and lags behind after a loss of power. SQLite takes a damaged WAL for one
that was not written to its end; if the marker is ahead of what is found, that is not so (definition_recovery.py).
"""

from typing import TYPE_CHECKING, Final

from google_crc32c import value as crc32c

from pybroker.store.disk import DiskError

if TYPE_CHECKING:
    from pybroker.store.disk import Disk

NAME: Final = "definitions.last"


class CommitMarker:
    """The file, made when there is first something to note. Used by one thread."""

    __slots__ = ("_disk", "_file")

    def __init__(self, disk: "Disk") -> None:
        self._disk = disk
        self._file = -1

    def write(self, changes: int) -> None:
        """Note that change `changes` was written."""
        text = b"%020d" % changes
        try:
            if self._file < 0:
                there = NAME in self._disk.names()
                self._file = self._disk.open(NAME, write=True) if there else self._disk.create(NAME)
            self._disk.write_at(self._file, 0, b"%b %08x\n" % (text, crc32c(text)))
        except DiskError:
            return  # a full disk: the transaction itself is safe, only the note of it is missing

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            self._disk.close(self._file)
            self._file = -1


def read_commit_marker(disk: "Disk") -> int:
    """Return the number that was noted last, 0 if there is none that can be read. Raises DiskError for the folder."""
    if NAME not in disk.names():
        return 0
    try:
        words = disk.read_file(NAME).split()
    except DiskError:
        return 0
    if len(words) != 2 or not words[0].isdigit() or words[1] != b"%08x" % crc32c(words[0]):
        return 0
    return int(words[0])
