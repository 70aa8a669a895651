"""Presence: whether the files of all segments are still there while the node runs.

A removed segment would otherwise be noticed only when it is read, too late. The open one has a check of its own: the
writer looks at its link count with each batch.
"""

import errno
from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.store.disk import Disk
    from pybroker.store.journal.file_jobs import FileJobs
    from pybroker.store.journal.journal import Journal
    from pybroker.store.segments.live_index import Segment

# How often the folder is listed.
LOOK_MS: Final = 5_000


class Presence:
    """Reports each missing segment once; without the open one it raises, which ends the log."""

    __slots__ = ("_disk", "_jobs", "_journal", "_listed_ms", "_lost", "_trouble")

    def __init__(
        self, journal: "Journal", disk: "Disk", jobs: "FileJobs", trouble: "Callable[[BaseException], None]"
    ) -> None:
        self._journal = journal
        self._disk = disk
        self._jobs = jobs
        self._trouble = trouble
        self._listed_ms = journal.clock.now_ms
        self._lost: set[int] = set()  # numbers of segments whose loss was reported

    def tick(self, now_ms: int) -> None:
        """List the folder if that is due."""
        if now_ms - self._listed_ms < LOOK_MS:
            return
        self._listed_ms = now_ms
        journal = self._journal
        there = (each for each in journal.live_index.segments if 0 < each.first_commit_position <= journal.completed)
        if names := {fmt.segment_name(each.number): each for each in there if each.number not in self._lost}:
            self._jobs.submit(partial(_absent, self._disk, list(names)), partial(self._listed, names))

    def _listed(self, names: "dict[str, Segment]", absent: "list[str] | BaseException") -> None:
        if isinstance(absent, BaseException):
            self._trouble(absent)
            return
        for name in absent:
            segment = names[name]
            if segment.dead:
                continue  # we unlinked it ourselves
            if not segment.sealed:
                raise DiskError("write to", name, errno.ENOENT)
            self._lost.add(segment.number)
            self._journal.on_unreadable(
                f"segment {name} was removed while the node is running: its {segment.live} messages are lost "
                "unless the file is restored"
            )


def _absent(disk: "Disk", names: list[str]) -> list[str]:
    there = set(disk.names())
    return [name for name in names if name not in there]
