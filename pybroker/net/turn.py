"""The end of a loop turn: deliver from the queues that were woken, send what the sessions have, set the timer.

`run_callback` rather than a prepare watcher: that one may run before gevent's own callbacks, whose output would then
wait for the next event (performance.md, pitfalls).
"""

import logging
from typing import TYPE_CHECKING, Any, Final

import gevent

from pybroker.session import Turn

if TYPE_CHECKING:
    from pybroker.clock import Clock
    from pybroker.core.broker import Broker

# What one turn reads over all connections, and the bounds of one connection's equal share of it (data-model.md).
TURN_READ_OCTETS: Final = 1_048_576
READ_OCTETS_MAX: Final = 131_072
READ_OCTETS_MIN: Final = 4_096

log = logging.getLogger("pybroker")


class LoopTurn(Turn):
    """The turn of gevent's loop. `broker` is set by the server before the first session."""

    __slots__ = ("_due_ms", "_loop", "_timer", "broker", "clock", "read_octets", "readers")

    def __init__(self, clock: "Clock") -> None:
        super().__init__()
        self.clock = clock
        self.broker: Broker | None = None
        self.readers = 0  # connections that were read in this turn
        self.read_octets = READ_OCTETS_MAX  # an equal share for each of as many as there were last time
        self._loop: Any = gevent.get_hub().loop
        self._timer: Any = None
        self._due_ms = 0

    def wake(self) -> None:
        """Run at the end of this turn."""
        if not self.woken:
            self.woken = True
            self._loop.run_callback(self._run)

    def _run(self) -> None:
        broker = self.broker
        assert broker is not None
        self.clock.refresh()
        try:
            broker.pump()
        except Exception:
            # A bug in one queue must not end the loop: the others, and the log, go on.
            log.exception("delivering failed")
        readers = self.readers
        if readers:
            self.read_octets = min(READ_OCTETS_MAX, max(READ_OCTETS_MIN, TURN_READ_OCTETS // readers))
            self.readers = 0
        sessions, self.sessions = self.sessions, []
        self.woken = False
        for session in sessions:
            session.dirty = False
            if session.link is not None:
                session.link.flush()
        if self.queues or self.sessions:
            self.wake()
        self.set_timer()

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
        self._due_ms = due_ms
        if due_ms:
            self._timer = self._loop.timer(max(0, due_ms - self.clock.now_ms) / 1000)
            self._timer.start(self._on_timer)

    def _on_timer(self) -> None:
        assert self.broker is not None
        self.clock.refresh()
        self._due_ms = 0
        try:
            self.broker.timers.run(self.clock.now_ms)
        except Exception:
            log.exception("a timer failed")
        self.wake()
