"""The audit log: `NODENAME-audit.log` beside the node's log, one JSON object a line (core/events/audit.py).

A thread of its own writes: the loop puts lines into a queue and goes on. Lines that come faster than the disk takes
them are dropped and counted, and the log reports the number. The loop makes the lines, each in some microseconds: a
thread that makes them would keep the interpreter from it for longer.
"""

import errno
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final

from pybroker.clock import Clock
from pybroker.core.events.audit import Entry, is_logged, line, stamp
from pybroker.core.events.cause import Cause
from pybroker.daemon.start_error import refused_by_system
from pybroker.log_event import BUG, event

# Entries that wait for the thread: some ten megabytes of usual ones, and seconds of the worst churn.
WAITING_MAX: Final = 20_000
# How long the thread gathers: a write for each entry would wake it, and take the loop's turn, each time.
GATHER_S: Final = 0.1
WARN_S: Final = 60.0
# Octets that are read of the file's end at a time, and at most: some forty thousand entries.
BLOCK_OCTETS: Final = 32_768
READ_OCTETS_MAX: Final = 16_777_216
# After each: a block is a millisecond or two of parsing. With none gevent comes back dozens of times before it looks at
# a socket, and a whole file stood in everybody's way for a second.
BLOCK_PAUSE_S: Final = 0.002
# How long a stop waits for a disk that does not answer.
STOP_S_MAX: Final = 5.0
# How long a reader waits for what is not written yet.
SYNC_S_MAX: Final = 2.0
SYNC_PAUSE_S: Final = 0.005

log = logging.getLogger("pybroker")


class AuditLog:
    """`record` is called on the loop, `_write` runs in the thread; only one of them increases each counter."""

    __slots__ = (
        "_clock",
        "_dropped",
        "_file",
        "_lost",
        "_path",
        "_queue",
        "_reopen",
        "_thread",
        "_told",
        "_torn",
        "_warned_s",
        "taken",
        "written",
    )

    def __init__(self, path: Path, clock: Clock) -> None:
        """Open the file to append to it.

        Raises:
            StartError: it cannot be opened.

        """
        self._path = path
        self._clock = clock
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._reopen = False
        self._dropped = self.taken = self.written = 0
        self._lost = 0  # entries that the disk did not take, of which the log does not know
        self._told = 0  # dropped ones of which it does
        self._torn = b""  # what ends a line that the disk took half of
        self._warned_s = 0.0
        try:
            path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
            self._file = _open(path)
        except OSError as error:
            raise refused_by_system(f"cannot write the audit log {path}", error) from None
        self._thread = Thread(target=self._work, name="audit", daemon=True)
        self._thread.start()

    def record(self, event: str, facts: Mapping[str, Any], cause: Cause | None, more: Mapping[str, Any]) -> None:
        """Have an event written, if it is one of the log's."""
        if not is_logged(event, facts):
            return
        if self.taken - self.written >= WAITING_MAX:
            self._dropped += 1
            return
        self.taken += 1
        self._queue.put(_line(Entry(self._clock.timestamp_ms, event, facts, cause, more)))

    def reopen(self) -> None:
        """Write into the file that has the name now, after something moved the old one away."""
        self._reopen = True

    def close(self) -> None:
        """Return when everything is written; a disk that does not answer is given up on. Idempotent."""
        if self._file < 0:
            return
        self._queue.put(None)
        self._thread.join(STOP_S_MAX)
        if self._thread.is_alive():
            # Its file stays open: the number may be another file's while the thread still writes.
            extra = event("audit.file_failed")
            log.warning("the disk of the audit log does not respond: its last entries may be lost", extra=extra)
            return
        os.close(self._file)
        self._file = -1

    def lines(self, pause: Callable[[float], object]) -> Iterator[bytes]:
        """Yield the lines of the file from the last one back, others going on meanwhile. Raises OSError."""
        waited_s = 0.0
        wanted = self.taken
        while self.written < wanted and waited_s < SYNC_S_MAX:
            pause(SYNC_PAUSE_S)
            waited_s += SYNC_PAUSE_S
        if not self._path.is_file():
            raise OSError(errno.ESPIPE, "only a regular file can be read back")
        with self._path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            first = max(0, end - READ_OCTETS_MAX)
            begun = b""
            while end > first:
                start = max(first, end - BLOCK_OCTETS)
                file.seek(start)
                begun, *whole = (file.read(end - start) + begun).split(b"\n")
                yield from (each for each in reversed(whole) if each)
                end = start
                pause(BLOCK_PAUSE_S)
            if begun and not first:
                yield begun

    # -- in the thread ------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        ended = False
        while not ended:
            lines = [self._queue.get()]
            if lines[0] is not None:
                time.sleep(GATHER_S)
            while True:
                try:
                    lines.append(self._queue.get_nowait())
                except Empty:
                    break
            ended = None in lines
            wanted = [each for each in lines if each is not None]
            try:
                self._write(wanted)
            except Exception:
                # Go on with the next ones, whatever the error.
                log.exception("the audit log failed", extra=event(BUG))
            finally:
                self.written += len(wanted)

    def _write(self, lines: list[str]) -> None:
        if self._reopen:
            self._reopen = False
            self._open_anew()
        dropped = self._dropped
        text = "".join(lines)
        lost = self._lost + dropped - self._told
        if lost:
            text += f'{{"time":"{stamp(time.time_ns() // 1_000_000)}","event":"audit.dropped","count":{lost}}}\n'
        octets, taken = self._torn + text.encode(), 0
        try:
            while taken < len(octets):
                taken += os.write(self._file, octets[taken:] if taken else octets)
        except OSError as error:
            whole = octets[:taken].count(b"\n") - (self._torn != b"" and taken > 0)
            self._lost += max(0, len(lines) - whole)
            self._cut(octets[:taken])
            if time.monotonic() - self._warned_s >= WARN_S:
                self._warned_s = time.monotonic()
                extra = event("audit.file_failed")
                log.warning("the audit log cannot be written: %s; entries are lost", error, extra=extra)
            return
        self._torn, self._lost, self._told = b"", 0, dropped

    def _cut(self, taken: bytes) -> None:
        """Take the beginning of a line off the file that the disk took of these octets; else a next line ends it."""
        torn = len(taken) - taken.rfind(b"\n") - 1
        if not torn:
            return
        try:
            os.ftruncate(self._file, os.fstat(self._file).st_size - torn)
            self._torn = b""
        except OSError:
            self._torn = b"\n"

    def _open_anew(self) -> None:
        try:
            file = _open(self._path)
        except OSError as error:
            extra = event("audit.reopen_failed")
            log.warning("cannot reopen the audit log: %s; continuing with the old file", error, extra=extra)
            return
        os.close(self._file)
        self._file = file


def _line(entry: Entry) -> str:
    """Return an entry's line; none if that fails, since a bug there must cost nothing else."""
    try:
        return line(entry)
    except Exception:
        log.exception("the audit log failed", extra=event(BUG))
        return ""


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
