"""Fault: one error that a life of the node meets: at the n-th line run in store/, or at the n-th call of a seam."""

import errno
import linecache
import random
import sqlite3
import sys
from functools import cache
from pathlib import Path
from typing import ClassVar

from greenlet import getcurrent

import pybroker.core.stream
import pybroker.store
from pybroker.store.definitions.row_file import RowFileError
from pybroker.store.disk import DiskError

STORE = (str(Path(pybroker.store.__file__).parent), str(Path(pybroker.core.stream.__file__).parent))
# Faults that cost the caller only this one request, whatever it was doing.
SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
DISK_ERRORS = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.ENOMEM, errno.EACCES)
KINDS = ("line", "disk", "rows", "submit")


class Fault:
    """`kind` is one of KINDS, empty: none; it strikes at the `at`-th line or call once it is `armed`.

    `hit` says where it struck, `hits` has the lines of all lives of this process.
    """

    hits: ClassVar[dict[tuple[str, int], int]] = {}

    def __init__(self, kind: str = "", at: int = 0, error: object = None) -> None:
        self.kind = kind
        self.left = at
        self.error = error
        self.hit = ""
        self.armed = False

    @classmethod
    def draw(cls, rng: random.Random, kinds: tuple[str, ...]) -> "Fault":
        """Return one of these kinds."""
        kind = rng.choice(kinds)
        if kind == "line":
            error: object = rng.choice((MemoryError(), MemoryError(), OSError(errno.EMFILE, "too many open files")))
            return cls(kind, rng.randrange(1, rng.choice((40, 200))), error)
        if kind == "disk":
            return cls(kind, rng.randrange(1, 40), rng.choice((*DISK_ERRORS, "memory")))
        if kind == "rows":
            return cls(kind, rng.randrange(1, 8), rng.choice((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, "memory")))
        return cls(kind, rng.randrange(1, 10), "memory")

    @property
    def name(self) -> str:
        """Return what it is called in the counts."""
        if self.kind == "disk" and isinstance(self.error, int):
            return f"disk {errno.errorcode[self.error]}"
        if self.kind == "line":
            return f"line {type(self.error).__name__}"
        return f"{self.kind} {'MemoryError' if self.error == 'memory' else self.error}"

    @property
    def shortage(self) -> bool:
        """Tell whether what it meant was no damage: it goes by, and what was to be read is still there."""
        return self.kind != "disk" or self.error != errno.EIO

    # -- calls ---------------------------------------------------------------------------------------------------------

    def call(self, kind: str, name: str, on: str) -> None:
        """Learn of a call of this kind; raise if it is the one."""
        if self.hit or kind != self.kind or not self.armed:
            return
        self.left -= 1
        if self.left > 0:
            return
        self.hit = f"{name} {on}"
        if self.error == "memory":
            raise MemoryError
        assert isinstance(self.error, int)
        if kind == "disk":
            raise DiskError(name, on, self.error)
        error = sqlite3.OperationalError("simulated")
        error.sqlite_errorcode = self.error
        raise RowFileError("write", error)

    # -- lines ---------------------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """Count lines from here on, in the frames that are there too."""
        if self.kind != "line" or self.hit or not self.armed:
            return
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename.startswith(STORE):
                frame.f_trace = self._line
            frame = frame.f_back
        sys.settrace(self._enter)

    def look_away(self) -> None:
        """Count no lines for now."""
        if self.kind == "line" and self.armed:
            sys.settrace(None)

    def _may_strike(self, frame) -> bool:
        """Tell whether the error can come of this line: the system is called in threads' jobs, never on the hub."""
        if isinstance(self.error, OSError) and getcurrent().parent is None:
            return False
        return not _only_opens(frame.f_code.co_filename, frame.f_lineno)

    def _enter(self, frame, event, argument):
        return self._line if frame.f_code.co_filename.startswith(STORE) else None

    def _line(self, frame, event, argument):
        if event == "line" and not self.hit and self._may_strike(frame):
            self.left -= 1
            if self.left <= 0:
                at = Path(frame.f_code.co_filename).name, frame.f_lineno
                self.hit = f"{at[0]}:{at[1]} {frame.f_code.co_qualname}"
                self.hits[at] = self.hits.get(at, 0) + 1
                sys.settrace(None)
                assert isinstance(self.error, BaseException)
                raise type(self.error)(*self.error.args)
        return self._line


@cache
def _only_opens(path: str, line: int) -> bool:
    """Tell whether a line does nothing by itself, so that nothing can go wrong in it."""
    return linecache.getline(path, line).strip() == "try:"
