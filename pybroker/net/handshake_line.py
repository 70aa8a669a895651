"""HandshakeLine: the steps of TLS handshakes, a few at a time in threads; the others wait in a line.

A handshake costs a millisecond or two of a core. A thousand clients that reconnect must not take them from the loop,
and a peer that begins thousands and ends none must keep nobody out: each address has a line of its own, and these take
turns. OpenSSL has 75 KiB for each handshake that has begun. With too many of these, the oldest that waits for its
client gives way.
"""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pybroker.store.worker import Done, Job, Worker

# Handed to the threads at a time: they have something to do while the loop is busy, and a stop need not wait for long.
UNDER_WAY_MAX: Final = 64
# Begun at a time. The threads begin some hundred a second, so a client has a second or more for its answers.
BEGUN_MAX: Final = 1_024


class Handshake(Protocol):
    """Anything that has jobs for the line; `stopped` once they are of no use any more."""

    stopped: bool

    @property
    def address(self) -> str:
        """Return the address of the client."""

    def give_way(self) -> None:
        """End, so that another one may begin; calls `leave`."""


class _Task(NamedTuple):
    handshake: Handshake
    job: "Job"
    done: "Done"


class HandshakeLine:
    """`workers` are threads; each gets the next job when it has the fewest. Used on the loop alone."""

    __slots__ = ("_begun", "_lines", "_loads", "_workers", "under_way")

    def __init__(self, workers: "Sequence[Worker]") -> None:
        self._workers = workers
        self._loads = [0] * len(workers)
        self._lines: dict[str, deque[_Task]] = {}  # by address; the first one is next
        self._begun: dict[Handshake, bool] = {}  # the oldest first; whether it waits for us
        self.under_way = 0

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def submit(self, handshake: Handshake, job: "Job", done: "Done") -> None:
        """Have `job` run in a thread, and `done` called with its result or the exception that ended it.

        Neither happens if the handshake is stopped before it is its turn.
        """
        if handshake in self._begun:
            self._begun[handshake] = True
        self._lines.setdefault(handshake.address, deque()).append(_Task(handshake, job, done))
        self._next()

    def leave(self, handshake: Handshake) -> None:
        """Learn that a handshake is over."""
        self._begun.pop(handshake, None)

    def _next(self) -> None:
        while self._lines and self.under_way < UNDER_WAY_MAX:
            handshake, job, done = self._pop()
            if handshake.stopped:
                continue
            if handshake not in self._begun:
                self._make_room()
                self._begun[handshake] = True
            number = min(range(len(self._loads)), key=self._loads.__getitem__)
            self.under_way += 1
            self._loads[number] += 1
            self._workers[number].submit(job, partial(self._done, number, handshake, done))

    def _make_room(self) -> None:
        if len(self._begun) >= BEGUN_MAX:
            # None at all: every client has answered, and its turn comes before others that begin can be many.
            oldest = next((each for each, waits_for_us in self._begun.items() if not waits_for_us), None)
            if oldest is not None:
                oldest.give_way()

    def _pop(self) -> _Task:
        """Take the first of a line, which is the last to be served then."""
        address = next(iter(self._lines))
        line = self._lines.pop(address)
        task = line.popleft()
        if line:
            self._lines[address] = line
        return task

    def _done(self, number: int, handshake: Handshake, done: "Done", result: Any) -> None:
        self.under_way -= 1
        self._loads[number] -= 1
        if handshake in self._begun:
            self._begun[handshake] = False
        try:
            done(result)
        finally:
            self._next()
