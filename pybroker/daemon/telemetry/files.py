"""The telemetry's files: rows become lines of `<table>/<YYYYMMDDTHH>.<seq>.ndjson`, one file an hour and table.

A file that is still written to ends in `.open`; it gets its name when its hour is over, when it is large enough, and at
a stop. Old ones are removed. Nothing is written where the disk is near its limit. Knows no broker; `Writer` is the
thread all this happens in, so that a slow disk costs nobody but the telemetry.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final

from pybroker.log_event import BUG, event

SUFFIX: Final = ".ndjson"
OPEN: Final = ".open"
FILE_OCTETS_MAX: Final = 64 << 20
# Rows that wait for the disk; any more are dropped and counted.
WAITING_ROWS_MAX: Final = 50_000
DAY_S: Final = 86_400
# How long a stop waits for a disk that does not answer.
STOP_S_MAX: Final = 5.0
VERSION: Final = 1

Rows = Iterable[Mapping[str, Any]]
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode

log = logging.getLogger("pybroker")


class TelemetryFiles:
    """One open file for each table. `is_room` tells whether the disk has room for what nobody needs to run.

    `rows_dropped` counts rows that were not written, `octets` what was. Not safe for two threads.
    """

    __slots__ = ("_files", "_folder", "_is_full", "_is_room", "_octets_max", "_retention_s", "octets", "rows_dropped")

    def __init__(
        self, folder: Path, is_room: Callable[[], bool], retention_days: int, octets_max: int = FILE_OCTETS_MAX
    ) -> None:
        self._folder = folder
        self._is_room = is_room
        self._octets_max = octets_max
        self._retention_s = retention_days * DAY_S
        self._files: dict[str, _File] = {}
        self._is_full = False
        self.rows_dropped = 0
        self.octets = 0

    def write(self, table: str, timestamp_ms: int, head: str, rows: list[Mapping[str, Any]]) -> None:
        """Write a line for each row, `head` in front of its members. Drop and count rows that cannot be written."""
        if not self._has_room():
            self.rows_dropped += len(rows)
            return
        lines = [f"{head},{_encode(row)[1:]}\n" for row in rows]
        octets = "".join(lines).encode(errors="replace")
        try:
            file = self._file(table, timestamp_ms)
            file.write(octets)
            self.octets += len(octets)
            if file.octets >= self._octets_max:
                self._close(table)
        except OSError as error:
            self._failed(table, error, len(rows))

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
        """Close every file; one that an earlier start left open gets its name, too."""
        for table in list(self._files):
            self._close(table)

    def adopt(self) -> None:
        """Give files their names that a kill left open: their last line may be cut."""
        for path in self._folder.glob(f"*/*{SUFFIX}{OPEN}"):
            _give_name(path)

    def _has_room(self) -> bool:
        was_full, self._is_full = self._is_full, not self._is_room()
        if self._is_full != was_full:
            if self._is_full:
                extra = event("telemetry.suspended")
                log.warning("telemetry stops: free disk space is near its limit", extra=extra)
                self.close()
            else:
                log.warning("telemetry resumes", extra=event("telemetry.resumed"))
        return not self._is_full

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
            file = self._files[table] = _File(folder / f"{hour}.{seq:04d}{SUFFIX}{OPEN}", hour)
        return file

    def _failed(self, table: str, error: OSError, rows: int) -> None:
        extra = event("telemetry.file_failed")
        log.warning("telemetry of %s could not be written: %s", table, error.strerror, extra=extra)
        self.rows_dropped += rows
        self._close(table)

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
        """Append octets. Raises OSError; a line may be cut then."""
        left = memoryview(octets)
        while left:
            done = os.write(self._descriptor, left)
            self.octets += done
            left = left[done:]

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


class Writer:
    """The thread. `write` never waits: excess rows are dropped and counted."""

    __slots__ = ("_files", "_jobs", "_thread", "_waiting", "rows_dropped", "rows_given")

    def __init__(self, files: TelemetryFiles) -> None:
        self._files = files
        self._jobs: SimpleQueue[tuple[str, int, str, list[Mapping[str, Any]]] | None] = SimpleQueue()
        self._waiting = 0
        self.rows_given = 0
        self.rows_dropped = 0
        self._thread = Thread(target=self._work, name="telemetry", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """Return how many rows were not written, for whatever reason."""
        return self.rows_dropped + self._files.rows_dropped

    @property
    def octets(self) -> int:
        """Return how many octets were written."""
        return self._files.octets

    def write(self, table: str, timestamp_ms: int, head: str, rows: list[Mapping[str, Any]]) -> None:
        """Have rows written; they are not to be changed any more."""
        if self._jobs.qsize() and self._waiting + len(rows) > WAITING_ROWS_MAX:
            self.rows_dropped += len(rows)
            return
        self._waiting += len(rows)
        self.rows_given += len(rows)
        self._jobs.put((table, timestamp_ms, head, rows))

    def tick(self, timestamp_ms: int) -> None:
        """Have files closed whose hour is over."""
        self._jobs.put(("", timestamp_ms, "", []))

    def retain(self, days: int) -> None:
        """Keep files for so many days from now on."""
        self._files.retain(days)

    def stop(self) -> None:
        """Write what is left and close the files; a disk that does not answer is given up on."""
        self._jobs.put(None)
        self._thread.join(STOP_S_MAX)

    def _work(self) -> None:
        self._files.adopt()
        while (job := self._jobs.get()) is not None:
            try:
                self._do(*job)
            except Exception:
                # A bug, or a file that cannot even be closed: the next rows are to be written.
                log.exception("the telemetry's files failed", extra=event(BUG))
        self._files.close()

    def _do(self, table: str, timestamp_ms: int, head: str, rows: list[Mapping[str, Any]]) -> None:
        if not table:
            self._files.tick(timestamp_ms)
            return
        try:
            self._files.write(table, timestamp_ms, head, rows)
        finally:
            # Only ever too high for a moment: rows are dropped a little early then.
            self._waiting = 0 if self._jobs.empty() else self._waiting - len(rows)
