"""When the reader may read: not while a channel's callbacks are too far behind, unless somebody needs an answer.

Deliveries wait in their channel's lane. When one is full the socket is not read, so that the broker feels it as TCP
back-pressure: memory stays bounded also without a prefetch. But answers come by the same socket, and the callback that
is behind may be waiting for one itself (S4: it may call the channel's methods). So the reader goes on while anybody
waits for an answer; the lanes may then grow beyond their limit, for as long as that call lasts. With a prefetch
(`basic_qos`) below the limit none of this ever happens.
"""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

# An answer may be wanted by somebody we do not see, e.g. an application's event that a confirmation sets.
TRICKLE_S: Final = 1.0


class Backpressure:
    """One connection's full lanes and waiting calls. As a context manager it is a call that waits for an answer."""

    __slots__ = ("_changed", "_full", "_lock", "_waiting", "paused")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._full = 0
        self._waiting = 0
        self.paused = False

    def __enter__(self) -> Self:
        with self._lock:
            self._waiting += 1
            if self.paused:
                self._changed.notify_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._waiting -= 1

    def fill(self) -> None:
        """Count a lane that became full."""
        with self._lock:
            self._full += 1

    def ease(self) -> None:
        """Count a lane that has room again."""
        with self._lock:
            self._full -= 1
            self._changed.notify_all()

    def hold(self, goes_on: Callable[[], bool], awaits: Callable[[], bool]) -> None:
        """Keep the reader here while it must not read and the connection `goes_on`.

        If something is awaited, by whomever, one read a second is let through all the same.
        """
        if not self._full:
            return
        with self._lock:
            self.paused = True
            try:
                while self._full and not self._waiting and goes_on():
                    if not self._changed.wait(TRICKLE_S) and awaits():
                        return
            finally:
                self.paused = False
