"""Group: where in a data folder the log of a group lies. There is one group."""

from typing import TYPE_CHECKING, Final

from pybroker.store.disk import Disk

if TYPE_CHECKING:
    from pathlib import Path

# The folders from the data folder down.
PARTS: Final = ("groups", "local")


def log_folder(data: "Path") -> "Path":
    """Return the folder of the log, which need not be there."""
    return data.joinpath(*PARTS)


def open_log(data: Disk) -> Disk:
    """Return the folder of the log, on disk when this returns. Raises DiskError."""
    disk = data
    for part in PARTS:
        disk = disk.below(part)
    return disk
