"""The broker's time: two integers, refreshed once per loop turn and amid long work, so that no message costs a call.

Nothing below `daemon/` calls `time.time()` or `time.monotonic()`; tests set the integers by hand.
"""

import time


class Clock:
    """`now_ms` is monotonic, for deadlines; `timestamp_ms` is wall time since the epoch, for headers and logs."""

    __slots__ = ("now_ms", "timestamp_ms")

    def __init__(self) -> None:
        self.now_ms = 0
        self.timestamp_ms = 0

    def refresh(self) -> None:
        """Read the system's clocks."""
        self.now_ms = time.monotonic_ns() // 1_000_000
        self.timestamp_ms = time.time_ns() // 1_000_000
