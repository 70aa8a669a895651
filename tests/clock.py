"""A clock for tests."""

from pybroker.clock import Clock


class FakeClock(Clock):
    """A clock that moves only when a test says so."""

    __slots__ = ()

    def __init__(self, timestamp_ms: int = 1_700_000_000_000) -> None:
        super().__init__()
        self.now_ms = 1_000_000
        self.timestamp_ms = timestamp_ms

    def refresh(self) -> None:
        """Stand still."""

    def advance(self, ms: int) -> None:
        """Let `ms` milliseconds pass."""
        self.now_ms += ms
        self.timestamp_ms += ms
