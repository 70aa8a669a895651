"""The interfaces between sockets and protocols: `Session`, one peer's protocol state, `Turn`, pending work, and
`FileOutput`, octets that do not come through our memory.

A protocol implements Session; `net/` drives it: readable -> `receive(data)`; once per loop turn
`pop_output()`. Neither knows the other's nouns: no sockets here, no frames there.
"""

import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.tls_facts import TlsFacts

# The time of a turn that one peer's input may take; a message to a thousand queues is a millisecond, and a chunk has
# two thousand of them.
RECEIVE_MS: Final = 10
# Octets that all sessions in the middle of large bodies read together, if they ask for more.
LARGE_READ_OCTETS: Final = 2_097_152
# Over TLS, where an octet costs three times as much: as fast, and a ping beside it waits half as long.
LARGE_TLS_READ_OCTETS: Final = 1_048_576

log = logging.getLogger("pybroker")


class Turn:
    """Work for the end of the loop turn: sessions with output, queues with something to deliver.

    `wake` is called when the first of either appears; `net/loop_cycle.py` overrides it to ask the event loop for a call
    back. In tests nobody overrides it, and they run the turn by hand. `receive_ms` is how long a session may work on
    its input, `large_octets` how much it may read in the middle of large bodies, `large_tls_octets` the same over TLS.
    """

    __slots__ = ("large_octets", "large_tls_octets", "queues", "receive_ms", "sessions", "woken")

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.queues: deque[Any] = deque()  # and tasks (core/background_task.py)
        self.receive_ms = RECEIVE_MS
        self.large_octets = LARGE_READ_OCTETS
        self.large_tls_octets = LARGE_TLS_READ_OCTETS
        self.woken = False

    def wake(self) -> None:
        """Ask for one call at the end of this loop turn."""
        self.woken = True

    def when_spare(self, _kind: str, step: "Callable[[], object]") -> None:
        """Have something done that nobody waits for: behind the others' work, and in tests at once.

        Steps of one kind are done in the order of the calls.
        """
        step()

    def serve_next(self, task: Any) -> None:
        """Have a task that has done its share of this turn served in the next one."""
        self.queues.append(task)
        if not self.woken:
            self.wake()


class FileOutput:
    """Octets of a file, so many as its length says, that the system gives to a socket itself.

    It may be the last part of what a session gives away; never over TLS, which has to have the octets. While it is
    `awaited` the socket gets nothing: the session marks itself dirty when that is over.
    """

    awaited: bool

    __slots__ = ()

    def __len__(self) -> int:
        raise NotImplementedError

    def send(self, socket: int) -> int:
        """Let a socket have what it takes at once; return how much, 0: nothing is there. Raises OSError."""
        raise NotImplementedError

    def read(self) -> "memoryview | None":
        """Return the octets if they had to be read: they are sent like others, and no more of it is."""
        raise NotImplementedError


class Session:
    """One peer. `net/connection.py` calls; the door answers.

    Invariants: after `finished` the socket is closed once the output is written, with `close_now` at once: nobody reads
    it. With `answer_at_ms` the last output is not written before that, and the session is let go at once. `read_octets`
    is how much the door wants per turn at most (its share); `readable` False means do not read at all (flow control).
    While `throttled_by.backlogged` it is scheduled to read `held_octets` now and then only. While it is `input_pending`
    with what it received, `receive(b"")` is called, a turn later, instead of reading. While there is `output_left`,
    `pop_output` has not given everything: it is called again when what it gave is sent, and if it gives nothing the
    session marks itself dirty later. `link` is the driver's own, and nobody else's. With `consumers` its answers leave
    together with the deliveries of the turn.
    """

    __slots__ = (
        "answer_at_ms",
        "close_now",
        "closing",
        "consumers",
        "dirty",
        "finished",
        "held_octets",
        "input_pending",
        "link",
        "output_left",
        "read_octets",
        "readable",
        "recv_count",
        "recv_octets",
        "send_count",
        "send_octets",
        "throttled_by",
        "tls",
        "turn",
    )

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.input_pending = False
        self.readable = True
        self.closing = False
        self.consumers = 0  # of all its channels
        self.finished = False
        self.answer_at_ms = 0
        self.close_now = False
        self.dirty = False
        self.output_left = False
        self.link: Any = None
        self.throttled_by: Any = None
        self.tls: TlsFacts | None = None  # what was agreed on, if it is encrypted
        self.held_octets = 0
        self.read_octets = 0
        self.recv_octets = 0
        self.recv_count = 0  # reads and writes of the socket, whatever came with each
        self.send_octets = 0
        self.send_count = 0

    @property
    def large_octets(self) -> int:
        """Return how much to read in a turn in the middle of large bodies."""
        return self.turn.large_octets if self.tls is None else self.turn.large_tls_octets

    @property
    def in_handshake(self) -> bool:
        """Tell whether the peer has not been let in yet: only so many may be there at a time."""
        raise NotImplementedError

    def receive(self, data: bytes) -> None:
        """Take octets as they came from the peer. Never raises for what a peer may send."""
        raise NotImplementedError

    def pop_output(self) -> list[Any]:
        """Give away the octets to be sent, in order, a FileOutput last; the caller owns the list."""
        raise NotImplementedError

    def output_sent(self, octets_left: int) -> None:
        """Learn that a send ended, with `octets_left` of what was taken still not accepted by the kernel."""
        raise NotImplementedError

    def tick(self) -> None:
        """Do what is due by the clock (heartbeats, handshake deadline). Called about once a second."""
        raise NotImplementedError

    def beat(self) -> None:
        """Do what cannot wait for the tick. Called twice as often, where the session has asked for it."""

    def peer_gone(self, reason: str) -> None:
        """Learn that the socket is closed; nothing can be sent any more. Idempotent."""
        raise NotImplementedError

    def close(self, reply_code: int, text: str) -> None:
        """Close from our side, politely (an operator, the daemon's stop)."""
        raise NotImplementedError

    def break_off(self) -> None:
        """Close after a bug of ours, which may stand in the way of that as well."""
        try:
            self.close(541, "INTERNAL_ERROR")
        except Exception:
            log.exception("internal error in closing %s", self, extra=event(BUG, self))
        self.finished = True
        self.mark_dirty()

    def log_fields(self) -> dict[str, object]:
        """Return what the log says about this peer, by the names of the fields."""
        return {}

    def peer_alive(self) -> bool:
        """Tell whether the peer's socket still stands (TCP_INFO, asked by an exclusive re-declare)."""
        return True

    def mark_dirty(self) -> None:
        """Note that there is output; it leaves at the end of the turn."""
        if not self.dirty:
            self.dirty = True
            turn = self.turn
            turn.sessions.append(self)
            if not turn.woken:
                turn.wake()
