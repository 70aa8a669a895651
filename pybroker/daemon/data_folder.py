"""The data folder: made private, locked by one daemon at a time, and owned by one node name for good.

Knows nothing of what is stored in it. The lock is the kernel's (flock), so that a killed daemon leaves none. It is on
the folder itself, because a file can be removed, and on `.lock`, which holds the process id of the daemon that has it.
`node_id` holds the node's name.
"""

import errno
import fcntl
import os
from pathlib import Path
from typing import Final

from pybroker.daemon.start_error import StartError, refused_by_system

LOCK_FILE: Final = ".lock"
NODE_FILE: Final = "node_id"
# Errors of a file system that cannot lock a folder, NFS for one; there the file's lock has to do.
_FOLDERS_UNLOCKABLE: Final = frozenset((errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP))
# Entries of a new file system (ext4), and the files left if the first start is killed at once.
_MAY_PRECEDE: Final = {"lost+found", LOCK_FILE, NODE_FILE + ".new"}


class DataFolder:
    """A locked data folder. The lock is held until `release` or the end of the process."""

    __slots__ = ("_locks", "node_name", "path")

    def __init__(self, path: Path, node_name: str, locks: list[int]) -> None:
        self.path = path
        self.node_name = node_name
        self._locks = locks

    def release(self) -> None:
        """Give the locks back. The lock file stays: unlinking it would let two daemons lock two files of one name."""
        _close(self._locks)


def claim_data_folder(path: Path, node_name: str, default_name: str) -> DataFolder:
    """Make the folder if need be, lock it, and return it with the name of its node.

    An empty `node_name` means whatever the folder says; a new folder then gets `default_name`. So a container whose
    host name changes finds its data again.

    Raises:
        StartError: the folder cannot be made or written, is in use, holds something else or another node's data.

    """
    locks: list[int] = []
    try:
        _make_private(path)
        _lock_folder(path, locks)
        _lock_file(path, locks)
        return DataFolder(path, _settle_owner(path, node_name, default_name), locks)
    except (OSError, StartError) as error:
        _close(locks)
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
            f"the data folder {path} belongs to the node {owner}: start with --node {owner}, or specify "
            f"another folder for {node_name} with --data-dir",
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
                f"the folder {path} is neither empty nor a data folder of pybroker: specify another --data-dir",
                os.EX_CANTCREAT,
            ) from None
    if path.stat().st_mode & 0o777 != 0o700:
        path.chmod(0o700)


def _lock_folder(path: Path, locks: list[int]) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    locks.append(fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _in_use(path) from None
    except OSError as error:
        if error.errno not in _FOLDERS_UNLOCKABLE:
            raise


def _lock_file(path: Path, locks: list[int]) -> None:
    fd = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    locks.append(fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _in_use(path) from None
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)


def _in_use(path: Path) -> StartError:
    """Return the refusal; the process is unknown where the file that names it was removed."""
    try:
        holder = (path / LOCK_FILE).read_text("ascii", "replace").strip()
    except OSError:
        holder = ""
    text = f"the data folder {path} is in use by another pybroker, process {holder or 'unknown'}"
    return StartError(text, os.EX_UNAVAILABLE)


def _close(files: list[int]) -> None:
    while files:
        os.close(files.pop())


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
