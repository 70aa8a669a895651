"""The contents of the broker's own streams: its events in amq.pybroker.events, its telemetry in amq.pybroker.telemetry.

Both are collected as they come, and published once a second, some at a time. A message is what a line of the audit log,
or of a file of the telemetry, is. A table of which rows were dropped has a row in the table `gap`.
"""

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import gevent

from pybroker.core.events.audit import Entry, document, is_logged, stamp
from pybroker.daemon.telemetry.files import VERSION, encode_rows
from pybroker.daemon.telemetry.gaps import DISK, OVERFLOW, Gaps, Row
from pybroker.daemon.telemetry.own_stream import OwnStream
from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.events.cause import Cause
    from pybroker.daemon.telemetry.writer import Job

    # Rows of a table that were dropped: since when, how many, and the head of the last ones.
    Lost = tuple[int, int, str]

EVENTS: Final = "amq.pybroker.events"
TELEMETRY: Final = "amq.pybroker.telemetry"
# The routing key of events; that of telemetry is the table.
EVENT_KEY: Final = "event"
# Tells of events that are missing, as in the audit log.
DROPPED: Final = "audit.dropped"
GAP_TABLE: Final = "gap"
LOOK_S: Final = 1.0
# Messages published in one go, and how long others go on then: a millisecond or so.
SLICE: Final = 100
PAUSE_S: Final = 0.01
# Events, and rows, that wait to be published; further ones are dropped. A row has half a kilobyte.
WAITING_EVENTS_MAX: Final = 10_000
WAITING_ROWS_MAX: Final = 100_000
# Events published in a second: what they cost stays below a hundredth of a core.
EVENTS_MAX: Final = 300
# How long a stop waits, all in all, for the disk to take what it publishes.
STOP_S_MAX: Final = 5.0

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode

log = logging.getLogger("pybroker")


