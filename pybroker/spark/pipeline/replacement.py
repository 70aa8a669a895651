"""Replacement: new dates of a table take the places of the old ones; a kill at any moment loses neither.

    staged     the new dates are whole in the staging folder, and on disk
    decided    the state says which dates are being replaced: from now on the new ones count
    placed     each date is renamed into its place, the old one out of it in the same step where the system can
    noted      the state says when they were made, and that nothing is being replaced

A kill before the decision leaves the old dates. After one that comes later the next run places what is left. A date is
in place when it has the files that were staged: no two writes of Spark's give a file the same name.
"""

import ctypes
import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pybroker.spark.disk import sync_file, sync_folder

PARTITION: Final = "date="
SUFFIX: Final = ".parquet"
# renameat2(2): paths are relative to the working directory; both names change places.
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
# A file system, or a C library, that cannot.
_CANNOT: Final = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM}


class Replacement(NamedTuple):
    """`files` are those that each date is to have, none if the date goes; `staged` is where they are."""

    table: str
    staged: str
    files: dict[str, list[str]]
    stamp: int

    @classmethod
    def of_state(cls, known: Mapping[str, Any]) -> "Replacement":
        """Return what was decided, from the state."""
        return cls(known["table"], known["staged"], known["files"], known["stamp"])

    def place(self, folder: Path, staging: Path) -> None:
        """Bring every date into its place below `folder`, where it is not yet there."""
        for day, names in self.files.items():
            here, new = folder / f"{PARTITION}{day}", staging / self.staged / f"{PARTITION}{day}"
            old = new.with_name(f"old-{day}")
            if names and names_in(here) != names:
                if here.exists():
                    _exchange(new, here, old)
                else:
                    new.rename(here)
            elif not names and here.exists():
                here.rename(old)
        sync_folder(folder)


def stage(table: str, folder: Path, days: list[str], stamp: int) -> Replacement:
    """Return how the dates in a staging folder replace `days`; all of it is on disk then."""
    files = {}
    for day in days:
        new = folder / f"{PARTITION}{day}"
        files[day] = names_in(new)
        for name in files[day]:
            sync_file(new / name)
        if files[day]:
            sync_folder(new)
    sync_folder(folder)
    sync_folder(folder.parent)
    return Replacement(table, folder.name, files, stamp)


def names_in(folder: Path) -> list[str]:
    """Return the names of a date's files, sorted; none if it is not there."""
    return sorted(path.name for path in folder.glob(f"*{SUFFIX}"))


def _exchange(new: Path, here: Path, old: Path) -> None:
    """Put `new` where `here` is; readers find one or the other, where the file system can exchange two names."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is not None:
        if not renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(here), _RENAME_EXCHANGE):
            return
        code = ctypes.get_errno()
        if code not in _CANNOT:
            raise OSError(code, os.strerror(code), str(new))
    here.rename(old)
    new.rename(here)
