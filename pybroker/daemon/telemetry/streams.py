"""The contents of the broker's own streams: its events in amq.pybroker.events, its telemetry in amq.pybroker.telemetry.

Both are collected as they come, and published once a second, some at a time. A message is what a line of the audit log,
or of a file of the telemetry, is. A table of which rows were dropped has a row in the table `gap`.
"""

import json
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import gevent

from pybroker.core.events.audit import Entry, document, is_logged
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

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode

log = logging.getLogger("pybroker")


class OwnStreams:
    """Both streams. `take_event` and `take_rows` collect."""

    __slots__ = (
        "_broker",
        "_events",
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
        self._jobs: deque[Job] = deque()
        self._job: Job | None = None  # that was begun, and its lines that are not published yet
        self._lines: list[bytes] = []
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

    def run(self) -> None:
        """Publish until `stop` has published the rest: the log is closed behind it."""
        while not self._is_stopped:
            gevent.sleep(LOOK_S)
            self.flush(EVENTS_MAX, lambda: gevent.sleep(PAUSE_S))

    def stop(self) -> None:
        """Publish what is left, and collect nothing more."""
        self._broker.events.remove_receiver(self.take_event)
        self._is_stopped = True
        if self._is_open:  # the start may have failed before
            self.flush(WAITING_EVENTS_MAX, lambda: None)

    def flush(self, events_max: int, pause: Callable[[], object]) -> None:
        """Publish what was collected, of events so many at most; others go on, or stop all this, between two slices."""
        try:
            left = min(len(self._events), events_max)
            while count := min(SLICE, left, len(self._events)):
                left -= count
                entries = [self._events.popleft() for _ in range(count)]
                self.events.publish(EVENT_KEY, [(entry.event, self._body(entry)) for entry in entries])
                pause()
            while self._jobs or self._lines:
                self._publish_rows()
                pause()
            lost, self._lost = self._lost, {}
            for table, (since_ms, rows, head) in lost.items():
                self._begin_gap(table, since_ms, OVERFLOW, rows, head)
        except Exception:
            # A bug in one message: the next ones are to be published.
            log.exception("the broker's own streams failed", extra=event(BUG))

    def _body(self, entry: Entry) -> bytes:
        members = _encode(document(entry))[1:]
        return f'{{"v":{VERSION},"ts":{entry.timestamp_ms},"node":{self._node},{members}'.encode()

    def _publish_rows(self) -> None:
        """Publish a slice of the job that is begun, or of the next one."""
        if not self._lines:
            self._job = self._jobs.popleft()
            self._rows_waiting -= self._job.count
            # Mostly encoded already, by the thread that writes the files.
            self._lines = self._job.octets().splitlines()
        assert self._job is not None
        job, some, self._lines = self._job, self._lines[:SLICE], self._lines[SLICE:]
        if self.telemetry.publish(job.table, [(job.table, line) for line in some]):
            self._head = job.head
            self._gaps.end(job.table, job.timestamp_ms)
        else:
            self._begin_gap(job.table, job.timestamp_ms, DISK, len(some), job.head)

    def _begin_gap(self, table: str, from_ms: int, why: str, rows: int, head: str) -> None:
        self._head = head
        self._gaps.begin(table, from_ms, why, rows)

    def _publish_gaps(self, rows: list[Row]) -> None:
        if rows[0]["to_ms"] is not None:  # a row about its beginning would be dropped as well
            lines = encode_rows(self._head, list(rows)).splitlines()
            self.telemetry.publish(GAP_TABLE, [(GAP_TABLE, line) for line in lines])
