"""Delayed close: transports of peers that could not log in, until the time has come to tell them.

No greenlet, no watcher, no session: a transport and some octets each, SOCKETS_MAX at most. When there are more, the
one that is due first is answered at once, so a flood gets its answers sooner, and nothing of ours. Knows octets, no
methods.
"""

import heapq
import itertools
from typing import TYPE_CHECKING, Any, Final

from pybroker import descriptors

if TYPE_CHECKING:
    from pybroker.clock import Clock
    from pybroker.net.transport import Transport

    Entry = tuple[int, int, Transport, bytes, int]

# A thousand wrong passwords a second, two seconds each.
SOCKETS_MAX: Final = 2_048
# How often due entries are looked for; often enough that each turn has few.
TICK_S: Final = 0.02
# After the answer the peer has so long to read it: a socket closed with something unread in it takes the answer along.
READING_MS: Final = 500

# The steps of an entry, one after the other.
ANSWER, FINISH, CLOSE = range(3)


class DelayedClose:
    """Owned by the server. Each entry: when (ms), its number, the transport, octets to send, the step that is due.

    The sending side is shut down some time after the answer: right behind it some clients take that for a reset.
    """

    def __init__(self, loop: Any, clock: "Clock") -> None:
        self._clock = clock
        self._entries: list[Entry] = []
        self._numbers = itertools.count()
        self._timer: Any = loop.timer(TICK_S, TICK_S)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, transport: "Transport", octets: bytes, at_ms: int) -> None:
        """Take a transport over, and send `octets` when it is time; without any it is only closed then."""
        if len(self._entries) >= waiting_sockets_max():
            self._advance(heapq.heappop(self._entries), None)
        step = ANSWER if octets else CLOSE
        heapq.heappush(self._entries, (at_ms, next(self._numbers), transport, octets, step))
        if not self._timer.active:
            self._timer.start(self._tick)

    def _tick(self) -> None:
        self._clock.refresh()
        now_ms = self._clock.now_ms
        entries = self._entries
        while entries and entries[0][0] <= now_ms:
            self._advance(heapq.heappop(entries), now_ms + READING_MS)
        if not entries:
            self._timer.stop()

    def _advance(self, entry: "Entry", next_ms: int | None) -> None:
        """Take the step that is due, and the next one at `next_ms`; without a time take all of them now."""
        _, _, transport, octets, step = entry
        try:
            while step != CLOSE:
                if step == ANSWER:
                    transport.send([octets])  # it fits: nothing else was sent but a greeting
                else:
                    transport.finish()
                step += 1
                if next_ms is not None:
                    heapq.heappush(self._entries, (next_ms, next(self._numbers), transport, octets, step))
                    return
        except OSError:
            pass  # it has gone
        transport.close()

    def close(self) -> None:
        """Close all of them."""
        self._timer.stop()
        for entry in self._entries:
            entry[2].close()
        self._entries.clear()


def waiting_sockets_max() -> int:
    """Return how many sockets may wait: they must leave file descriptors for accepted peers."""
    return min(SOCKETS_MAX, descriptors.limit() // 8)
