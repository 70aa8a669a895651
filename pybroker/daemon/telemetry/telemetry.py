"""Telemetry: the node's figures and events as rows in files, for reports over days (pybroker-pipeline(7)).

A greenlet looks once a second at the causes that hold connections back while there is an alarm, and at every interval
at queues, connections and the node: only at changed ones, and at all of them every five minutes. `rows` makes the rows,
and a thread writes them (`files`). There is no cost per message: `core/stats/drops` counts runs of lost messages.
"""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import gevent

from pybroker.core.stats.drops import DropCounts
from pybroker.daemon.resources.disk_monitor import free_octets
from pybroker.daemon.telemetry import rows
from pybroker.daemon.telemetry.files import VERSION, TelemetryFiles, Writer
from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from pybroker.amqp.session import AmqpSession
    from pybroker.core.broker import Broker
    from pybroker.core.resources.alarm import Alarm

FOLDER: Final = "telemetry"
LOOK_S: Final = 1.0
# Everything, also what nothing happened to.
FULL_MS: Final = 300_000
# Below so much of what is to stay free nothing is written: this must never cause the alarm that it tells of.
DISK_LIMIT_TIMES: Final = 1.5
# Looked at in one go: a millisecond or so, and two more of the thread, which keeps the interpreter meanwhile.
SLICE: Final = 200
PAUSE_S: Final = 0.005

log = logging.getLogger("pybroker")


class Block(NamedTuple):
    """A connection that an alarm holds: since when (wall time), for what, and how long it was held before that."""

    session: "AmqpSession"
    reason: str
    began_ms: int
    held_before_ms: int


class Telemetry:
    """The recorder of the broker's figures. `interval_ms` lies between two looks at everything."""

    __slots__ = (
        "_activity",
        "_alarms",
        "_blocks",
        "_broker",
        "_full_at_ms",
        "_head",
        "_lag_ms",
        "_looking",
        "_losses",
        "_pause_s",
        "_sampled_at_ms",
        "_writer",
        "interval_ms",
    )

    def __init__(self, broker: "Broker", data_folder: Path, interval_ms: int, retention_days: int) -> None:
        self._broker = broker
        self.interval_ms = interval_ms
        marks = broker.settings.watermarks

        def is_room() -> bool:
            try:
                return free_octets(data_folder) >= marks.disk_limit_octets * DISK_LIMIT_TIMES
            except OSError:
                return False

        self._writer = Writer(TelemetryFiles(data_folder / FOLDER, is_room, retention_days))
        self._head = f'"node":{json.dumps(broker.settings.node_name)},"epoch":{broker.epoch}'
        self._activity: dict[str, dict[int, Any]] = {"queue_sample": {}, "connection_sample": {}}
        self._alarms: dict[tuple[str, str], Alarm] = {}
        self._blocks: dict[int, Block] = {}
        self._lag_ms = 0
        self._looking = False  # at what is blocked, in slices
        self._sampled_at_ms = 0
        self._full_at_ms = 0
        self._pause_s = PAUSE_S
        self._losses = broker.losses = DropCounts()
        broker.alarms.change_observers.append(self._alarms_changed)

    @property
    def figures(self) -> dict[str, Any]:
        """Return what `status` shows: rows and octets written, rows that were dropped."""
        writer = self._writer
        dropped = writer.dropped + self._losses.beyond
        return {"interval_ms": self.interval_ms, "rows": writer.rows_given, "octets": writer.octets, "dropped": dropped}

    def retain(self, days: int) -> None:
        """Keep files for so many days from now on."""
        self._writer.retain(days)

    def run(self) -> None:
        """Look for ever."""
        while True:
            before_s = monotonic()
            gevent.sleep(LOOK_S)
            self._lag_ms = max(self._lag_ms, int((monotonic() - before_s - LOOK_S) * 1000))
            try:
                clock = self._broker.clock
                clock.refresh()
                if self._blocks or self._broker.alarms:
                    self.check()
                if not self._sampled_at_ms or clock.now_ms - self._sampled_at_ms >= self.interval_ms:
                    self.sample()
            except Exception:
                # A bug here is no reason to know nothing from now on.
                log.exception("telemetry failed", extra=event(BUG))

    def stop(self) -> None:
        """Sample once more and close the files."""
        self._broker.losses = None
        self._pause_s = 0.0
        try:
            self.sample()
        except Exception:
            # The node is about to close its log: a clean stop does not hang on figures.
            log.exception("telemetry failed", extra=event(BUG))
        self._writer.stop()

    def _alarms_changed(self) -> None:
        """Look at the alarms, and at the few they hold; of many `run` sees a second later: the caller must not wait."""
        self._look_at_alarms()
        if max(len(self._broker.sessions), len(self._blocks)) < SLICE:
            self._look_at_blocks()

    def check(self) -> None:
        """Write which alarms were set and cleared, and which connections they began or ceased to hold."""
        self._look_at_alarms()
        self._look_at_blocks()

    def sample(self) -> None:
        """Write how everything is where something happened, or everything if that was long ago."""
        clock = self._broker.clock
        self._sampled_at_ms = clock.now_ms
        first = {} if self._full_at_ms else {"first": True}
        full = bool(first) or clock.now_ms - self._full_at_ms >= FULL_MS
        if full:
            self._full_at_ms = clock.now_ms
        node = rows.of_node(self._broker, self._lag_ms)
        self._write("node_sample", [{**node, "telemetry_dropped_total": self.figures["dropped"], **first}])
        self._lag_ms = 0
        queues = [queue for vhost in self._broker.vhosts.values() for queue in vhost.queues.values()]
        self._sample("queue_sample", queues, rows.queue_activity, rows.of_queue, full=full)
        sessions = [each for each in self._sessions() if each.state == "running"]
        self._sample("connection_sample", sessions, _session_activity, rows.of_session, full=full)
        self._write("trace_event", [rows.of_loss(*each) for each in self._losses.pop()])
        self._writer.tick(clock.timestamp_ms)

    def _sample(
        self,
        table: str,
        things: list[Any],
        activity: Callable[[Any], Any],
        describe: Callable[[Any], rows.Row],
        *,
        full: bool,
    ) -> None:
        """Write a row of each thing that is new or changed, a slice at a time; others go on in between."""
        known, found = self._activity[table], dict[int, Any]()
        try:
            for some in self._slices(things):
                written = []
                for thing in some:
                    now = found[thing.id] = activity(thing)
                    before = known.pop(thing.id, None)
                    if full or now != before:
                        row = describe(thing)
                        if before is None:
                            row["first"] = True
                        written.append(row)
                self._write(table, written)
            for gone in self._slices(list(known)):
                for number in gone:
                    del known[number]
        finally:
            known.update(found)

    def _slices(self, things: list[Any]) -> Iterator[list[Any]]:
        """Yield them some at a time, and take them out of the list; others go on in between.

        Fifty thousand queues that were deleted meanwhile would be freed at once in the end: a twentieth of a second.
        """
        things.reverse()
        while things:
            some = things[: -SLICE - 1 : -1]
            del things[-SLICE:]
            yield some
            if len(some) == SLICE:
                gevent.sleep(self._pause_s)

    def _look_at_alarms(self) -> None:
        broker = self._broker
        now = {(alarm.resource, alarm.node): alarm for alarm in broker.alarms}
        events = [rows.of_alarm(broker, alarm, "set") for key, alarm in now.items() if key not in self._alarms]
        events += [rows.of_alarm(broker, alarm, "clear") for key, alarm in self._alarms.items() if key not in now]
        self._alarms = now
        self._write("alarm_event", events)

    def _look_at_blocks(self) -> None:
        if self._looking:
            return
        self._looking = True
        try:
            for blocks in self._slices(list(self._blocks.values())):
                self._write("block_event", [self._ended(block) for block in blocks if not self._holds(block)])
            for sessions in self._slices(self._sessions()):
                self._write("block_event", [self._began(session) for session in sessions if self._is_new(session)])
        finally:
            self._looking = False

    def _holds(self, block: Block) -> bool:
        return block.session.throttle.blocked and block.session.id in self._broker.sessions

    def _ended(self, block: Block) -> rows.Row:
        """Forget a block that is over; return its row."""
        del self._blocks[block.session.id]
        duration_ms = block.session.throttle.blocked_ms(self._broker.clock.now_ms) - block.held_before_ms
        return rows.of_block(block.session, block.reason, block.began_ms, duration_ms)

    def _is_new(self, session: "AmqpSession") -> bool:
        return session.throttle.blocked and session.id not in self._blocks

    def _began(self, session: "AmqpSession") -> rows.Row:
        """Remember a block that is new; return its row."""
        clock, throttle = self._broker.clock, session.throttle
        for_ms = clock.now_ms - throttle.blocked_since_ms()
        before_ms = throttle.blocked_ms(clock.now_ms) - for_ms
        block = Block(session, throttle.last_cause, clock.timestamp_ms - for_ms, before_ms)
        self._blocks[session.id] = block
        return rows.of_block(session, block.reason, block.began_ms, None)

    def _sessions(self) -> "list[AmqpSession]":
        return cast("list[AmqpSession]", list(self._broker.sessions.values()))

    def _write(self, table: str, found: list[rows.Row]) -> None:
        if found:
            now_ms = self._broker.clock.timestamp_ms
            # The members that all rows have, as they stand in a line.
            head = f'{{"v":{VERSION},"ts":{now_ms},{self._head}'
            self._writer.write(table, now_ms, head, cast("list[Any]", found))


def _session_activity(session: "AmqpSession") -> tuple[Any, ...]:
    """Return what is different if anything but heartbeats happened to a connection since."""
    throttle = session.throttle
    now_ms = session.broker.clock.now_ms
    held = (throttle.flow_count, throttle.blocked_ms(now_ms), throttle.flow_ms(now_ms))
    return (len(session.channels), session.recv_octets, session.send_octets, *held)
