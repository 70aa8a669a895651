"""Periodic calls of every session (heartbeats and deadlines, alarms), a share of the sessions in a turn.

A tick costs half a microsecond, but closing a connection costs a hundred, and two thousand may be due at once.
"""

import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.background_task import BackgroundTask
from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pybroker.session import Session, Turn

# Some hundred microseconds of ticks, or ten milliseconds of ends.
TURN_SESSIONS_MAX: Final = 128

log = logging.getLogger("pybroker")


class SessionSweeper(BackgroundTask):
    """Sessions that have not been called yet in this round; `call` is what is done to each."""

    __slots__ = ("_call", "_waiting")

    def __init__(self, turn: "Turn", call: "Callable[[Any], None]") -> None:
        super().__init__(turn)
        self._call = call
        self._waiting: deque[Session] = deque()

    def start(self, sessions: "Iterable[Session]") -> None:
        """Tick every session, the first of them now; those that still wait for the last tick are not asked twice."""
        if not self._waiting:
            self._waiting.extend(sessions)
            self.deliver(0)

    def start_over(self, sessions: "Iterable[Session]") -> None:
        """Do the same, and begin anew with everybody if a round is not at its end."""
        self._waiting.clear()
        self.start(sessions)

    def deliver(self, _now_ms: int) -> None:
        """Tick a turn's share."""
        for _ in range(min(len(self._waiting), TURN_SESSIONS_MAX)):
            session = self._waiting.popleft()
            try:
                self._call(session)
            except Exception:
                # A bug in one session: those behind it in the line still want their heartbeats.
                log.exception("%r failed for %s", self._call, session, extra=event(BUG, session))
        if self._waiting:
            self.wake_again()
