"""Connection: one socket and the session behind it. Two watchers, no greenlet (data-model.md: concurrency).

Readable -> recv within the turn's share -> `session.receive`. At the end of the turn `flush`: one send of all output;
what the kernel refuses stays, and arms the write watcher. Knows octets and errno, no methods.
"""

import logging
import select
import socket
import struct
from typing import TYPE_CHECKING, Any, Final

from pybroker.net.draining import reset_on_close, unread

if TYPE_CHECKING:
    from pybroker.net.server import Server
    from pybroker.session import Session

READ: Final = 1
WRITE: Final = 2
# Parts of this size and above on average are handed to the kernel as they are, smaller ones are joined first.
JOIN_OCTETS_MAX: Final = 4_096
# Linux takes this many parts a call (IOV_MAX).
PARTS_MAX: Final = 1_024
# TCP states (linux/tcp_states.h) in which the peer still stands.
_ALIVE: Final = frozenset({1, 2, 3})

log = logging.getLogger("pybroker.connection")


class Connection:
    """Invariants: `_pending` not empty means the write watcher is armed; after `close` the socket is None."""

    __slots__ = ("_loop", "_pending", "_reader", "_server", "_sock", "_writer", "handshaking", "held", "session")

    def __init__(self, server: "Server", sock: socket.socket, session: "Session", loop: Any) -> None:
        self._server = server
        self._sock: socket.socket | None = sock
        self.session = session
        self.handshaking = True
        self.held = False  # the turn has us in a line, and starts the reader again
        self._pending: list[Any] = []
        self._loop = loop
        self._reader: Any = loop.io(sock.fileno(), READ)
        self._writer: Any = None
        session.link = self
        self._reader.start(self._on_readable)

    def _on_readable(self) -> None:
        session, turn = self.session, self._server.turn
        sock = self._sock
        if sock is None or not session.readable:
            self._reader.stop()
            return
        turn.readers += 1
        try:
            data = sock.recv(min(session.read_octets, turn.large_octets) or turn.read_octets)
        except BlockingIOError:
            return
        except OSError as error:
            self._peer_left(f"{error.strerror or error}")
            return
        if not data:
            self._peer_left("client unexpectedly closed TCP connection")
            return
        turn.clock.refresh()
        turn.reading = True
        self._receive(data)
        turn.after_reading()
        turn.linger.after_event()

    def _peer_left(self, reason: str) -> None:
        self._reader.stop()
        self._server.turn.peer_left(self, reason)

    def _receive(self, data: bytes) -> None:
        session, turn = self.session, self._server.turn
        try:
            session.receive(data)
        except Exception:
            # A bug in us: it costs this peer its connection, and the others nothing.
            log.exception("internal error on %s", session)
            session.break_off()
        if self.handshaking and self._server.handshake_over(session):
            self.handshaking = False
        if self._sock is None:
            return
        if not session.readable or session.behind:
            self._reader.stop()
            self._listen()
        elif session.held_by is not None:
            self.held = True
            self._reader.stop()
            turn.hold(self)

    def go_on(self) -> None:
        """Let the session do more of what it received; called by the turn."""
        self.held = False
        if self._sock is not None and self.session.readable:
            self._server.turn.readers += 1
            self._receive(b"")
            if not self.held:
                self._listen()

    def release(self) -> bool:
        """Read again if the queue that held this publisher has caught up; tell whether it is held no longer."""
        if self._sock is None:
            return True
        if self.session.held_by is not None and self.session.held_by.backlogged:
            return False
        self._read_again()
        return True

    def trickle(self) -> None:
        """Read a little although the queue is still behind."""
        if self._sock is not None:
            self.session.read_octets = self.session.held_octets
            self._read_again()

    def _read_again(self) -> None:
        self.held = False
        self._listen()

    def _listen(self) -> None:
        """Have more of the peer's input done, as soon as it may be: what was received before, or what it sends."""
        if self._sock is None or self.held or not self.session.readable:
            return
        if self.session.behind:
            self.held = True
            self._server.turn.later(self)
        elif not self._reader.active:
            self._reader.start(self._on_readable)

    def flush(self) -> None:
        """Send what the session has; close the socket when that was its last word."""
        if self._sock is None:
            return
        if self.session.answer_at_ms and self.session.finished and not self.session.cut:
            self._answer_late(b"".join(map(bytes, (*self._pending, *self.session.take_output()))))
            return
        if not self._pending:
            parts = self.session.take_output()
            if parts:
                self._send(parts)
        self._after_send()

    def _on_writable(self) -> None:
        pending, self._pending = self._pending, []
        self._send(pending)
        if not self._pending and self._sock is not None:
            self._writer.stop()
            parts = self.session.take_output()
            if parts:
                self._send(parts)
        self._after_send()

    def _after_send(self) -> None:
        if self._sock is None:
            return
        session = self.session
        if not session.finished:
            # Also while output waits: a peer that writes may not read before it has been read.
            if not self._reader.active:
                self._listen()
        elif session.cut:
            self._cut()
        elif not self._pending:
            self._drain()

    def _send(self, parts: list[Any]) -> None:
        """Send `parts` as far as the kernel takes them; keep the rest and arm the write watcher."""
        sock = self._sock
        assert sock is not None
        total = sum(map(len, parts))
        if len(parts) > 1 and total < len(parts) * JOIN_OCTETS_MAX:
            parts = [b"".join(parts)]
        left = total
        try:
            while parts:
                sent = sock.send(parts[0]) if len(parts) == 1 else sock.sendmsg(parts[:PARTS_MAX])
                left -= sent
                if not left:
                    parts = []
                    break
                parts = _without(parts, sent)
        except BlockingIOError:
            pass
        except OSError as error:
            self.close(f"{error.strerror or error}")
            return
        if parts:
            self._pending = parts
            if self._writer is None:
                self._writer = self._loop.io(sock.fileno(), WRITE)
            if not self._writer.active:
                self._writer.start(self._on_writable)
        self.session.output_sent(left)

    def _answer_late(self, octets: bytes) -> None:
        """Hand the socket over with what is to be said in the end; nothing else remains of the peer."""
        sock = self._sock
        assert sock is not None
        self._server.late.add(sock, octets, self.session.answer_at_ms)
        self._let_go("turned away")

    def _cut(self) -> None:
        """Close the socket at once; reset it if the peer does not read, or it would not learn of that."""
        sock = self._sock
        assert sock is not None
        if self._pending or unread(sock):
            reset_on_close(sock)
        self.close("closed")

    def _drain(self) -> None:
        """Hand the socket over to be closed when the peer has closed its own: what it still sends is of no interest."""
        sock, reader = self._sock, self._reader
        assert sock is not None
        self._reader = None
        self._let_go("closed")
        self._server.draining.add(sock, reader)

    def close(self, reason: str) -> None:
        """Close the socket and tell the session. Idempotent."""
        sock = self._sock
        if sock is not None:
            sock.close()
            self._let_go(reason)

    def _let_go(self, reason: str) -> None:
        """Be without the socket, which is closed or somebody else's now."""
        self._sock = None
        for watcher in (self._reader, self._writer):
            if watcher is not None:
                watcher.stop()
                watcher.close()
        self._pending = []
        self._server.connection_closed(self)
        self.session.peer_gone(reason)
        self.session.link = None

    def peer_alive(self) -> bool:
        """Ask the kernel whether the peer has closed its side: unread data would hide that from us (TCP_INFO)."""
        sock = self._sock
        if sock is None:
            return False
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
