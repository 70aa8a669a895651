"""Disk: one folder of files, and the only place in the store that touches the operating system.

Every OSError becomes a DiskError, so that nobody above has to know one. `tests/store/faulty_disk.py` is its twin that
loses power, tears writes and fails on demand: the store may rely only on properties that both have. Knows names and
octets, not what they mean. Files are named by the ints that `create` and `open` give.
"""

import contextlib
import errno
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pybroker import descriptors

FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
# Errors of a file system that cannot reserve room.
UNABLE: Final = frozenset((errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL))
# Zeros are written in pieces of this size: as fast as larger ones, and small beside everything else in memory.
FILL_OCTETS: Final = 1 << 20
# The system takes no more at once.
PARTS_MAX: Final = 1_024
PAGE_OCTETS: Final = mmap.PAGESIZE
# An octet each so far tells whether the system has a file in memory.
PROBE_DISTANCE: Final = 262_144
# Errors of sendfile(2) that are the file's, not the socket's.
UNREADABLE: Final = frozenset((errno.EIO, errno.EINVAL, errno.ENOMEM, errno.ENODATA, errno.ESTALE, errno.EOVERFLOW))
# Suffix of the file that write_file writes, until it is whole.
NEW_SUFFIX: Final = ".new"


_probed: Final = bytearray(1)


class DiskError(Exception):
    """The system refused `operation` on the file `name`, with this `errno`. Its text is a sentence for the operator."""

    def __init__(self, operation: str, name: str, number: int) -> None:
        super().__init__(operation, name, number)
        self.operation = operation
        self.name = name
        self.errno = number

    @property
    def full(self) -> bool:
        """Tell whether there is no room: it goes by when space is made, which other errors do not."""
        return self.errno in FULL

    @property
    def lacks_descriptors(self) -> bool:
        """Tell whether no file can be opened until one is closed: nothing was written, and nothing is unknown."""
        return self.errno in descriptors.NONE_LEFT

    @property
    def missing(self) -> bool:
        """Tell whether there is no such file."""
        return self.errno == errno.ENOENT

    def __str__(self) -> str:
        return f"cannot {self.operation} {self.name}: {os.strerror(self.errno)}"


