"""The thread that writes the telemetry's files, so that a slow disk costs nobody but the telemetry.

Rows that cannot be written wait, those of each table in line, and are tried again at every tick. So what a disk refused
comes late, not never. As much as may wait is bounded; any more is dropped, which the caller learns at once.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final

from pybroker.daemon.telemetry.files import TelemetryFiles, encode_rows
from pybroker.daemon.threads import in_short_turns
from pybroker.log_event import BUG, event

# Rows that wait for the disk; any more are dropped and counted.
WAITING_ROWS_MAX: Final = 50_000
# On top of these, of what is brief and matters: alarms, losses, gaps.
BRIEF_ROWS_MAX: Final = 10_000
# With more that wait the thread does not let others go on meanwhile: a loop with much to do would not let it keep up.
CALM_ROWS_MAX: Final = 2_000
# How long a stop waits for a disk that does not answer.
STOP_S_MAX: Final = 5.0

log = logging.getLogger("pybroker")


class Job:
    """So many rows (`count`) to be written, `head` in front of the members of each; without a table it is a tick."""

    __slots__ = ("_octets", "_rows", "count", "head", "table", "timestamp_ms")

    def __init__(self, table: str, timestamp_ms: int, head: str, rows: list[Mapping[str, Any]]) -> None:
        self.table = table
        self.timestamp_ms = timestamp_ms
        self.head = head
        self.count = len(rows)
        self._rows = rows
        self._octets: bytes | None = None

    def octets(self, *, in_turns: bool = False) -> bytes:
        """Return a line for each row; a thread may let the loop go on meanwhile (`in_turns`).

        Encoded once, unless two threads ask at a time; the rows are let go then.
        """
        rows = self._rows  # first: the other thread sets the octets before it lets the rows go
        octets = self._octets
        if octets is None:
            octets = self._octets = encode_rows(self.head, in_short_turns(rows) if in_turns else rows)
            self._rows = []
        return octets


class Writer:
    """The thread. `write` never waits: excess rows are dropped and counted. A `mirror` gets what is given as well."""

    __slots__ = ("_done", "_files", "_jobs", "_mirror", "_stuck", "_thread", "rows_dropped", "rows_given")

    def __init__(self, files: TelemetryFiles, mirror: Callable[[Job], object] | None = None) -> None:
        self._files = files
        self._mirror = mirror
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._stuck: dict[str, deque[Job]] = {}
        self._done = 0  # rows that do not wait any more; the thread's own
        self.rows_given = 0
        self.rows_dropped = 0
        self._thread = Thread(target=self._work, name="telemetry", daemon=True)
        self._thread.start()

    @property
    def rows_waiting(self) -> int:
        """Return how many rows were given and are not written."""
        return self.rows_given - self._done

    @property
    def has_room(self) -> bool:
        """Tell whether the disk follows: nothing is tried again, and not too much waits."""
        return not self._stuck and self.rows_waiting < WAITING_ROWS_MAX

    @property
    def is_short(self) -> bool:
        """Tell whether the disk is near its limit, so that less should be written."""
        return self._files.is_short

    @property
    def is_scant(self) -> bool:
        """Tell whether only what is brief and matters can be written."""
        return self._files.is_scant

    @property
    def octets(self) -> int:
        """Return how many octets were written."""
        return self._files.octets

    def write(
        self, table: str, timestamp_ms: int, head: str, rows: list[Mapping[str, Any]], *, brief: bool = False
    ) -> bool:
        """Have rows written; they are not to be changed any more. False if too many wait: these are dropped."""
        waiting = self.rows_waiting
        if waiting and waiting + len(rows) > WAITING_ROWS_MAX + BRIEF_ROWS_MAX * brief:
            self.rows_dropped += len(rows)
            return False
        self.rows_given += len(rows)
        job = Job(table, timestamp_ms, head, rows)
        self._jobs.put(job)
        if self._mirror is not None:
            self._mirror(job)
        return True

    def tick(self, timestamp_ms: int) -> None:
        """Have files closed whose hour is over, and what waits tried again."""
        self._jobs.put(Job("", timestamp_ms, "", []))

    def retain(self, days: int) -> None:
        """Keep files for so many days from now on."""
        self._files.retain(days)

    def stop(self) -> None:
        """Write what is left and close the files; a disk that does not answer is given up on."""
        self._jobs.put(None)
        self._thread.join(STOP_S_MAX)

    def _work(self) -> None:
        self._protected(self._files.adopt)
        while (job := self._jobs.get()) is not None:
            self._protected(self._do, job)
        for table in list(self._stuck):
            self._protected(self._retry, table)
        self._files.close()

    def _protected(self, do: Any, *given: Any) -> None:
        try:
            do(*given)
        except Exception:
            # A bug, or a file that cannot even be closed: the next rows are to be written.
            log.exception("the telemetry's files failed", extra=event(BUG))

    def _do(self, job: Job) -> None:
        if not job.table:
            for table in list(self._stuck):
                self._retry(table)
            self._files.tick(job.timestamp_ms)
        elif job.table in self._stuck:
            self._stuck[job.table].append(job)
        else:
            error = self._write(job)
            if error:
                self._stuck[job.table] = deque([job])
                extra = event("telemetry.file_failed")
                log.warning("telemetry of %s could not be written: %s", job.table, error, extra=extra)

    def _retry(self, table: str) -> None:
        line = self._stuck[table]
        while line and not self._write(line[0]):
            line.popleft()
        if not line:
            del self._stuck[table]
            log.warning("telemetry of %s is written again", table, extra=event("telemetry.file_mended"))

    def _write(self, job: Job) -> str:
        """Return what is in the way, if anything."""
        try:
            octets = job.octets(in_turns=self.rows_waiting <= CALM_ROWS_MAX)
            self._files.write(job.table, job.timestamp_ms, octets)
        except OSError as error:
            return error.strerror or str(error)
        except Exception:
            # A bug in one row: it must not hold up the others.
            log.exception("the telemetry's files failed", extra=event(BUG))
        self._done += job.count
        return ""
