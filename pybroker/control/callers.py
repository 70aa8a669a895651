"""Callers: the connections of the control socket, and which of them gives way to a newcomer.

An operator must be let in whatever others forgot to close. Knows no socket.
"""

from typing import Any, Final

from pybroker import descriptors

# An operator, their scripts, a few probes and some forgotten `less`: more than this is a loop gone wild.
CALLERS_MAX: Final = 64
# Descriptors are for clients and files as well.
DESCRIPTOR_PARTS: Final = 8
# A caller that has just come, or just got its answer, is about to ask.
IDLE_S_MIN: Final = 1.0
# One amid a request has to send more of it, or to read, and would lose it: that takes a busy program longer.
STUCK_S_MIN: Final = 10.0


class Caller:
    """One connection. `idle_since_s` is since when the node waits for its next line; None: the node works for it."""

    __slots__ = ("asking", "idle_since_s", "is_amid_line", "reading", "socket")

    def __init__(self, peer: Any, now_s: float) -> None:
        self.socket = peer
        self.idle_since_s: float | None = now_s
        self.asking = False  # it is amid a request
        self.is_amid_line = False
        self.reading = False  # an answer is on its way, which it does not read


class Callers:
    """All callers, in the order in which they came."""

    __slots__ = ("_all",)

    def __init__(self) -> None:
        self._all: dict[Caller, None] = {}

    def __len__(self) -> int:
        return len(self._all)

    @property
    def full(self) -> bool:
        """Tell whether another one is too many."""
        return len(self._all) >= min(CALLERS_MAX, max(1, descriptors.limit() // DESCRIPTOR_PARTS))

    def add(self, caller: Caller) -> None:
        """Count a caller in."""
        self._all[caller] = None

    def remove(self, caller: Caller) -> None:
        """Count a caller out, if it has not been."""
        self._all.pop(caller, None)

    def longest_idle(self, now_s: float) -> Caller | None:
        """Return the caller that keeps the node waiting longest; None if all of them are served, or just were."""
        idle = [
            (caller.idle_since_s, number, caller)
            for number, caller in enumerate(self._all)
            if caller.idle_since_s is not None
            and now_s - caller.idle_since_s >= (STUCK_S_MIN if caller.asking or caller.is_amid_line else IDLE_S_MIN)
        ]
        return min(idle)[2] if idle else None
