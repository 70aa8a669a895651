"""Resident memory of the process, as the kernel and malloc count it. Does not know queues."""

import os
import resource
import weakref
from typing import Final, NamedTuple

import psutil

from pybroker.daemon.resources.allocator import Allocator

STATM_OCTETS_MAX: Final = 256
PAGE_OCTETS: Final = resource.getpagesize()
# Asked again and again: to make one costs as much as to ask it.
PROCESS: Final = psutil.Process()


class ResidentSet(NamedTuple):
    """Octets: `total` is the resident set, `code` its pages of files (libraries), `unused` what malloc holds free."""

    total: int
    code: int
    unused: int


class ResidentSetReader:
    """Reads the resident set again and again, on Linux from a file that stays open: to open it takes ten times as long.

    Memory that malloc holds free is in it until that is trimmed: afterwards nobody can tell how much of it is resident.
    """

    __slots__ = ("__weakref__", "_file")

    def __init__(self) -> None:
        try:
            self._file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = -1
        else:
            weakref.finalize(self, os.close, self._file)

    def octets(self) -> int:
        """Return the resident set; 0 where the system does not tell."""
        try:
            if self._file >= 0:
                return int(os.pread(self._file, STATM_OCTETS_MAX, 0).split()[1]) * PAGE_OCTETS
            octets: int = PROCESS.memory_info().rss
        except (OSError, ValueError, IndexError, psutil.Error):
            return 0
        return octets


def measure(allocator: Allocator) -> ResidentSet:
    """Read what is resident now; all zero where the system does not tell."""
    try:
        found = PROCESS.memory_info()
    except (OSError, psutil.Error):
        return ResidentSet(0, 0, 0)
    # On Linux `shared` is RssFile and RssShmem of /proc/self/status.
    total, code = found.rss, getattr(found, "shared", 0)
    # Spare memory that was handed back to the kernel is still counted by malloc, but not resident.
    return ResidentSet(total, code, min(allocator.free_octets(), total - code))


def open_files() -> int | None:
    """Return how many files are open; None if none is left to ask with, when the other figures are wanted most."""
    try:
        count: int = PROCESS.num_fds()
    except (OSError, psutil.Error):
        return None
    return count
