"""HandshakeLine: the steps of TLS handshakes, a few at a time in threads; the others wait in a line.

A handshake costs a millisecond or two of a core. A thousand clients that reconnect must not take them from the loop.
"""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pybroker.store.worker import Done, Job, Worker

# Handed to the threads at a time: they have something to do while the loop is busy, and a stop need not wait for long.
UNDER_WAY_MAX: Final = 64


class HandshakeLine:
    """`workers` are threads; each gets the next job when it has the fewest. Used on the loop alone."""

    __slots__ = ("_loads", "_waiting", "_workers", "under_way")

    def __init__(self, workers: "Sequence[Worker]") -> None:
        self._workers = workers
        self._loads = [0] * len(workers)
        self._waiting: deque[tuple[Job, Done]] = deque()
        self.under_way = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, job: "Job", done: "Done") -> None:
        """Have `job` run in a thread, and `done` called with its result or the exception that ended it."""
        self._waiting.append((job, done))
        self._next()

    def _next(self) -> None:
        while self._waiting and self.under_way < UNDER_WAY_MAX:
            job, done = self._waiting.popleft()
            number = min(range(len(self._loads)), key=self._loads.__getitem__)
            self.under_way += 1
            self._loads[number] += 1
            self._workers[number].submit(job, partial(self._done, number, done))

    def _done(self, number: int, done: "Done", result: Any) -> None:
        self.under_way -= 1
        self._loads[number] -= 1
        self._next()
        done(result)
