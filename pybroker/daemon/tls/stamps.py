"""Stamps: what tells a changed file from the one of before."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

# Of each file: when it was changed, its size, which one it is, when its mode was; None if it is not there.
Stamps: TypeAlias = tuple[tuple[int, int, int, int] | None, ...]


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """Return the stamps of files, in order."""
    return tuple(_stamp(path) for path in paths)


def _stamp(path: Path) -> tuple[int, int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    # The last one changes with the mode: a file that could not be read may be readable now.
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns
