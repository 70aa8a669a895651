"""The end of a loop turn: deliver from the queues that were woken, send what the sessions have, set the timer.

`run_callback` rather than a prepare watcher: that one may run before gevent's own callbacks, whose output would then
wait for the next event.
"""

import logging
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

import gevent

from pybroker.core.broker import PUMP_MS
from pybroker.log_event import BUG, event
from pybroker.net.busy_poll import BusyPoll
from pybroker.net.spare_time import SpareTime
from pybroker.session import LARGE_READ_OCTETS, LARGE_TLS_READ_OCTETS, RECEIVE_MS, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.clock import Clock
    from pybroker.core.broker import Broker
    from pybroker.net.connection import Connection

# Octets that one turn reads over all connections, and the bounds of one connection's equal share.
TURN_READ_OCTETS: Final = 1_048_576
READ_OCTETS_MAX: Final = 131_072
READ_OCTETS_MIN: Final = 4_096

# A held publisher is read a little this often: enough to go on, too little to take the consumers' time.
HOLD_S: Final = 0.001
# Connections that were read so lately are likely to be read again.
LATELY_MS: Final = 20
# A consumer whose outbox was full and is empty again gets more in the same turn, this often: bodies of 128 KiB fill it
# in pairs.
ROUNDS_MAX: Final = 4
# Output made on demand: at most so many parts of 256 KiB are sent in a round, over all connections together.
SENDS_MAX: Final = 4
# And at most so many in a turn.
SLICES_MAX: Final = 8

log = logging.getLogger("pybroker")


@lru_cache(1_024)  # asked whenever their number changes, which may be in each turn
def _share(readers: int) -> tuple[int, int, int, int]:
    """Return one reader's share of a turn: octets, octets amid a large body, the same over TLS, milliseconds."""
    return (
        min(READ_OCTETS_MAX, max(READ_OCTETS_MIN, TURN_READ_OCTETS // readers)),
        max(READ_OCTETS_MAX, LARGE_READ_OCTETS // readers),
        max(READ_OCTETS_MAX, LARGE_TLS_READ_OCTETS // readers),
        max(1, RECEIVE_MS // readers),
    )


class LoopCycle(Turn):
    """The turn of gevent's loop. `broker` is set by the server before the first session."""

    __slots__ = (
        "_again",
        "_behind",
        "_due_ms",
        "_held",
        "_loop",
        "_pause",
        "_scheduled",
        "_soon",
        "_timer",
        "broker",
        "busy_poll",
        "clock",
        "read_octets",
        "readers",
        "reading",
        "senders",
        "sends",
        "served_ms",
        "sharers",
        "slices",
        "spare",
    )

    def __init__(self, clock: "Clock") -> None:
        super().__init__()
        self.clock = clock
        self.broker: Broker | None = None
        self.readers = 0  # connections that were read in this turn
        self.senders = 0  # connections that had more to send than one part in this round
        self.sends = SENDS_MAX  # how many parts each of them may send
        self.slices = 0  # such parts sent in this turn
        self.sharers = 0  # how many there were when the shares were computed last
        self.read_octets = READ_OCTETS_MAX  # an equal share for each of as many as there were last time
        self._loop: Any = gevent.get_hub().loop
        self._timer: Any = None
        self._due_ms = 0
        self._held: list[Connection] = []
        self._pause: Any = None
        self._again: list[Any] = []  # tasks that go on in the next turn
        self._behind: list[Connection] = []
        self.busy_poll = BusyPoll(self._loop)
        self.served_ms = 0  # when a settled connection was read last
        self.spare = SpareTime(self._loop, self._in_turn, self._serves)
        self._soon: Any = self._loop.timer(0)
        self._scheduled = False
        self.reading = False  # a connection's event is being handled: the turn does not end before

    def wake(self) -> None:
        """Run at the end of this turn."""
        self.woken = True
        if not self.reading:
            self._schedule()

    def after_reading(self) -> None:
        """End the turn if a connection's event was the loop's last one; else have it end when the others are done."""
        self.reading = False
        if self.woken:
            if self._loop.pendingcnt:
                self._schedule()
            else:
                # Saves the loop one round, which is a fifth of a message that travels alone.
                self.run()
        else:
            # Messages that were read wake nobody, but may have to expire.
            self.set_timer()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._loop.run_callback(self._on_callback)
            self._scheduled = True

    def _on_callback(self) -> None:
        self._scheduled = False
        if self.woken:
            self.run()

    def run(self) -> None:
        """End the turn. Even if it fails there is a next one: otherwise no peer would be answered any more."""
        broker = self.broker
        assert broker is not None
        clock = self.clock
        clock.refresh()
        started_ms = clock.now_ms
        readers = self.readers
        if readers:
            if readers != self.sharers:
                self.share(readers)
            self.readers = 0
        self.woken = True  # what follows needs no call back to be asked for
        self.slices = 0
        try:
            # Before the deliveries: the disk works while they are made.
            broker.log.turn_ended()
            if self.sessions:
                self._flush_before_deliveries()
            for _ in range(ROUNDS_MAX if self.queues else 0):
                try:
                    broker.pump()
                except Exception:
                    # A bug in one queue must not end the loop: the others, and the log, go on.
                    log.exception("internal error in delivering", extra=event(BUG))
                if self.sessions:
                    self._flush()
                if not self.queues:
                    break
                clock.refresh()
                if clock.now_ms - started_ms >= PUMP_MS:
                    break
            if self._held:
                self._release()
        finally:
            self.woken = bool(self.queues or self.sessions)
            if self.woken:
                self._come_back()
            self.set_timer()

    def share(self, readers: int) -> None:
        """Give each of so many connections an equal share of a turn."""
        self.sharers = readers
        self.read_octets, self.large_octets, self.large_tls_octets, self.receive_ms = _share(readers)

    def _come_back(self) -> None:
        """Go on with what is left, when the sockets have had their turn: gevent runs fifty call backs before that."""
        if not self._soon.active:
            self._soon.start(self._on_soon)

    def _on_soon(self) -> None:
        self.clock.refresh()
        self.reading = True
        self.queues += self._again
        self._again.clear()
        behind, self._behind = self._behind, []
        if len(behind) > self.sharers:
            self.share(len(behind))
        for connection in behind:
            try:
                connection.resume()
            except Exception:
                # A bug in one of them; the others have something to say, too.
                log.exception("internal error in resuming a connection", extra=event(BUG))
        self.reading = False
        self.run()

    def when_spare(self, kind: str, step: "Callable[[], object]") -> None:
        """Do something in spare time, which is now if nobody else is served; of one kind in the order of the calls."""
        if self._serves() or self.spare.has(kind):
            self.spare.do_later(kind, step)
        else:
            step()

    def serve_next(self, task: Any) -> None:
        """Have a task served when the sockets have had their turn, and not by each call of `run` before that."""
        self._again.append(task)
        self._come_back()

    def _serves(self) -> bool:
        """Tell whether there are connections that must not wait for newcomers."""
        self.clock.refresh()
        return self.clock.now_ms - self.served_ms < LATELY_MS

    def _in_turn(self, work: "Callable[[], None]") -> None:
        """Do work that does not begin with a connection's event, as if it did."""
        self.clock.refresh()
        self.reading = True
        work()
        self.after_reading()

    def later(self, connection: "Connection") -> None:
        """Let this connection go on in the next turn with what it has received."""
        self._behind.append(connection)
        self._come_back()

    def _flush_before_deliveries(self) -> None:
        """Send confirms and answers: the peers that wait for them go on while deliveries are made.

        Of a peer that also consumes, they leave with its deliveries: in one send, and never long before them.
        """
        if not self.queues:
            self._flush()
            return
        consuming = [session for session in self.sessions if session.consumers]
        if consuming:
            self.sessions = [session for session in self.sessions if not session.consumers]
        try:
            self._flush()
        finally:
            self.sessions += consuming

    def _flush(self) -> None:
        if self.senders:
            self.sends = max(1, SENDS_MAX // self.senders)
            self.senders = 0
        sessions, self.sessions = self.sessions, []
        try:
            for session in sessions:
                if session.output_left and self.slices >= SLICES_MAX:
                    self.sessions.append(session)
                    continue
                session.dirty = False
                link = session.link
                if link is not None:
                    try:
                        if link.newcomer:
                            self.spare.do_later("send", link.flush_step)
                        else:
                            link.flush()
                    except Exception:
                        # A bug of ours. Part of its output is lost, so it is over; the others have something to say.
                        log.exception("internal error in sending", extra=event(BUG))
                        self.spare.do_later("close", partial(link.close, "internal error"))
        except BaseException:
            self.sessions += [each for each in sessions if each.dirty and each not in self.sessions]
            raise

    def hold(self, connection: "Connection") -> None:
        """Read this publisher again when its queue's consumers have caught up, or a little in a moment."""
        self._held.append(connection)
        if self._pause is None:
            pause = self._loop.timer(HOLD_S)
            pause.start(self._on_pause)
            self._pause = pause

    def _release(self) -> None:
        held, self._held = self._held, []
        for connection in held:
            try:
                released = connection.release()
            except Exception:
                log.exception("internal error in reading", extra=event(BUG))
                released = False
            if not released:
                self._held.append(connection)

    def _on_pause(self) -> None:
        self._pause.close()
        self._pause = None
        held, self._held = self._held, []
        for connection in held:
            connection.trickle()

    def set_timer(self) -> None:
        """Have the broker's timers run when the first of them is due."""
        assert self.broker is not None
        due_ms = self.broker.timers.next_ms
        if due_ms == self._due_ms:
            return
        if self._timer is not None:
            self._timer.stop()
            self._timer.close()
            self._timer = None
        if due_ms:
            timer = self._loop.timer(max(0, due_ms - self.clock.now_ms) / 1000)
            timer.start(self._on_timer)
            self._timer = timer
        self._due_ms = due_ms

    def _on_timer(self) -> None:
        assert self.broker is not None
        self.clock.refresh()
        self._due_ms = 0
        try:
            self.broker.timers.run(self.clock.now_ms)
        except Exception:
            log.exception("internal error in a timer", extra=event(BUG))
        self.wake()