class Disk:
    """The files of the folder `root`, which exists. Any thread may use it; a file is written by one at a time.

    Octets survive a loss of power once `sync` of their file has returned; a new name, or the removal of one, once
    `sync_folder` has returned.
    """

    __slots__ = ("_names", "_root")

    def __init__(self, root: Path) -> None:
        self._root = str(root)  # each stream has a folder, and a Path takes five times as much
        self._names: dict[int, Path] = {}

    @property
    def root(self) -> Path:
        """Return where the folder is."""
        return Path(self._root)

    def below(self, name: str) -> "Disk":
        """Return the folder `name` inside this one as a disk, made if there is none; it has its name on disk."""
        path = self.root / name
        with _told("make the folder", path):
            path.mkdir(mode=0o700, exist_ok=True)
        # Also one that is there: who made it may have been killed before this.
        self.sync_folder()
        return Disk(path)

    def folder(self, name: str) -> "Disk | None":
        """Return the folder `name` inside this one as a disk, if it is there. Its name may not be on disk."""
        path = self.root / name
        with _told("look for the folder", path):
            return Disk(path) if path.is_dir() else None

    def folder_names(self) -> list[str]:
        """Return the names of all folders inside this one, sorted."""
        with _told("list", self.root), os.scandir(self.root) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))

    def remove_folder(self, name: str) -> None:
        """Remove the folder `name` inside this one, which is empty."""
        path = self.root / name
        with _told("remove the folder", path):
            path.rmdir()

    def names(self) -> list[str]:
        """Return the names of all files, sorted; folders are none."""
        with _told("list", self.root), os.scandir(self.root) as entries:
            return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))

    def create(
        self, name: str, octets: int = 0, *, lasting: bool = True, wanted: Callable[[], bool] | None = None
    ) -> int:
        """Make a file that was not there, with `octets` zeros on disk, and open it for writing.

        One that is not `lasting` is not synced. Zeros are written, not only reserved: a sync of what is later written
        over them has no metadata to write. Nothing stays of a file that could not be made whole, or of which is told
        meanwhile that it is not `wanted` any more: then the error's number is ECANCELED.
        """
        path = self._path(name)
        with _told("create", path):
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            if octets:
                with _told(f"reserve {octets} octets for", path):
                    _reserve(file, octets)
                    _fill(file, octets, lasting=lasting, wanted=wanted)
            if lasting:
                with _told("sync", path):
                    os.fsync(file)
            self._names[file] = path
        except BaseException:
            os.close(file)
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        return file

    def open(self, name: str, write: bool = False) -> int:
        """Open a file that is there."""
        path = self._path(name)
        with _told("open", path):
            file = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC)
        self._names[file] = path
        return file

    def close(self, file: int) -> None:
        """Close a file. Octets that were written and not synced may still be lost."""
        with _told("close", self._names.pop(file)):
            os.close(file)

    def size(self, file: int) -> int:
        """Return the file's length in octets."""
        with self._told("measure", file):
            return os.fstat(file).st_size

    def links(self, file: int) -> int:
        """Return how many names an open file has: without any it is gone as soon as it is closed."""
        try:
            return os.fstat(file).st_nlink
        except OSError as error:
            raise self._error("measure", file, error) from error

    def write_at(self, file: int, offset: int, octets: bytes) -> None:
        """Write all of `octets`."""
        try:
            _write(file, offset, octets)
        except OSError as error:
            raise self._error("write", file, error) from error

    def write_parts(self, file: int, offset: int, parts: "Sequence[bytes | memoryview[int]]") -> None:
        """Write parts one behind the other, without putting them together in memory first."""
        try:
            for at in range(0, len(parts), PARTS_MAX):
                some = parts[at : at + PARTS_MAX]
                octets = sum(map(len, some))
                if os.pwritev(file, some, offset) < octets:
                    _write(file, offset, b"".join(some))
                offset += octets
        except OSError as error:
            raise self._error("write", file, error) from error

    def read_at(self, file: int, offset: int, octets: int) -> bytes:
        """Return `octets` octets from `offset` on; fewer where the file ends."""
        with self._told("read", file):
            read = os.pread(file, octets, offset)
            if not read or len(read) == octets:
                return read
            parts = [read]
            left = octets - len(read)
            while left and (read := os.pread(file, left, offset + octets - left)):
                parts.append(read)
                left -= len(read)
            return b"".join(parts)

    def read_now(self, file: int, offset: int, buffer: memoryview) -> int:
        """Fill a buffer with what the system has in memory; return how many octets these are, 0 also after an error.

        Never waits for the disk: `read_at` does, and tells of errors.
        """
        try:
            return os.preadv(file, [buffer], offset, os.RWF_NOWAIT)
        except OSError:
            return 0

    def send_now(self, file: int, offset: int, octets: int, socket: int) -> int:
        """Have the system send what it has in memory; return how much the socket took, 0: none is there, or an error.

        Never waits for the disk, unless the system lets go of parts while others around them stay. Raises OSError, if
        the socket takes nothing.
        """
        there = 0
        try:
            for at in (*range(0, octets, PROBE_DISTANCE), octets - 1):
                if not os.preadv(file, [_probed], offset + at, os.RWF_NOWAIT):
                    break
                there = at
            else:
                there = octets
        except OSError:
            pass  # what was found before is there
        if not there:
            return 0
        try:
            return os.sendfile(socket, file, offset, there)
        except OSError as error:
            if error.errno in UNREADABLE:
                return 0
            raise

    def truncate(self, file: int, octets: int) -> None:
        """Let the file end after `octets`."""
        with self._told("truncate", file):
            os.ftruncate(file, octets)

    def sync(self, file: int) -> None:
        """Return when all that was written to the file is on disk."""
        try:
            os.fdatasync(file)
        except OSError as error:
            raise self._error("sync", file, error) from error

    def drop_cached(self, file: int, octets: int) -> None:
        """Have the system forget what it has in memory of the first `octets`, but for a last page that is not full.

        Octets that are not on disk begin to go there instead. To write into memory that the system just let go costs a
        tenth of writing into memory that is new to it. A hint: it never fails.
        """
        full = octets - octets % PAGE_OCTETS
        if full:  # for none of them the system would forget the whole file
            with contextlib.suppress(OSError):
                os.posix_fadvise(file, 0, full, os.POSIX_FADV_DONTNEED)

    def sync_folder(self) -> None:
        """Return when all that was created, renamed and unlinked is on disk."""
        with _told("sync the folder", self.root):
            folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name; the file that had it is gone."""
        with _told("rename", f"{self._path(old)} to {new}"):
            self._path(old).rename(self._path(new))
        for file, path in list(self._names.items()):
            if path == self._path(old):
                self._names[file] = self._path(new)  # what its errors call it

    def unlink(self, name: str) -> None:
        """Remove a file; open files of it can still be read."""
        path = self._path(name)
        with _told("remove", path):
            path.unlink()

    def free_octets(self) -> int:
        """Return how much the file system still has for us."""
        with _told("ask for the free space of", self.root):
            at = os.statvfs(self.root)
            return at.f_bavail * at.f_frsize

    def size_of(self, name: str) -> int:
        """Return the length of a file that is not open, in octets."""
        path = self._path(name)
        with _told("measure", path):
            return path.stat().st_size

    def read_file(self, name: str) -> bytes:
        """Return all octets of a file."""
        file = self.open(name)
        try:
            return self.read_at(file, 0, self.size(file))
        finally:
            self.close(file)

    def write_file(self, name: str, octets: bytes) -> None:
        """Write a file with exactly these octets, on disk: after a crash there is the old one or the new one.

        A file that could not be written whole is removed: its room is wanted, and a failed sync leaves pages in doubt.
        """
        new = name + NEW_SUFFIX
        path = self._path(new)
        with _told("write", path):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                _write(file, 0, octets)
                os.fsync(file)
            except BaseException:
                with contextlib.suppress(OSError):
                    path.unlink()
                raise
            finally:
                os.close(file)
        self.rename(new, name)
        self.sync_folder()

    def _path(self, name: str) -> Path:
        return self.root / name

    def _error(self, operation: str, file: int, error: OSError) -> DiskError:
        """Return what `_told` raises, for calls that come with each batch and cannot afford it."""
        return _disk_error(operation, self._names[file], error)

    def _told(self, operation: str, file: int) -> "contextlib.AbstractContextManager[None]":
        return _told(operation, self._names[file])


@contextlib.contextmanager
def _told(operation: str, name: Path | str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _disk_error(operation, name, error) from error


def _disk_error(operation: str, name: Path | str, error: OSError) -> DiskError:
    return DiskError(operation, str(name), error.errno or errno.EIO)


def _reserve(file: int, octets: int) -> None:
    """Have room for the file at once, if this file system can; else it is found, or not, while zeros are written."""
    try:
        os.posix_fallocate(file, 0, octets)
    except OSError as error:
        if error.errno not in UNABLE:
            raise


def _fill(file: int, octets: int, *, lasting: bool, wanted: Callable[[], bool] | None) -> None:
    """Write zeros. Synced all at once they would keep the disk busy, and the journal's syncs waiting, far longer."""
    zeros = bytes(min(octets, FILL_OCTETS))
    for at in range(0, octets, FILL_OCTETS):
        if wanted is not None and not wanted():
            raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))
        _write(file, at, zeros[: octets - at])
        if lasting:
            os.fdatasync(file)


def _write(file: int, offset: int, octets: bytes) -> None:
    written = os.pwrite(file, octets, offset)
    while written < len(octets):  # the kernel may stop at 2 GiB, or where the disk is full
        written += os.pwrite(file, memoryview(octets)[written:], offset + written)
