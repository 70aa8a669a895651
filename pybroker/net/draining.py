"""Draining: transports of sessions that have ended, whose peers may still be sending.

A socket that is closed with unread input resets its connection, and the reset destroys what the peer has not read yet:
our connection.close-ok, for example. So the sending side is shut down, input is discarded until the peer closes, and
after a deadline the socket is closed all the same. Knows octets, no methods.
"""

from typing import TYPE_CHECKING, Any, Final

from pybroker.net.delayed_close import waiting_sockets_max

if TYPE_CHECKING:
    from pybroker.clock import Clock
    from pybroker.net.transport import Transport

# RabbitMQ waits as long for a peer to close its socket (rabbit_reader.erl, CLOSING_TIMEOUT).
DEADLINE_MS: Final = 30_000
TICK_S: Final = 1.0
# Input is read this much at a time, and forgotten.
BUFFER_OCTETS: Final = 65_536


class Draining:
    """Owned by the server. `_due` has the transports with their deadlines (ms), the earliest first."""

    def __init__(self, loop: Any, clock: "Clock") -> None:
        self._clock = clock
        self._due: dict[Transport, int] = {}
        self._timer: Any = loop.timer(TICK_S, TICK_S)

    def __len__(self) -> int:
        return len(self._due)

    def add(self, transport: "Transport") -> None:
        """Take over a transport; with too many of them, close the oldest one."""
        try:
            transport.finish()
        except OSError:
            # The peer is gone.
            transport.close()
            return
        if len(self._due) >= waiting_sockets_max():
            self._close(next(iter(self._due)), reset=True)
        self._due[transport] = self._clock.now_ms + DEADLINE_MS
        transport.start_reading(self._on_readable, transport)
        if not self._timer.active:
            self._timer.start(self._tick)

    def _on_readable(self, transport: "Transport") -> None:
        try:
            if transport.discard(bytearray(BUFFER_OCTETS)):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._close(transport)

    def _tick(self) -> None:
        self._clock.refresh()
        while self._due:
            transport, due_ms = next(iter(self._due.items()))
            if due_ms > self._clock.now_ms:
                return
            self._close(transport, reset=True)

    def _close(self, transport: "Transport", *, reset: bool = False) -> None:
        del self._due[transport]
        transport.close(reset=reset)
        if not self._due:
            self._timer.stop()

    def close(self) -> None:
        """Close all of them."""
        for transport in list(self._due):
            self._close(transport)
