"""FaultyDisk: a Disk in memory that loses power, tears and reorders what was not synced, and fails on demand.

It keeps over `crash` what POSIX promises and nothing more: a file's content once `sync` returned, its name once
`sync_folder` did. Everything else is kept, lost or torn, each part by itself, as the random numbers fall.
"""

import errno as errnos
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from pybroker.store.disk import NEW_SUFFIX, DiskError

PAGE = 4_096
SECTOR = 512
UNLIMITED = 1 << 40


class PowerLoss(BaseException):
    """The power went during an operation. Nothing that catches errors may catch it."""


class File:
    """`seen` is what a reader gets, `durable` what a crash cannot take; `pending` leads from this to that."""

    def __init__(self, octets: bytes = b"") -> None:
        self.seen = bytearray(octets)
        self.durable = bytearray(octets)
        self.pending: list[tuple[int, bytes | None]] = []  # an offset and octets, or a length to cut to
        self.doubtful: list[tuple[int, bytes | None]] = []  # a sync of them failed: none will ever make them durable
        self.dropped = 0  # up to where the system has nothing in memory

    def write(self, offset: int, octets: bytes) -> None:
        apply(self.seen, offset, octets)
        self.pending.append((offset, octets))

    def cut(self, octets: int) -> None:
        apply(self.seen, octets, None)
        self.pending.append((octets, None))

    def sync(self) -> None:
        for offset, octets in self.pending:
            apply(self.durable, offset, octets)
        if self.doubtful:
            self._settle_doubts()
        self.pending = []

    def _settle_doubts(self) -> None:
        """Forget failed syncs of what was written again since and is on disk now; and of the length, which is."""
        if any(octets is None for _, octets in self.doubtful):
            apply(self.durable, len(self.seen), None)
        left = [(offset, octets) for offset, octets in self.doubtful if octets is not None]
        for start, again in self.pending:
            end = start + len(again or b"")
            parts = [(offset, octets[: max(0, start - offset)]) for offset, octets in left]
            parts += [(max(offset, end), octets[max(0, end - offset) :]) for offset, octets in left]
            left = [(offset, octets) for offset, octets in parts if octets] if again else left
        self.doubtful = [(offset, octets) for offset, octets in left]

    def crashed(self, rng: random.Random) -> "File":
        kept = bytearray(self.durable)
        for offset, octets in self.doubtful + self.pending:
            chance = rng.choice((0.0, 0.5, 0.9, 1.0))
            if octets is None:
                if rng.random() < chance:
                    apply(kept, offset, None)
                continue
            for start, end in pages(offset, len(octets)):
                if rng.random() < chance:
                    apply(kept, start, octets[start - offset : torn(start, end, rng) - offset])
        return File(kept)


def apply(octets: bytearray, offset: int, change: bytes | None) -> None:
    """Make one change: cut off, or grow with zeros, at `offset` if there is nothing to write."""
    if change is None:
        del octets[offset:]
    if len(octets) < offset:
        octets.extend(bytes(offset - len(octets)))
    if change is not None:
        octets[offset : offset + len(change)] = change


def pages(offset: int, octets: int) -> list[tuple[int, int]]:
    """Split a write at the ends of pages."""
    bounds = [offset, *range(offset - offset % PAGE + PAGE, offset + octets, PAGE), offset + octets]
    return list(pairwise(bounds))


def torn(start: int, end: int, rng: random.Random) -> int:
    """Return where a page's write stopped: mostly at its end, now and then between two sectors."""
    cuts = range(start - start % SECTOR + SECTOR, end, SECTOR)
    return rng.choice(cuts) if cuts and rng.random() < 0.2 else end


@dataclass
class Power:
    """The state that all folders of one disk share. Operations count from 1; only those that change something do.

    `lying_sync` and `lying_folder` are the disks, or programs, that a test must catch: their syncs do nothing.
    A `forgetful` system has nothing of a file in its memory.
    """

    operations: int = 0
    crash_at: int = 0
    dead: bool = False
    failures: dict[int, int] = field(default_factory=dict)  # by number of the operation
    next_failures: dict[str, list[int]] = field(default_factory=dict)  # by its name
    capacity: int = UNLIMITED
    lying_sync: bool = False
    lying_folder: bool = False
    forgetful: bool = False
    counts: dict[str, int] = field(default_factory=dict)


