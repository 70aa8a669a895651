"""OffsetSweeper: consumers whose offsets are stored once a second, a share of them in a turn."""

import logging
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from pybroker.core.background_task import BackgroundTask
from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from pybroker.session import Turn

    class Tracker(Protocol):
        """A consumer whose offset is stored now and then."""

        def store_offset(self) -> bool:
            """Store it, if it has changed; False: it takes longer to find, and is to be asked for again."""


# Each appends a small message, ten microseconds, or looks for its offset some times as long.
TURN_TRACKERS_MAX: Final = 64

log = logging.getLogger("pybroker")


class OffsetSweeper(BackgroundTask):
    """All of them, and those that have not stored their offsets yet in this round."""

    __slots__ = ("_trackers", "_waiting")

    def __init__(self, turn: "Turn") -> None:
        super().__init__(turn)
        self._trackers: dict[Tracker, None] = {}
        self._waiting: deque[Tracker] = deque()

    def __len__(self) -> int:
        return len(self._trackers)

    def add(self, tracker: "Tracker") -> None:
        """Have an offset stored from now on."""
        self._trackers[tracker] = None

    def remove(self, tracker: "Tracker") -> None:
        """Have it stored no more."""
        self._trackers.pop(tracker, None)

    def start(self) -> None:
        """Begin a round, unless one is not at its end."""
        if not self._waiting:
            self._waiting.extend(self._trackers)
            self.deliver(0)

    def deliver(self, _now_ms: int) -> None:
        """Have a turn's share of the offsets stored."""
        for _ in range(min(len(self._waiting), TURN_TRACKERS_MAX)):
            tracker = self._waiting.popleft()
            if tracker not in self._trackers:
                continue
            try:
                is_stored = tracker.store_offset()
            except Exception:
                # A bug in one of them: those behind it in the line still want their offsets.
                log.exception("the offset of %r was not stored", tracker, extra=event(BUG))
                continue
            if not is_stored:
                self._waiting.append(tracker)
        if self._waiting:
            self.wake_again()
