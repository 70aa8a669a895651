"""Late answers: transports of peers that could not log in, until the time has come to tell them.

No greenlet, no watcher, no session: a transport and some octets each, so many at most. When there are more the oldest
is answered at once, so a flood gets its answers sooner, and nothing of ours. Knows octets, no methods.
"""

import heapq
import itertools
from typing import TYPE_CHECKING, Any, Final

from pybroker import descriptors

if TYPE_CHECKING:
    from pybroker.clock import Clock
    from pybroker.net.transport import Transport

# A thousand wrong passwords a second, two seconds each.
SOCKETS_MAX: Final = 2_048
# How often is looked whether one is due: few in a turn.
TICK_S: Final = 0.02
# After the answer the peer has so long to read it: a socket closed with something unread in it takes the answer along.
READING_MS: Final = 500


class DelayedClose:
    """Owned by the server. Each entry: when (ms), its number, the transport, octets to send.

    With no octets the sending side is shut down, which some clients take for a reset if it comes right behind the
    answer; with None the transport is closed.
    """

    def __init__(self, loop: Any, clock: "Clock") -> None:
        self._clock = clock
        self._entries: list[tuple[int, int, Transport, bytes | None]] = []
        self._numbers = itertools.count()
        self._timer: Any = loop.timer(TICK_S, TICK_S)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, transport: "Transport", octets: bytes, at_ms: int) -> None:
        """Take a transport over, and send `octets` when it is time; without any it is only closed then."""
        if len(self._entries) >= delayed_close_max():
            self._answer(heapq.heappop(self._entries), None)
        heapq.heappush(self._entries, (at_ms, next(self._numbers), transport, octets or None))
        if not self._timer.active:
            self._timer.start(self._tick)

    def _tick(self) -> None:
        self._clock.refresh()
        now_ms = self._clock.now_ms
        entries = self._entries
        while entries and entries[0][0] <= now_ms:
            self._answer(heapq.heappop(entries), now_ms + READING_MS)
        if not entries:
            self._timer.stop()

    def _answer(self, entry: "tuple[int, int, Transport, bytes | None]", next_ms: int | None) -> None:
        """Do what is due, and the next step at `next_ms`; without a time do all of it now."""
        _, _, transport, octets = entry
        try:
            if octets:
                transport.send([octets])  # it fits: nothing else was sent but a greeting
            if octets is not None and (next_ms is None or not octets):
                transport.finish()
            if octets is not None and next_ms is not None:
                following = b"" if octets else None
                heapq.heappush(self._entries, (next_ms, next(self._numbers), transport, following))
                return
        except OSError:
            pass  # it has gone
        transport.close()

    def close(self) -> None:
        """Close all of them."""
        self._timer.stop()
        for _, _, transport, _ in self._entries:
            transport.close()
        self._entries.clear()


def delayed_close_max() -> int:
    """Return how many sockets may wait: they must leave file descriptors for accepted peers."""
    return min(SOCKETS_MAX, descriptors.limit() // 8)
