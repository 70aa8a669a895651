"""The telemetry's files: rows become lines of `<table>/<YYYYMMDDTHH>.<seq>.<node>.ndjson`, one file an hour and table.

The node is in the name so that files of several nodes may be read into one warehouse. A file that is still written to
ends in `.open`; it gets its name when its hour is over, when it is large enough, and at a stop. Old ones are removed.
While the disk is near its limit, all that is written comes out of the `reserve`. Knows no broker; `writer` has the
thread all this happens in.
"""

import errno
import json
import logging
import os
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pybroker.daemon.telemetry.reserve import Reserve
from pybroker.log_event import event

SUFFIX: Final = ".ndjson"
OPEN: Final = ".open"
FILE_OCTETS_MAX: Final = 64 << 20
DAY_S: Final = 86_400
# A file takes this much of the disk on top of its lines: the rest of its last block.
BLOCK_OCTETS: Final = 4096
VERSION: Final = 1
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9@_.-]")

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode

log = logging.getLogger("pybroker")


def encode_rows(head: str, rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a line for each row, `head` in front of its members."""
    return "".join([f"{head},{_encode(row)[1:]}\n" for row in rows]).encode(errors="replace")


class TelemetryFiles:
    """One open file for each table. `octets` counts what was written. Not safe for two threads."""

    __slots__ = ("_files", "_folder", "_octets_max", "_reserve", "_retention_s", "_suffix", "_was_short", "octets")

    def __init__(
        self, folder: Path, node: str, reserve: Reserve, retention_days: int, octets_max: int = FILE_OCTETS_MAX
    ) -> None:
        self._folder = folder
        self._suffix = f".{_UNSAFE.sub('_', node)}{SUFFIX}{OPEN}"
        self._reserve = reserve
        self._octets_max = octets_max
        self._retention_s = retention_days * DAY_S
        self._files: dict[str, _File] = {}
        self._was_short = False
        self.octets = 0

    @property
    def is_short(self) -> bool:
        """Tell whether the disk is near its limit."""
        return self._reserve.is_short

    @property
    def is_scant(self) -> bool:
        """Tell whether that is so and half of the reserve is gone: only what is brief and matters is to be written."""
        return self._reserve.is_short and self._reserve.octets < self._reserve.octets_max // 2

    def write(self, table: str, timestamp_ms: int, octets: bytes) -> None:
        """Write lines. Raises OSError; nothing is written then."""
        self._look()
        file = self._files.get(table)
        is_new = file is None or file.hour != _hour(timestamp_ms)
        if self.is_short and not self._reserve.release(len(octets) + BLOCK_OCTETS * is_new):
            raise OSError(0, "free disk space is near its limit, and the reserve is used up")
        file = self._file(table, timestamp_ms)
        try:
            file.write(octets)
        except OSError as error:
            if error.errno != errno.ENOSPC:  # another file may fare better
                self._close(table)
            raise
        self.octets += len(octets)
        if file.octets >= self._octets_max:
            self._close(table)

    def tick(self, timestamp_ms: int) -> None:
        """Close the files of hours that are over, and remove those that are too old."""
        for table, file in list(self._files.items()):
            if file.hour != _hour(timestamp_ms):
                self._close(table)
                self.expire(timestamp_ms)

    def retain(self, days: int) -> None:
        """Keep closed files for so many days."""
        self._retention_s = days * DAY_S

    def expire(self, timestamp_ms: int) -> None:
        """Remove closed files that were written to longest ago, by the days they are kept."""
        for path in self._folder.glob(f"*/*{SUFFIX}"):
            try:
                if path.stat().st_mtime < timestamp_ms / 1000 - self._retention_s:
                    path.unlink()
            except OSError as error:
                extra = event("telemetry.file_failed")
                log.warning("the telemetry file %s could not be removed: %s", path, error.strerror, extra=extra)

    def close(self) -> None:
        """Close every file."""
        for table in list(self._files):
            self._close(table)

    def adopt(self) -> None:
        """Give files their names that a kill left open: their last line may be cut. Raises OSError for the reserve."""
        for path in self._folder.glob(f"*/*{SUFFIX}{OPEN}"):
            _give_name(path)
        self._reserve.open()

    def _look(self) -> None:
        self._reserve.measure()
        if self._was_short != self.is_short:
            self._was_short = self.is_short
            if self.is_short:
                extra = event("telemetry.suspended")
                log.warning("telemetry writes less: free disk space is near its limit", extra=extra)
            else:
                log.warning("telemetry resumes", extra=event("telemetry.resumed"))

    def _file(self, table: str, timestamp_ms: int) -> "_File":
        hour = _hour(timestamp_ms)
        file = self._files.get(table)
        if file is not None and file.hour != hour:
            self._close(table)
            file = None
        if file is None:
            folder = self._folder / table
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            taken = [path.name.split(".")[1] for path in folder.glob(f"{hour}.*")]
            seq = max((int(each) for each in taken if each.isdecimal()), default=0) + 1
            file = self._files[table] = _File(folder / f"{hour}.{seq:04d}{self._suffix}", hour)
        return file

    def _close(self, table: str) -> None:
        file = self._files.pop(table, None)
        if file is not None:
            file.close()


class _File:
    """A file that is written to."""

    __slots__ = ("_descriptor", "_path", "hour", "octets")

    def __init__(self, path: Path, hour: str) -> None:
        self._path = path
        self.hour = hour
        self.octets = 0
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, octets: bytes) -> None:
        """Append octets. Raises OSError; the file is as it was then."""
        left = memoryview(octets)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            os.ftruncate(self._descriptor, self.octets)
            raise
        self.octets += len(octets)

    def close(self) -> None:
        """Give the file its name."""
        os.close(self._descriptor)
        _give_name(self._path)


def _give_name(path: Path) -> None:
    try:
        path.rename(path.with_suffix(""))
    except OSError as error:
        extra = event("telemetry.file_failed")
        log.warning("the telemetry file %s could not be renamed: %s", path, error.strerror, extra=extra)


def _hour(timestamp_ms: int) -> str:
    return time.strftime("%Y%m%dT%H", time.gmtime(timestamp_ms / 1000))
