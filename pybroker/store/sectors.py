"""Sectors: a file of which the disk has perhaps lost some sectors, read all the same."""

import errno
from typing import TYPE_CHECKING, Final

from pybroker.store.disk import DiskError

if TYPE_CHECKING:
    from pybroker.store.disk import Disk

# The unit that a disk loses at once, and how many of them a file may have lost.
PAGE_OCTETS: Final = 4_096
UNREADABLE_MAX: Final = 256


class Sectors:
    """An open file of a disk."""

    __slots__ = ("_disk", "_file", "_unreadable")

    def __init__(self, disk: "Disk", file: int) -> None:
        self._disk = disk
        self._file = file
        self._unreadable = 0

    def read(self, offset: int, octets: int) -> bytes:
        """Return octets as they are on disk; ones in place of what the disk cannot read any more: that is damage.

        Raises DiskError if there is so much of it that it is the disk that is lost, not a few of its sectors.
        """
        try:
            return self._disk.read_at(self._file, offset, octets)
        except DiskError as error:
            if error.errno != errno.EIO:
                raise
        return b"".join(
            self._page(at, min(PAGE_OCTETS - at % PAGE_OCTETS, offset + octets - at))
            for at in (offset, *range(offset - offset % PAGE_OCTETS + PAGE_OCTETS, offset + octets, PAGE_OCTETS))
        )

    def _page(self, offset: int, octets: int) -> bytes:
        try:
            return self._disk.read_at(self._file, offset, octets)
        except DiskError as error:
            self._unreadable += 1
            if error.errno != errno.EIO or self._unreadable > UNREADABLE_MAX:
                raise
            return b"\xff" * octets
