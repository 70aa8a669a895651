"""Transport: one peer's socket and its two watchers. Octets in and out, is the peer alive, how it is closed.

All that is done with an accepted socket is done here, also by `delayed_close` and `draining`, which have the transports
of peers that were turned away or have ended. So TLS, a filter in front of it, is another class of this face, and
nobody else learns of it. Knows octets and errno, neither sessions nor turns.
"""

import fcntl
import ipaddress
import select
import socket
import struct
import termios
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pybroker.session import FileOutput

if TYPE_CHECKING:
    from collections.abc import Callable

READ: Final = 1
WRITE: Final = 2
# Parts of this size and above on average are handed to the kernel as they are, smaller ones are joined first.
JOIN_OCTETS_MAX: Final = 4_096
# Linux takes this many parts a call (IOV_MAX).
PARTS_MAX: Final = 1_024
# TCP states (linux/tcp_states.h) in which the peer still stands.
_ALIVE: Final = frozenset({1, 2, 3})

_LINGER_0: Final = struct.pack("ii", 1, 0)


class Transport:
    """A socket that never blocks. An OSError of `receive` or `send` ends it, but for BlockingIOError.

    When one of these could do nothing, the call back of `start_reading` or `start_writing` says when to try again. The
    transport itself knows which event it waits for: a filter may have to write before it can read, and to read before
    it can write. While `buffered`, there are octets for `receive` that no event will announce.
    """

    __slots__ = ("_loop", "_reader", "_sock", "_writer", "reading")

    buffered = False

    def __init__(self, sock: socket.socket, loop: Any) -> None:
        self._sock = sock
        self._loop = loop
        self._reader: Any = None
        self._writer: Any = None
        self.reading = False  # somebody is called back when there is something to receive

    def addresses(self) -> tuple[tuple[str, int], tuple[str, int], bool]:
        """Return (peer, local, whether the peer is this machine). The peer's address counts, never the listener's."""
        sock = self._sock
        if sock.family == socket.AF_UNIX:
            return ("unix", 0), (sock.getsockname(), 0), True
        peer, local = sock.getpeername(), sock.getsockname()
        address, is_loopback = read_address(peer[0])
        return (address, peer[1]), (local[0], local[1]), is_loopback

    # -- octets -------------------------------------------------------------------------------------------------------

    def receive(self, octets_max: int) -> bytes:
        """Return what the peer sent; no octets: it will send no more. Raises BlockingIOError, OSError."""
        return self._sock.recv(octets_max)

    def peek(self, octets_max: int) -> bytes:
        """Return what the peer sent without taking it, as `receive` does."""
        return self._sock.recv(octets_max, socket.MSG_PEEK)

    def discard(self, buffer: bytearray) -> int:
        """Forget what the peer sent, `buffer` full at most; return how much, as `receive` does."""
        return self._sock.recv_into(buffer)

    def send(self, parts: list[Any]) -> list[Any]:
        """Send `parts` as far as the kernel takes them; return the rest. Raises OSError."""
        sock = self._sock
        if parts and isinstance(parts[-1], FileOutput):
            return self._send_file(parts[:-1], parts[-1])
        if len(parts) == 1:
            left = len(parts[0])
        elif (left := sum(map(len, parts))) < len(parts) * JOIN_OCTETS_MAX:
            parts = [b"".join(parts)]
        try:
            while parts:
                sent = sock.send(parts[0]) if len(parts) == 1 else sock.sendmsg(parts[:PARTS_MAX])
                left -= sent
                if not left:
                    return []
                parts = _without(parts, sent)
        except BlockingIOError:
            pass
        return parts

    def _send_file(self, parts: list[Any], last: FileOutput) -> list[Any]:
        octets = last.read()
        if octets is not None:
            return self.send([*parts, octets])
        sock = self._sock
        try:
            while parts:
                sent = sock.sendmsg(parts[:PARTS_MAX], (), socket.MSG_MORE)
                parts = _without(parts, sent) if sent < sum(map(len, parts)) else []
            while last and last.send(sock.fileno()):
                pass
        except BlockingIOError:
            pass
        return [*parts, last] if last else []

    # -- when to try again --------------------------------------------------------------------------------------------

    def start_reading(self, call_back: "Callable[..., None]", *arguments: object) -> None:
        """Call back whenever there may be something to receive, or the peer is gone."""
        if self._reader is None:
            self._reader = self._loop.io(self._sock.fileno(), READ)
        self._reader.start(call_back, *arguments)
        self.reading = True

    def stop_reading(self) -> None:
        """Call nobody back for that."""
        if self._reader is not None:
            self._reader.stop()
            self.reading = False

    def start_writing(self, call_back: "Callable[[], None]") -> None:
        """Call back whenever something may be sent. Does nothing if that is so already."""
        if self._writer is None:
            self._writer = self._loop.io(self._sock.fileno(), WRITE)
        if not self._writer.active:
            self._writer.start(call_back)

    def stop_writing(self) -> None:
        """Call nobody back for that."""
        if self._writer is not None:
            self._writer.stop()

    def silence(self) -> None:
        """Call nobody back, and keep no watchers for it."""
        for watcher in (self._reader, self._writer):
            if watcher is not None:
                watcher.stop()
                watcher.close()
        self._reader = self._writer = None
        self.reading = False

    # -- ends ---------------------------------------------------------------------------------------------------------

    def peer_alive(self) -> bool:
        """Ask the kernel whether the peer has closed its side: unread data would hide that from us (TCP_INFO)."""
        sock = self._sock
        if sock.family == socket.AF_UNIX:
            # It has no states, but tells who hung up.
            poll = select.poll()
            poll.register(sock, select.POLLRDHUP)
            return not poll.poll(0)
        try:
            info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)
        except OSError:
            return False
        return struct.unpack_from("B", info)[0] in _ALIVE

    def unacknowledged(self) -> int:
        """Return how many octets were sent that the peer's kernel has not acknowledged."""
        return int(struct.unpack("i", fcntl.ioctl(self._sock, termios.TIOCOUTQ, bytes(4)))[0])

    def finish(self) -> None:
        """Tell the peer that nothing follows; it may still send. Raises OSError: it is gone."""
        self._sock.shutdown(socket.SHUT_WR)

    def close(self, *, reset: bool = False) -> None:
        """Close the socket. With `reset` the end does not wait behind what the peer does not read, for hours."""
        if reset:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
        self.silence()
        self._sock.close()


def _without(parts: list[Any], sent: int) -> list[Any]:
    """Return `parts` without their first `sent` octets."""
    at = 0
    while sent >= len(parts[at]):
        sent -= len(parts[at])
        at += 1
    parts = parts[at:]
    if sent:
        parts[0] = memoryview(parts[0])[sent:]
    return parts


@lru_cache(1_024)
def read_address(text: str) -> tuple[str, bool]:
    """Return an address as it is shown, and whether it is this machine's loopback."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return str(address), address.is_loopback