class FaultyDisk:
    """The methods of Disk. `crash` gives the disk as it may be found after a loss of power."""

    def __init__(self, power: Power | None = None) -> None:
        self.power = power or Power()
        self.files: dict[str, File] = {}
        self._durable: dict[str, File] = {}
        self._pending: list[tuple[str, str, File | None]] = []  # a name and who has it now; what rename took it from
        self._open: dict[int, tuple[str, File, bool]] = {}
        self._last = 2
        self.folders: dict[str, FaultyDisk] = {}

    # -- faults --------------------------------------------------------------------------------------------------------

    def crash_at(self, number: int) -> None:
        """Lose power during the operation of this number."""
        self.power.crash_at = number

    def fail_at(self, number: int, errno: int) -> None:
        """Let the operation of this number fail."""
        self.power.failures[number] = errno

    def fail_next(self, operation: str, errno: int, times: int = 1) -> None:
        """Let the next operations of this name fail (`sync`, `read_at` ...)."""
        self.power.next_failures.setdefault(operation, []).extend([errno] * times)

    def crash(self, rng: random.Random) -> "FaultyDisk":
        """Return the disk as a loss of power may leave it now."""
        left = FaultyDisk(
            Power(
                capacity=self.power.capacity,
                lying_sync=self.power.lying_sync,
                lying_folder=self.power.lying_folder,
            )
        )
        names = dict(self._durable)
        for old, name, file in self._pending:
            if rng.random() < 0.5:
                rename(names, old, name, file)
        crashed: dict[int, File] = {}
        for name, file in sorted(names.items()):
            if id(file) not in crashed:
                crashed[id(file)] = file.crashed(rng)
            left.files[name] = left._durable[name] = crashed[id(file)]
        for name, folder in self.folders.items():
            left.folders[name] = folder.crash(rng)
            left.folders[name].power = left.power
        return left

    def damage(self, name: str, offset: int, octets: bytes) -> None:
        """Put other octets in a file, as a bad disk does."""
        for content in (self.files[name].seen, self.files[name].durable):
            content[offset : offset + len(octets)] = octets

    def flip(self, name: str, bit: int) -> None:
        """Flip one bit of a file."""
        self.damage(name, bit // 8, bytes([self.files[name].seen[bit // 8] ^ 1 << bit % 8]))

    def _operation(self, name: str, on: str, counted: bool = True) -> None:
        """Count an operation; fail it if that is wanted. The power goes only when it is done: see `_done`."""
        power = self.power
        if power.dead:
            raise PowerLoss
        power.counts[name] = power.counts.get(name, 0) + 1
        errno = 0
        if counted:
            power.operations += 1
            errno = power.failures.pop(power.operations, 0)
        if not errno and power.next_failures.get(name):
            errno = power.next_failures[name].pop(0)
        if errno:
            raise DiskError(name, on, errno)

    def _done(self) -> None:
        """Lose power now if it is time: what was just done is not durable, but it may be on disk all the same."""
        if 0 < self.power.crash_at <= self.power.operations:
            self.power.dead = True
            raise PowerLoss

    def _room(self, octets: int) -> int:
        return min(octets, self.free_octets())

    # -- the methods of Disk -------------------------------------------------------------------------------------------

    def below(self, name: str) -> "FaultyDisk":
        return self.folders.setdefault(name, FaultyDisk(self.power))

    def folder(self, name: str) -> "FaultyDisk | None":
        return self.folders.get(name)

    def folder_names(self) -> list[str]:
        self._operation("folder_names", "", counted=False)
        return sorted(self.folders)

    def remove_folder(self, name: str) -> None:
        self._operation("remove_folder", name)
        if name not in self.folders:
            raise DiskError("remove_folder", name, errnos.ENOENT)
        if self.folders[name].files or self.folders[name].folders:
            raise DiskError("remove_folder", name, errnos.ENOTEMPTY)
        del self.folders[name]
        self._done()

    def names(self) -> list[str]:
        self._operation("names", "", counted=False)
        return sorted(self.files)

    def create(
        self, name: str, octets: int = 0, *, lasting: bool = True, wanted: Callable[[], bool] | None = None
    ) -> int:
        self._operation("create", name)
        if octets and wanted is not None and not wanted():
            raise DiskError("create", name, errnos.ECANCELED)
        if name in self.files:
            raise DiskError("create", name, errnos.EEXIST)
        if self._room(octets) < octets:
            raise DiskError("create", name, errnos.ENOSPC)
        self.files[name] = File(bytes(octets))
        self._pending.append(("", name, self.files[name]))
        self._done()
        return self.open(name, write=True)

    def open(self, name: str, write: bool = False) -> int:
        self._operation("open", name, counted=False)
        if name not in self.files:
            raise DiskError("open", name, errnos.ENOENT)
        self._last += 1
        self._open[self._last] = name, self.files[name], write
        return self._last

    def close(self, file: int) -> None:
        del self._open[file]

    def size(self, file: int) -> int:
        return len(self._open[file][1].seen)

    def links(self, file: int) -> int:
        return sum(each is self._open[file][1] for each in self.files.values())

    def write_at(self, file: int, offset: int, octets: bytes) -> None:
        name, content, _ = self._changing("write_at", file)
        growth = max(0, offset + len(octets) - len(content.seen))
        room = self._room(growth)
        if room < growth:
            # Part of it finds room, as write(2) has it.
            content.write(offset, octets[: len(octets) - growth + room])
            raise DiskError("write_at", name, errnos.ENOSPC)
        content.write(offset, octets)
        self._done()

    def write_parts(self, file: int, offset: int, parts: list[bytes]) -> None:
        self.write_at(file, offset, b"".join(parts))

    def read_at(self, file: int, offset: int, octets: int) -> bytes:
        name, content, _ = self._open[file]
        self._operation("read_at", name, counted=False)
        content.dropped = min(content.dropped, offset)
        return bytes(content.seen[offset : offset + octets])

    def read_now(self, file: int, offset: int, buffer: memoryview) -> int:
        _, content, _ = self._open[file]
        absent = self.power.forgetful or offset < content.dropped
        octets = bytes(content.seen[offset : offset + len(buffer)]) if not absent else b""
        buffer[: len(octets)] = octets
        return len(octets)

    def send_now(self, file: int, offset: int, octets: int, socket: int) -> int:
        _, content, _ = self._open[file]
        absent = self.power.forgetful or offset < content.dropped
        return 0 if absent else os.write(socket, content.seen[offset : offset + octets])

    def truncate(self, file: int, octets: int) -> None:
        self._changing("truncate", file)[1].cut(octets)
        self._done()

    def sync(self, file: int) -> None:
        name, content, _ = self._open[file]
        try:
            self._operation("sync", name)
        except DiskError:
            # The kernel forgets that these pages have to be written; what it says next time is true of others only.
            content.doubtful += content.pending
            content.pending = []
            raise
        self._done()
        if not self.power.lying_sync:
            content.sync()

    def drop_cached(self, file: int, octets: int) -> None:
        _, content, _ = self._open[file]
        if not content.pending:
            content.dropped = octets

    def sync_folder(self) -> None:
        self._operation("sync_folder", "")
        self._done()
        if not self.power.lying_folder:
            self._durable = dict(self.files)
            self._pending = []

    def rename(self, old: str, new: str) -> None:
        self._operation("rename", old)
        if old not in self.files:
            raise DiskError("rename", old, errnos.ENOENT)
        file = self.files[old]
        rename(self.files, old, new, file)
        self._pending.append((old, new, file))
        self._done()

    def unlink(self, name: str) -> None:
        self._operation("unlink", name)
        if name not in self.files:
            raise DiskError("unlink", name, errnos.ENOENT)
        del self.files[name]
        self._pending.append(("", name, None))
        self._done()

    def free_octets(self) -> int:
        self._operation("free_octets", "", counted=False)
        return max(0, self.power.capacity - sum(len(file.seen) for file in self.files.values()))

    def size_of(self, name: str) -> int:
        file = self.open(name)
        self.close(file)
        return len(self.files[name].seen)

    def read_file(self, name: str) -> bytes:
        file = self.open(name)
        try:
            return self.read_at(file, 0, self.size(file))
        finally:
            self.close(file)

    def write_file(self, name: str, octets: bytes) -> None:
        new = name + NEW_SUFFIX
        if new in self.files:
            file = self.open(new, write=True)
            self.truncate(file, 0)
        else:
            file = self.create(new)
        try:
            self.write_at(file, 0, octets)
            self.sync(file)
        except Exception:
            self.unlink(new)
            raise
        finally:
            self.close(file)
        self.rename(new, name)
        self.sync_folder()

    def _changing(self, operation: str, file: int) -> tuple[str, File, bool]:
        name, _, write = self._open[file]
        self._operation(operation, name)
        if not write:
            raise DiskError(operation, name, errnos.EBADF)
        return self._open[file]


def rename(names: dict[str, File], old: str, new: str, file: File | None) -> None:
    """Let `new` be the name of `file`, of nothing if it was unlinked, and `old` no more."""
    names.pop(old, None)
    if file is None:
        names.pop(new, None)
    else:
        names[new] = file