class OwnStreams:
    """Both streams. `take_event` and `take_rows` collect."""

    __slots__ = (
        "_broker",
        "_events",
        "_events_lost",
        "_from_ms",
        "_gaps",
        "_head",
        "_is_open",
        "_is_stopped",
        "_job",
        "_jobs",
        "_lines",
        "_lost",
        "_node",
        "_rows_waiting",
        "events",
        "telemetry",
    )

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._node = json.dumps(broker.settings.node_name)
        self.events = OwnStream(broker, EVENTS)
        self.telemetry = OwnStream(broker, TELEMETRY)
        self._events: deque[Entry] = deque()
        self._events_lost = 0  # since the last time that none waited
        self._jobs: deque[Job] = deque()
        self._job: Job | None = None  # the last one begun
        self._lines: list[bytes] = []  # of its table, not published yet; the first one is of this time
        self._from_ms = 0
        self._rows_waiting = 0
        self._lost: dict[str, Lost] = {}
        self._head = ""
        self._is_open = self._is_stopped = False
        self._gaps = Gaps(self._publish_gaps)
        broker.events.add_receiver(self.take_event)

    @property
    def figures(self) -> dict[str, int]:
        """Return how many messages were published and dropped."""
        both = (self.events, self.telemetry)
        return {"published": sum([each.published for each in both]), "dropped": sum([each.dropped for each in both])}

    def open(self) -> None:
        """Make those that are missing."""
        self.events.open()
        self.telemetry.open()
        self._is_open = True

    def take_event(self, name: str, facts: Mapping[str, Any], cause: "Cause | None", more: Mapping[str, Any]) -> None:
        """Collect an event, if it is one of the audit log's."""
        if not is_logged(name, facts):
            return
        if len(self._events) >= WAITING_EVENTS_MAX:
            self.events.dropped += 1
            if not self._events_lost:
                text = "stream %s lacks events from now on: %d wait to be published"
                log.warning(text, EVENTS, WAITING_EVENTS_MAX, extra=event("telemetry.events_dropped"))
            self._events_lost += 1
            return
        self._events.append(Entry(self._broker.clock.timestamp_ms, name, facts, cause, more))

    def take_rows(self, job: "Job") -> None:
        """Collect rows of the telemetry."""
        if self._is_stopped:
            return
        # Once rows are dropped, all are until those before them are published: the gap is behind these.
        if self._lost or self._rows_waiting + job.count > WAITING_ROWS_MAX:
            self.telemetry.dropped += job.count
            since_ms, count, _ = self._lost.get(job.table, (job.timestamp_ms, 0, ""))
            self._lost[job.table] = since_ms, count + job.count, job.head
        else:
            self._rows_waiting += job.count
            self._jobs.append(job)

    def run_events(self) -> None:
        """Publish events until `stop` has published the rest: the log is closed behind it."""
        while not self._is_stopped:
            gevent.sleep(LOOK_S)
            self.flush_events(EVENTS_MAX, _pause)

    def run_rows(self) -> None:
        """Publish rows until `stop` has published the rest. These may take long, and events do not wait for them."""
        while not self._is_stopped:
            gevent.sleep(LOOK_S)
            self.flush_rows(_pause)

    def stop(self) -> None:
        """Publish what is left, as the disk takes it, and collect nothing more."""
        self._broker.events.remove_receiver(self.take_event)
        self._is_stopped = True
        if not self._is_open:  # the start failed before
            return
        ends_s = time.monotonic() + STOP_S_MAX

        def wait() -> None:
            while not (self.events.has_room and self.telemetry.has_room) and time.monotonic() < ends_s:
                gevent.sleep(PAUSE_S)

        self.flush_events(WAITING_EVENTS_MAX, wait)
        self.flush_rows(wait)
        self._gaps.end_all(self._broker.clock.timestamp_ms)

    def flush_events(self, events_max: int, pause: Callable[[], object]) -> None:
        """Publish events that were collected, so many at most; others go on, or stop all this, between two slices."""
        try:
            left = min(len(self._events), events_max)
            while count := min(SLICE, left, len(self._events)):
                left -= count
                entries = [self._events.popleft() for _ in range(count)]
                self.events.publish(EVENT_KEY, [(entry.event, self._body(entry)) for entry in entries])
                pause()
            if self._events_lost and not self._events:
                self._publish_loss()
        except Exception:
            # A bug in one message: the next ones are to be published.
            log.exception("the broker's own streams failed", extra=event(BUG))

    def flush_rows(self, pause: Callable[[], object]) -> None:
        """Publish all rows that were collected; others go on, or stop all this, between two slices."""
        try:
            while self._jobs or self._lines:
                self._publish_rows()
                pause()
            lost, self._lost = self._lost, {}
            for table, (since_ms, rows, head) in lost.items():
                self._begin_gap(table, since_ms, OVERFLOW, rows, head)
        except Exception:
            # As above.
            log.exception("the broker's own streams failed", extra=event(BUG))

    def _publish_loss(self) -> None:
        """Publish how many events are missing in front of this, as the audit log does."""
        now_ms, lost, self._events_lost = self._broker.clock.timestamp_ms, self._events_lost, 0
        members = _encode({"time": stamp(now_ms), "event": DROPPED, "count": lost})[1:]
        self.events.publish(EVENT_KEY, [(DROPPED, self._head_of(now_ms) + members.encode())])
        log.warning("stream %s has events again; %d are missing", EVENTS, lost, extra=event("telemetry.events_resumed"))

    def _body(self, entry: Entry) -> bytes:
        return self._head_of(entry.timestamp_ms) + _encode(document(entry))[1:].encode()

    def _head_of(self, timestamp_ms: int) -> bytes:
        return f'{{"v":{VERSION},"ts":{timestamp_ms},"node":{self._node},'.encode()

    def _publish_rows(self) -> None:
        """Publish a slice of rows of one table: of a long job, or of some short ones."""
        while self._jobs and len(self._lines) < SLICE and not (self._lines and self._jobs[0].table != self._table):
            if not self._lines:
                self._from_ms = self._jobs[0].timestamp_ms
            self._job = self._jobs.popleft()
            self._rows_waiting -= self._job.count
            # Mostly encoded already, by the thread that writes the files.
            self._lines += self._job.octets().splitlines()
        assert self._job is not None
        job, from_ms, some = self._job, self._from_ms, self._lines[:SLICE]
        self._lines, self._from_ms = self._lines[SLICE:], job.timestamp_ms
        if self.telemetry.publish(job.table, [(job.table, line) for line in some]):
            self._head = job.head
            self._gaps.end(job.table, from_ms)
        else:
            self._begin_gap(job.table, from_ms, DISK, len(some), job.head)

    @property
    def _table(self) -> str:
        return "" if self._job is None else self._job.table

    def _begin_gap(self, table: str, from_ms: int, why: str, rows: int, head: str) -> None:
        self._head = head
        self._gaps.begin(table, from_ms, why, rows)

    def _publish_gaps(self, rows: list[Row]) -> None:
        if rows[0]["to_ms"] is not None:  # a row about its beginning would be dropped as well
            lines = encode_rows(self._head, list(rows)).splitlines()
            self.telemetry.publish(GAP_TABLE, [(GAP_TABLE, line) for line in lines], waits=False)


def _pause() -> None:
    gevent.sleep(PAUSE_S)
