"""One TCP connection as octets: a read that blocks, a write that never does. `tls` has its encrypted twin.

The two directions are independent: one thread reads, any thread writes (one at a time; `Outbox` sees to it).
"""

import contextlib
import select
import socket
from typing import Final

from pybroker.client.options import Address

# Large enough that a system call is shared by hundreds of small messages.
READ_OCTETS: Final = 1 << 18


def dial(address: Address, timeout_s: float) -> socket.socket:
    """Return a connected socket that blocks. Raises OSError."""
    sock = socket.create_connection(address, timeout=timeout_s)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.settimeout(None)
    return sock


class Stream:
    """Octets in, octets out. The socket stays in blocking mode; writes ask the system not to wait."""

    __slots__ = ("socket",)

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock

    def receive(self, timeout_s: float | None = None) -> bytes:
        """Return what has come, b"" at the end of the stream. Raises TimeoutError, OSError."""
        if timeout_s is not None and not self._poll(select.POLLIN, timeout_s):
            raise TimeoutError
        return self.socket.recv(READ_OCTETS)

    def send(self, octets: memoryview) -> int:
        """Return how many of the octets were taken; 0 if there is no room now. Raises OSError."""
        try:
            return self.socket.send(octets, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def flush(self) -> bool:
        """Tell whether all that `send` took has left this process. Raises OSError."""
        return True

    def wait_writable(self, timeout_s: float) -> None:
        """Wait until there is room, or the time-out ends."""
        self._poll(select.POLLOUT, timeout_s)

    def shut_down(self) -> None:
        """End both directions, which wakes the reader. The socket itself is closed by `close`."""
        with contextlib.suppress(OSError):  # it may not be connected any more
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the socket back to the system; nobody may be reading or writing."""
        self.socket.close()

    def _poll(self, event: int, timeout_s: float) -> bool:
        poll = select.poll()
        poll.register(self.socket, event)
        return bool(poll.poll(max(0, timeout_s) * 1_000))
