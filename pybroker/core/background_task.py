"""BackgroundTask: work of which a share is done in each turn, so that very much of it does not hold up the others."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pybroker.session import Turn


class BackgroundTask:
    """The pump serves it as if it were a queue: `deliver` does a share, and wakes itself if something is left."""

    __slots__ = ("_turn", "awake")

    def __init__(self, turn: "Turn") -> None:
        self._turn = turn
        self.awake = False

    def wake(self) -> None:
        """Ask the pump for a share of the next turn."""
        if not self.awake:
            self._turn.queues.append(self)
            self.awake = True
            if not self._turn.woken:
                self._turn.wake()

    def wake_again(self) -> None:
        """Ask for another share, of the next turn: one is enough for this one, however short the line of queues is."""
        if not self.awake:
            self.awake = True
            self._turn.serve_next(self)

    def deliver(self, now_ms: int) -> None:
        """Do one turn's share."""
        raise NotImplementedError
