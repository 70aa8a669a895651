"""Resident memory of the process, as the kernel and malloc count it (B20). Does not know queues."""

from typing import Final, NamedTuple

import psutil

from pybroker.daemon.resources.allocator import Allocator

# Asked again and again: to make one costs as much as to ask it.
PROCESS: Final = psutil.Process()


class ResidentSet(NamedTuple):
    """Octets: `total` is the resident set, `code` its pages of files (libraries), `unused` what malloc holds free."""

    total: int
    code: int
    unused: int


def used_octets() -> int:
    """Return the resident set; 0 where the system does not tell.

    Memory that malloc holds free is in it until that is trimmed: afterwards nobody can tell how much of it is resident.
    """
    try:
        octets: int = PROCESS.memory_info().rss
    except (OSError, psutil.Error):
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
