"""Disk: files and folders that survive a power cut."""

import errno
import os
from pathlib import Path


def sync_file(path: Path) -> None:
    """Have the octets of a file on disk. Raises OSError."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk, where its file system can do that. Raises OSError."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)


def write_file(path: Path, octets: bytes) -> None:
    """Write a file whole: under another name, which becomes its own when the octets are on disk. Raises OSError."""
    unfinished = path.with_name(f".{path.name}.new")
    unfinished.write_bytes(octets)
    sync_file(unfinished)
    unfinished.rename(path)
    sync_folder(path.parent)
