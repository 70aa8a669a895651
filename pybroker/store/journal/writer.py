"""Writer: the journal thread's hands. Puts batches into segment files and syncs them; knows nothing of what is in them.

A segment file is made of zeros first, so that a sync has no metadata to write and what follows the last record is
known. Mostly that was done ahead of time (`PREPARED`).
"""

import errno
from typing import TYPE_CHECKING, Final

from pybroker.store import format as fmt
from pybroker.store.disk import NEW_SUFFIX, DiskError

if TYPE_CHECKING:
    from pybroker.store.disk import Disk
    from pybroker.store.segments.newest import Newest

# A file of zeros, of the usual size, that becomes the next segment.
PREPARED: Final = "prepared"


class Batch:
    """Octets for a place in a segment; `create` is the size of the segment to be made first, 0: it is there.

    The hub acts on it once it is on disk and `definitions_commit_position` is completed: then `commit_position` is, and
    every message with a seq below `next_seq` is in this batch or in one before it; `content_octets` wait no longer.
    """

    __slots__ = (
        "commit_position",
        "content_octets",
        "create",
        "definitions_commit_position",
        "next_seq",
        "number",
        "octets",
        "offset",
    )

    def __init__(self, number: int, create: int, offset: int, octets: bytes) -> None:
        self.number = number
        self.create = create
        self.offset = offset
        self.octets = octets
        self.commit_position = self.next_seq = self.content_octets = self.definitions_commit_position = 0

    def promise(
        self, commit_position: int, next_seq: int, content_octets: int, definitions_commit_position: int
    ) -> None:
        """Note what is true once this is on disk."""
        self.commit_position = commit_position
        self.next_seq = next_seq
        self.content_octets = content_octets
        self.definitions_commit_position = definitions_commit_position


class Writer:
    """Used by the journal thread alone: writes one segment of the log with this id at a time."""

    __slots__ = ("_disk", "_file", "_log_id", "_newest", "_number")

    def __init__(self, disk: "Disk", log_id: int, newest: "Newest") -> None:
        self._disk = disk
        self._log_id = log_id
        self._newest = newest
        self._file = -1
        self._number = 0

    def write(self, batch: Batch) -> None:
        """Write and sync. Raises DiskError: if it is `full` or `lacks_descriptors` the same batch may be tried again.

        A file that has lost its name would be gone with the process: octets written to it are not on disk.
        """
        if batch.number != self._number:
            self._make(batch)
        disk, file = self._disk, self._file
        disk.write_at(file, batch.offset, batch.octets)
        disk.sync(file)
        if not disk.links(file):
            raise DiskError("write", fmt.segment_name(batch.number), errno.ENOENT)

    def _make(self, batch: Batch) -> None:
        """Make the segment's file, of the prepared one if that is large enough; named once its head is on disk.

        And noted once it has its name: from then on a start misses it.
        """
        assert batch.create, "a segment that is there is the one that is being written"
        disk = self._disk
        name = fmt.segment_name(batch.number)
        made = name + NEW_SUFFIX
        if made in disk.names():
            disk.unlink(made)  # what a full disk left of the last attempt
        file = self._claim(made, batch.create)
        if file < 0:
            file = disk.create(made, batch.create)
        try:
            disk.write_at(file, 0, fmt.segment_header(batch.number, self._log_id, disk.size(file)))
            disk.sync(file)
            disk.rename(made, name)
            disk.sync_folder()
            self._newest.write(batch.number)
        except BaseException:
            disk.close(file)
            raise
        self.close()
        self._file, self._number = file, batch.number

    def _claim(self, made: str, octets: int) -> int:
        """Take the prepared file and open it as `made`; -1 if there is none of that size.

        Its name is changed before anything else: the files thread may remove it at any time, when the disk is full.
        """
        disk = self._disk
        try:
            disk.rename(PREPARED, made)
        except DiskError as error:
            if error.errno == errno.ENOENT:
                return -1
            raise
        # A crash must not leave the file under both names, or a later segment would be written over this one.
        disk.sync_folder()
        file = disk.open(made, write=True)
        if disk.size(file) >= octets:
            return file
        disk.close(file)
        disk.unlink(made)
        return -1

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            self._disk.close(self._file)
            self._file, self._number = -1, 0
