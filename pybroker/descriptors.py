"""File descriptors: how many the process may have, and a few that are kept for when none is left."""

import contextlib
import errno
import os
import resource
import sys
from typing import Final

# Errors of a call when the process, or the machine, has no descriptor left.
NONE_LEFT: Final = frozenset((errno.EMFILE, errno.ENFILE))
# RabbitMQ's and the unit's limit; a higher one only costs programs that walk the table of descriptors.
LIMIT_MAX: Final = 65_536


def limit() -> int:
    """Return how many files the process may have open; `sys.maxsize` without a limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def raise_limit() -> int:
    """Raise it to what the system lets us have, at most LIMIT_MAX; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = LIMIT_MAX if hard == resource.RLIM_INFINITY else min(hard, LIMIT_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft


class Reserve:
    """Up to `count` descriptors that are open for nothing, so that what must be opened can be."""

    __slots__ = ("_count", "_files")

    def __init__(self, count: int) -> None:
        self._count = count
        self._files: list[int] = []

    def __len__(self) -> int:
        return len(self._files)

    def fill(self) -> None:
        """Take descriptors until there are enough, as far as there are any."""
        with contextlib.suppress(OSError):
            while len(self._files) < self._count:
                self._files.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    def release(self) -> bool:
        """Release them all for the next files to be opened; return whether there were any."""
        files, self._files = self._files, []
        for file in files:
            os.close(file)
        return bool(files)
