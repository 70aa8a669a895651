"""Telemetry: the node's figures and events as rows in files, for reports over days (pybroker-pipeline(7)).

A greenlet looks once a second at the causes that hold connections back while there is an alarm, and at every interval
at queues, connections and the node: only at changed ones, and at all of them every five minutes. `rows` makes the rows,
and a thread writes them (`writer`). There is no cost per message: `core/stats/drops` counts runs of lost messages.

While the disk is near its limit it looks at queues and connections every five minutes only, and while half of what is
set aside for that is used up, not at all: that is a gap. The node, alarms and losses are told of throughout.
"""

import json
import logging
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

import gevent

from pybroker.core.stats.drops import DropCounts
from pybroker.daemon.resources.disk_monitor import free_octets
from pybroker.daemon.telemetry import rows
from pybroker.daemon.telemetry.blocks import Blocks
from pybroker.daemon.telemetry.ends import Ends
from pybroker.daemon.telemetry.files import VERSION, TelemetryFiles
from pybroker.daemon.telemetry.gaps import DISK, FAILED, OVERFLOW, Gaps
from pybroker.daemon.telemetry.reserve import DISK_LIMIT_TIMES, RESERVE, Reserve
from pybroker.daemon.telemetry.slices import slices
from pybroker.daemon.telemetry.writer import Job, Writer
from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from pybroker.amqp.session import AmqpSession
    from pybroker.core.broker import Broker
    from pybroker.core.queue.queue import Queue
    from pybroker.core.resources.alarm import Alarm

FOLDER: Final = "telemetry"
LOOK_S: Final = 1.0
# Everything, also what nothing happened to.
FULL_MS: Final = 300_000
# While the disk is short, losses are told of this often.
SHORT_MS: Final = 60_000
# The clock was set if it goes on more, or less, than it should by this.
CLOCK_SET_MS: Final = 2_000
QUEUES: Final = "queue_sample"
CONNECTIONS: Final = "connection_sample"
GAPS: Final = "gap"
# Looked at in one go, some tenth of a millisecond: nothing can end between the look at one and its row.
SLICE: Final = 10
# Final rows that are written at a time.
ENDS: Final = 200

log = logging.getLogger("pybroker")


class Seen:
    """The things of a table that were told of: by id, all that is different if something happened to one.

    A look moves them from `known` to `found`; afterwards, those left are gone. `told_ms` is the time of the last look.
    """

    __slots__ = ("found", "known", "told_ms")

    def __init__(self, told_ms: int) -> None:
        self.known: dict[int, Any] = {}
        self.found: dict[int, Any] = {}
        self.told_ms = told_ms

    def __contains__(self, number: object) -> bool:
        return number in self.known or number in self.found

    def finish(self) -> None:
        """Have all that was found known."""
        self.known.update(self.found)
        self.found = {}


