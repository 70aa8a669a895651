"""The data folder: made private, locked by one daemon at a time, and owned by one node name for good.

Knows nothing of what is stored in it. `.lock` holds the process id of the daemon that has the lock; the lock itself is
the kernel's (flock), so that a killed daemon leaves none. `node_id` holds the node's name.
"""

import fcntl
import os
from pathlib import Path
from typing import Final

from pybroker.daemon.start_error import StartError, refused_by_system

LOCK_FILE: Final = ".lock"
NODE_FILE: Final = "node_id"
# What a freshly made file system holds (ext4), and what we leave if the first start is killed at once.
_MAY_PRECEDE: Final = {"lost+found", LOCK_FILE, NODE_FILE + ".new"}


class DataFolder:
    """A locked data folder. The lock is held until `release` or the end of the process."""

    __slots__ = ("_lock_fd", "node_name", "path")

    def __init__(self, path: Path, node_name: str, lock_fd: int) -> None:
        self.path = path
        self.node_name = node_name
        self._lock_fd = lock_fd

    def release(self) -> None:
        """Give the lock back. The lock file stays: unlinking it would let two daemons lock two files of one name."""
        os.close(self._lock_fd)


def claim_data_folder(path: Path, node_name: str, default_name: str) -> DataFolder:
    """Make the folder if need be, lock it, and return it with the name of its node.

    An empty `node_name` means whatever the folder says; a new folder then gets `default_name`. So a container whose
    host name changes finds its data again.

    Raises:
        StartError: the folder cannot be made or written, is in use, holds something else or another node's data.

    """
    lock_fd = -1
    try:
        _make_private(path)
        lock_fd = _lock(path)
        return DataFolder(path, _settle_owner(path, node_name, default_name), lock_fd)
    except (OSError, StartError) as error:
        if lock_fd >= 0:
            os.close(lock_fd)
        if isinstance(error, StartError):
            raise
        raise refused_by_system(f"cannot use the data folder {path}", error) from None


def _settle_owner(path: Path, node_name: str, default_name: str) -> str:
    owner = _read_node_name(path)
    if not owner:
        owner = node_name or default_name
        _write_node_name(path, owner)
    elif node_name and node_name != owner:
        raise StartError(
            f"the data folder {path} belongs to the node {owner}: start with --node {owner}, "
            f"or give {node_name} a folder of its own with --data-dir",
            os.EX_CONFIG,
        )
    return owner


def _make_private(path: Path) -> None:
    """Create the folder, or check that an existing one is ours before its mode is changed."""
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not path.is_dir():
            raise StartError(f"the data folder {path} is not a folder", os.EX_CANTCREAT) from None
        names = {entry.name for entry in path.iterdir()}
        if NODE_FILE not in names and names - _MAY_PRECEDE:
            raise StartError(
                f"the folder {path} is neither empty nor a data folder of pybroker: give another --data-dir",
                os.EX_CANTCREAT,
            ) from None
    if path.stat().st_mode & 0o777 != 0o700:
        path.chmod(0o700)


def _lock(path: Path) -> int:
    fd = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(fd, 32).decode("ascii", "replace").strip() or "unknown"
        os.close(fd)
        raise StartError(
            f"the data folder {path} is in use by another pybroker, process {holder}", os.EX_UNAVAILABLE
        ) from None
    except OSError:
        os.close(fd)
        raise
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd


def _read_node_name(path: Path) -> str:
    try:
        return (path / NODE_FILE).read_text().strip()
    except FileNotFoundError:
        return ""


def _write_node_name(path: Path, name: str) -> None:
    """Write the name so that a power cut leaves the whole file or none."""
    new = path / (NODE_FILE + ".new")
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, f"{name}\n".encode())
        os.fsync(fd)
    finally:
        os.close(fd)
    new.rename(path / NODE_FILE)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
