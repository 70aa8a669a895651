"""Ticks: what is due for each session about once a second (heartbeats, deadlines), a share of the sessions in a turn.

A tick costs half a microsecond, but closing a connection costs a hundred, and two thousand may be due at once.
"""

import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from pybroker.core.chore import Chore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.session import Session, Turn

# Some hundred microseconds of ticks, or ten milliseconds of ends.
TURN_SESSIONS_MAX: Final = 128

log = logging.getLogger("pybroker")


class Ticks(Chore):
    """Sessions that have not had this second's tick yet."""

    __slots__ = ("_waiting",)

    def __init__(self, turn: "Turn") -> None:
        super().__init__(turn)
        self._waiting: deque[Session] = deque()

    def start(self, sessions: "Iterable[Session]") -> None:
        """Tick every session, the first of them now; those that still wait for the last tick are not asked twice."""
        if not self._waiting:
            self._waiting.extend(sessions)
            self.deliver(0)

    def deliver(self, _now_ms: int) -> None:
        """Tick a turn's share."""
        for _ in range(min(len(self._waiting), TURN_SESSIONS_MAX)):
            session = self._waiting.popleft()
            try:
                session.tick()
            except Exception:
                # A bug in one session: those behind it in the line still want their heartbeats.
                log.exception("the tick of %s failed", session)
        if self._waiting:
            self.wake()