class Telemetry:
    """The recorder of the broker's figures. `interval_ms` lies between two looks at everything.

    `pause` lets others go on for so many seconds; for 0, if this has lasted long enough.
    """

    __slots__ = (
        "_alarms",
        "_blocks",
        "_broker",
        "_clock_ahead_ms",
        "_ends",
        "_full_at_ms",
        "_gaps",
        "_has_begun",
        "_head",
        "_lag_ms",
        "_looker",
        "_losses",
        "_losses_at_ms",
        "_pause",
        "_sampled_at_ms",
        "_seen",
        "_seq",
        "_writer",
        "interval_ms",
    )

    def __init__(
        self,
        broker: "Broker",
        data_folder: Path,
        interval_ms: int,
        retention_days: int,
        pause: Callable[[float], object] = gevent.sleep,
        mirror: Callable[[Job], object] | None = None,
    ) -> None:
        self._broker = broker
        self._pause = pause
        self._looker: gevent.Greenlet | None = None
        self.interval_ms = interval_ms
        marks = broker.settings.watermarks

        def spare() -> int:
            return free_octets(data_folder) - int(marks.disk_limit_octets * DISK_LIMIT_TIMES)

        folder = data_folder / FOLDER
        node = broker.settings.node_name
        files = TelemetryFiles(folder, node, Reserve(folder / RESERVE, spare), retention_days)
        self._writer = Writer(files, mirror)
        self._head = f'"node":{json.dumps(node)},"epoch":{broker.epoch}'
        self._seq = 0
        clock = broker.clock
        self._clock_ahead_ms = clock.timestamp_ms - clock.now_ms
        self._seen = {table: Seen(clock.timestamp_ms) for table in (QUEUES, CONNECTIONS)}
        self._ends = {
            QUEUES: Ends(self._seen[QUEUES], rows.other_queues),
            CONNECTIONS: Ends(self._seen[CONNECTIONS], rows.other_sessions),
        }
        self._gaps = Gaps(lambda gaps: self._write(GAPS, gaps, brief=True))
        self._alarms: dict[tuple[str, str], Alarm] = {}
        self._blocks = Blocks(broker, partial(self._write, "block_event"), pause)
        self._lag_ms = 0
        self._has_begun = False
        self._sampled_at_ms = self._losses_at_ms = 0
        self._full_at_ms = 0
        self._losses = broker.losses = DropCounts()
        broker.alarms.change_observers.append(self._alarms_changed)
        broker.ends.queues.append(self._queue_deleted)
        broker.ends.sessions.append(self._session_closed)

    @property
    def figures(self) -> dict[str, Any]:
        """Return what `status` shows: rows given to the writer, octets written, rows that were dropped."""
        writer = self._writer
        dropped = writer.rows_dropped
        return {"interval_ms": self.interval_ms, "rows": writer.rows_given, "octets": writer.octets, "dropped": dropped}

    def retain(self, days: int) -> None:
        """Keep files for so many days from now on."""
        self._writer.retain(days)

    def run(self) -> None:
        """Look for ever."""
        self._looker = gevent.getcurrent()
        while True:
            before_s = monotonic()
            gevent.sleep(LOOK_S)
            self._lag_ms = max(self._lag_ms, int((monotonic() - before_s - LOOK_S) * 1000))
            try:
                self._broker.clock.refresh()
                self.do_due()
            except Exception:
                # A bug here is no reason to know nothing from now on.
                log.exception("telemetry failed", extra=event(BUG))

    def do_due(self) -> None:
        """Do what is due: look at the clock, at alarms while there are any, and at everything now and then."""
        self._look_at_clock()
        if self._blocks or self._alarms or self._broker.alarms.is_any_set:
            self.check()
        if not self._has_begun or self._broker.clock.now_ms - self._sampled_at_ms >= self.interval_ms:
            self.sample()

    def stop(self) -> None:
        """Sample once more and close the files; a look that is under way ends with what it has seen."""
        if self._looker is not None:
            self._looker.kill()
        broker = self._broker
        broker.losses = None
        broker.alarms.change_observers.remove(self._alarms_changed)
        broker.ends.queues.remove(self._queue_deleted)
        broker.ends.sessions.remove(self._session_closed)
        self._pause = lambda _: gevent.sleep(0)  # no slice has to wait for the thread
        try:
            self.check()
            self.sample(is_last=True)
        except Exception:
            # The node is about to close its log: a clean stop does not hang on figures.
            log.exception("telemetry failed", extra=event(BUG))
        self._writer.stop()

    def _alarms_changed(self) -> None:
        """Look at the alarms, and at the few they hold; of many `run` sees a second later: the caller must not wait."""
        self._look_at_alarms()
        if self._blocks.are_few:
            self._blocks.write_changes()

    def check(self) -> None:
        """Write which alarms were set and cleared, and which connections they began or ceased to hold."""
        self._look_at_alarms()
        self._blocks.write_changes()

    def sample(self, *, is_last: bool = False) -> None:
        """Write how everything is where something happened, or everything if that was long ago."""
        clock, writer = self._broker.clock, self._writer
        self._sampled_at_ms = clock.now_ms
        node = rows.of_node(self._broker, self._lag_ms)
        node |= {"interval_ms": self.interval_ms, "telemetry_dropped_total": self.figures["dropped"]}
        if not self._has_begun:
            node["first"] = True
        self._write("node_sample", [node], brief=True)
        self._lag_ms = 0
        is_full = not self._has_begun or clock.now_ms - self._full_at_ms >= FULL_MS
        self._has_begun = True
        if is_full or is_last or not writer.is_short:
            self._look_at_things(is_full=is_full)
        is_minute = not writer.is_short or clock.now_ms - self._losses_at_ms >= SHORT_MS
        if is_last or (is_minute and writer.has_room):
            self._losses_at_ms = clock.now_ms
            self._write("trace_event", [rows.of_loss(*each) for each in self._losses.pop()], brief=True)
        writer.tick(clock.timestamp_ms)

    def _look_at_things(self, *, is_full: bool) -> None:
        if self._writer.is_scant or not self._writer.has_room:
            for table, seen in self._seen.items():
                self._gaps.begin(table, seen.told_ms, DISK if self._writer.is_scant else FAILED)
            return
        if is_full:
            self._full_at_ms = self._broker.clock.now_ms
        for table in self._seen:
            self._write_ends(table)
            self._write_rows(table, self._ends[table].sums())
        self._broker.ages.search(self._pause)
        queues = [queue for vhost in self._broker.vhosts.values() for queue in vhost.queues.values()]
        self._sample(QUEUES, queues, attrgetter("deleted"), rows.queue_activity, rows.of_queue, full=is_full)
        sessions = [each for each in self._broker.sessions.values() if each.vhost is not None]
        self._sample(CONNECTIONS, sessions, self._has_left, _session_activity, rows.of_session, full=is_full)

    def _sample(
        self,
        table: str,
        things: list[Any],
        is_gone: Callable[[Any], bool],
        activity: Callable[[Any], Any],
        describe: Callable[[Any], rows.Row],
        *,
        full: bool,
    ) -> None:
        """Write a row of each thing that is new or changed, a slice at a time; others go on in between."""
        seen, now_ms = self._seen[table], self._broker.clock.timestamp_ms
        known, found = seen.known, seen.found
        is_whole = True
        try:
            for some in slices(things, SLICE, self._pause):
                written, ids = [], []
                for thing in some:
                    if is_gone(thing):
                        continue  # its final row is among the ends
                    now = found[thing.id] = activity(thing)
                    before = known.pop(thing.id, None)
                    if full or now != before:
                        row = describe(thing)
                        if before is None:
                            row["first"] = True
                        written.append(row)
                        ids.append((thing.id, before))
                if not self._write_rows(table, written):
                    is_whole = False
                    for number, before in ids:
                        del found[number]
                        if before is not None:
                            found[number] = ()  # as nothing is: its row is to be written next time
            for gone in slices(list(known), SLICE, self._pause):
                for number in gone:
                    del known[number]
        finally:
            seen.finish()
        if is_whole:
            self._gaps.end(table, now_ms)
            seen.told_ms = now_ms

    def _write_rows(self, table: str, found: list[rows.Row]) -> bool:
        """Write rows of things; False, and a gap, if too many wait for the disk."""
        is_written = self._write(table, found)
        if not is_written:
            self._gaps.begin(table, self._seen[table].told_ms, OVERFLOW, len(found))
        return is_written

    def _write_ends(self, table: str) -> None:
        ends = self._ends[table].pop()
        for i in range(0, len(ends), ENDS):
            self._write_rows(table, ends[i : i + ENDS])

    def _queue_deleted(self, queue: "Queue", messages: int) -> None:
        self._ended(QUEUES, queue.id, rows.of_deleted_queue(queue, messages))

    def _session_closed(self, session: Any) -> None:
        if session.vhost is not None:
            self._ended(CONNECTIONS, session.id, rows.of_closed_session(session))

    def _ended(self, table: str, number: int, row: rows.Row) -> None:
        ends = self._ends[table]
        if not ends.add(number, row):
            self._gaps.begin(table, self._seen[table].told_ms, OVERFLOW, 1)
        elif len(ends) >= ENDS and not self._writer.is_short:
            self._write_ends(table)

    def _look_at_alarms(self) -> None:
        broker = self._broker
        now = {(alarm.resource, alarm.node): alarm for alarm in broker.alarms}
        events = [rows.of_alarm(broker, alarm, "set") for key, alarm in now.items() if key not in self._alarms]
        events += [rows.of_alarm(broker, alarm, "clear") for key, alarm in self._alarms.items() if key not in now]
        self._alarms = now
        self._write("alarm_event", events, brief=True)

    def _look_at_clock(self) -> None:
        clock = self._broker.clock
        before_ms = clock.now_ms + self._clock_ahead_ms
        if abs(clock.timestamp_ms - before_ms) >= CLOCK_SET_MS:
            self._gaps.clock_set(before_ms, clock.timestamp_ms)
        self._clock_ahead_ms = clock.timestamp_ms - clock.now_ms

    def _has_left(self, session: "AmqpSession") -> bool:
        return session.id not in self._broker.sessions

    def _write(self, table: str, found: list[rows.Row], *, brief: bool = False) -> bool:
        if not found:
            return True
        now_ms = self._broker.clock.timestamp_ms
        self._seq += 1
        # The members that all rows have, as they stand in a line.
        head = f'{{"v":{VERSION},"ts":{now_ms},"seq":{self._seq},{self._head}'
        is_written = self._writer.write(table, now_ms, head, cast("list[Any]", found), brief=brief)
        if table not in self._seen and table != GAPS:
            if is_written:
                self._gaps.end(table, now_ms)
            else:
                self._gaps.begin(table, now_ms, OVERFLOW, len(found))
        return is_written


def _session_activity(session: "AmqpSession") -> tuple[Any, ...]:
    """Return what is different if anything but heartbeats happened to a connection since."""
    throttle = session.throttle
    now_ms = session.broker.clock.now_ms
    held = (throttle.flow_count, throttle.blocked_ms(now_ms), throttle.flow_ms(now_ms))
    return (len(session.channels), session.recv_octets, session.send_octets, *held)
