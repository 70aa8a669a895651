"""Draining: sockets of sessions that have ended, whose peers may still be sending.

A socket that is closed with unread input resets its connection, and the reset destroys what the peer has not read yet:
our connection.close-ok, for example. So the sending side is shut down, input is discarded until the peer closes, and
after a deadline the socket is closed all the same. Knows octets, no methods.
"""

import fcntl
import socket
import struct
import termios
from typing import TYPE_CHECKING, Any, Final

from pybroker.net.late import late_max

if TYPE_CHECKING:
    from pybroker.clock import Clock

# RabbitMQ waits as long for a peer to close its socket (rabbit_reader.erl, CLOSING_TIMEOUT).
DEADLINE_MS: Final = 30_000
TICK_S: Final = 1.0
# Input is read into one buffer and forgotten.
BUFFER_OCTETS: Final = 65_536

_LINGER_0: Final = struct.pack("ii", 1, 0)


def unread(sock: socket.socket) -> int:
    """Return how many octets were sent that the peer's kernel has not acknowledged."""
    return int(struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0])


def reset_on_close(sock: socket.socket) -> None:
    """Have `close` reset the connection: its end would wait behind what the peer does not read, for hours."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)


class Draining:
    """Owned by the server. `_due` has the sockets with their deadlines (ms) and watchers, the earliest first."""

    def __init__(self, loop: Any, clock: "Clock") -> None:
        self._clock = clock
        self._due: dict[socket.socket, tuple[int, Any]] = {}
        self._buffer = bytearray(BUFFER_OCTETS)
        self._timer: Any = loop.timer(TICK_S, TICK_S)

    def __len__(self) -> int:
        return len(self._due)

    def add(self, sock: socket.socket, reader: Any) -> None:
        """Take over a socket and its watcher for input; with too many sockets, close the oldest one."""
        try:
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            # The peer is gone.
            self._end(sock, reader)
            return
        if len(self._due) >= late_max():
            self._give_up(next(iter(self._due)))
        self._due[sock] = (self._clock.now_ms + DEADLINE_MS, reader)
        reader.stop()
        reader.start(self._on_readable, sock)
        if not self._timer.active:
            self._timer.start(self._tick)

    def _on_readable(self, sock: socket.socket) -> None:
        try:
            if sock.recv_into(self._buffer):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._close(sock)

    def _tick(self) -> None:
        self._clock.refresh()
        while self._due:
            sock, (due_ms, _) = next(iter(self._due.items()))
            if due_ms > self._clock.now_ms:
                return
            self._give_up(sock)

    def _give_up(self, sock: socket.socket) -> None:
        reset_on_close(sock)
        self._close(sock)

    def _close(self, sock: socket.socket) -> None:
        _, reader = self._due.pop(sock)
        self._end(sock, reader)
        if not self._due:
            self._timer.stop()

    @staticmethod
    def _end(sock: socket.socket, reader: Any) -> None:
        reader.stop()
        reader.close()
        sock.close()

    def close(self) -> None:
        """Close all of them."""
        for sock in list(self._due):
            self._close(sock)
