"""Files that are made ahead of time.

The next segment, so that a roll need not wait for zeros to be written; and a reserve for a full disk.

The reserve must have room for batches in flight, for settles, and for the checkpoints that free segments. Batches in
flight come before the settles of all that was drained since: without room for them nothing would ever be unlinked.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.store.disk import NEW_SUFFIX, DiskError
from pybroker.store.journal.writer import PREPARED
from pybroker.store.log import UNCOMMITTED_OCTETS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.store.disk import Disk
    from pybroker.store.journal.file_jobs import FileJobs

NAME: Final = "reserve"
OCTETS_MAX: Final = 2 * UNCOMMITTED_OCTETS_MAX
# How long after it was given away it is made again.
AGAIN_MS: Final = 1_000


class Reserve:
    """`octets` is its size, `there` whether it can be given away now.

    `on_room` is called when the next segment was made although the disk had been full, `on_trouble` with what failed.
    """

    __slots__ = ("_closed", "_disk", "_jobs", "_preparing", "_since_ms", "on_room", "on_trouble", "there")

    def __init__(
        self,
        disk: "Disk",
        jobs: "FileJobs",
        on_room: "Callable[[], None]",
        on_trouble: "Callable[[BaseException], None]",
    ) -> None:
        self._disk = disk
        self._jobs = jobs
        self.on_room = on_room
        self.on_trouble = on_trouble
        self.there = NAME in disk.names()
        self._preparing = False
        self._since_ms = 0
        self._closed = False

    def prepare(self, segment_octets: int) -> None:
        """Have the next segment made."""
        if not self._preparing:
            job = partial(_prepare, self._disk, segment_octets, lambda: not self._closed)
            self._jobs.submit(job, self._prepared)
            self._preparing = True

    def close(self) -> None:
        """Leave the next segment to the next start: its zeros take a minute on a slow disk."""
        self._closed = True

    def _prepared(self, error: "BaseException | None") -> None:
        self._preparing = False
        if self._closed:
            return
        if error is not None:
            self.on_trouble(error)
        elif self.there:
            self.on_room()

    def make(self, octets: int, segment_octets: int) -> None:
        """Have the reserve made, and then the next segment: that it can be is how the end of a full disk is noticed."""
        self._jobs.submit(partial(_make, self._disk, octets), partial(self._made, segment_octets))

    def _made(self, segment_octets: int, error: "BaseException | None") -> None:
        self.there = error is None
        if error is None:
            self.prepare(segment_octets)
        else:
            self.on_trouble(error)

    def make_again(self, octets: int, segment_octets: int, now_ms: int) -> None:
        """Have it made again if it was given away a while ago."""
        if not self.there and now_ms - self._since_ms >= AGAIN_MS:
            self.make(octets, segment_octets)
            self._since_ms = now_ms

    def give_away(self, now_ms: int) -> None:
        """Make room on a full disk."""
        if self.there:
            self._jobs.submit(partial(remove, self._disk, [NAME, PREPARED]), self._removed)
            self.there = False
            self._since_ms = now_ms

    def _removed(self, error: "BaseException | None") -> None:
        if error is not None:
            self.on_trouble(error)


def remove(disk: "Disk", names: list[str]) -> None:
    """Remove those of these files that are there; on disk when this returns. Raises DiskError."""
    for name in names:
        try:
            disk.unlink(name)
        except DiskError as error:
            if not error.missing:  # the journal's thread may just have taken what was prepared
                raise
    disk.sync_folder()


def _prepare(disk: "Disk", octets: int, wanted: "Callable[[], bool]") -> None:
    if PREPARED not in disk.names():
        _create_whole(disk, PREPARED, octets, wanted=wanted)


def _make(disk: "Disk", octets: int) -> None:
    if NAME in disk.names():
        file = disk.open(NAME)
        size = disk.size(file)
        disk.close(file)
        if size >= octets:
            return
        disk.unlink(NAME)  # of a start with less room
    # Nobody reads its contents: on a disk that takes a second for a sync a stop would wait for a minute.
    _create_whole(disk, NAME, octets, lasting=False)


def _create_whole(
    disk: "Disk", name: str, octets: int, *, lasting: bool = True, wanted: "Callable[[], bool] | None" = None
) -> None:
    """Make a file of zeros under its name when it is complete."""
    part = name + NEW_SUFFIX
    if part in disk.names():
        disk.unlink(part)
    disk.close(disk.create(part, octets, lasting=lasting, wanted=wanted))
    disk.rename(part, name)
    disk.sync_folder()
