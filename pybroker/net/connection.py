"""Connection: one transport and the session behind it. No greenlet.

Readable -> receive within the turn's share -> `session.receive`. At the end of the turn `flush`: one send of all
output; the rest stays until it can be written. Knows octets, neither sockets nor methods.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.log_event import BUG, event
from pybroker.session import FileOutput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pybroker.net.server import Server
    from pybroker.net.transport import Transport
    from pybroker.session import Session

# A younger connection may be gone soon: while there are no others, newcomers get all the time there is.
SETTLED_AFTER_MS: Final = 1_000

log = logging.getLogger("pybroker.connection")


class Connection:
    """Invariants: while `_pending` is not empty `_on_writable` is called back, or was and `flush` goes on with it;
    after `close` the transport is None.
    """

    __slots__ = ("_is_writable", "_pending", "_server", "_settled_ms", "_transport", "held", "newcomer", "session")

    def __init__(self, server: "Server", transport: "Transport", session: "Session", kind: str) -> None:
        self._server = server
        self._transport: Transport | None = transport
        self.session = session
        # Of its door, until the last answer of its handshake is sent: it is read and answered in steps of spare time.
        self.newcomer = kind
        self._settled_ms = 0  # from then on newcomers must not keep it waiting
        self.held = False  # the turn has us in a line, and starts the reader again
        self._pending: Sequence[Any] = ()
        self._is_writable = False  # what is pending can be sent in the next turn
        session.link = self
        # A filter may have octets already that no event will announce.
        self._listen()

    def _on_readable(self) -> None:
        transport = self._transport
        if transport is None:
            return
        if not self.session.readable:
            transport.stop_reading()
        elif self.newcomer:
            self._wait("read", self._read_newcomer)
        elif self._read(transport):
            turn = self._server.turn
            if turn.clock.now_ms >= self._settled_ms:
                turn.served_ms = turn.clock.now_ms
            turn.after_reading()
            turn.busy_poll.after_event()

    def _wait(self, kind: str, step: "Callable[[], object]") -> None:
        """Take a step of a newcomer when there is time for it."""
        assert self._transport is not None
        self.held = True
        self._transport.stop_reading()
        self._server.turn.spare.do_later(kind, step)

    def _read_newcomer(self) -> None:
        self.held = False
        if self._transport is None or not self.session.readable:
            return
        data = self._take(self._transport)
        if data:
            self._wait("heed", partial(self._heed_newcomer, data))
        else:
            self._listen()

    def _heed_newcomer(self, data: bytes) -> None:
        self.held = False
        if self._transport is not None:
            self._receive(data)
            self._listen()

    def _read(self, transport: "Transport") -> bool:
        """Have the session do what the peer sent, this turn's share at most; tell whether there was anything."""
        data = self._take(transport)
        if not data:
            return False
        turn = self._server.turn
        turn.clock.refresh()
        turn.reading = True
        self._receive(data)
        if transport.buffered:
            self._listen()
        return True

    def _take(self, transport: "Transport") -> bytes:
        """Return what the peer sent, this turn's share at most: nothing if there is nothing, or it has left."""
        wanted, turn = self.session.read_octets, self._server.turn
        turn.readers += 1
        if turn.readers > turn.sharers:
            turn.share(turn.readers)
        try:
            data = transport.receive(min(wanted, turn.large_octets) if wanted else turn.read_octets)
        except BlockingIOError:
            return b""
        except OSError as error:
            self._peer_left(f"{error.strerror or error}")
            return b""
        if not data:
            self._peer_left("client unexpectedly closed TCP connection")
        return data

    def _peer_left(self, reason: str) -> None:
        assert self._transport is not None
        self._wait("leave", partial(self._leave, reason))

    def _leave(self, reason: str) -> None:
        """Forget a peer that has left, and close the socket when there is time for that, too."""
        if self._transport is not None:
            self._server.turn.spare.do_later("close", self._let_go(reason).close)

    def _receive(self, data: bytes) -> None:
        session, turn = self.session, self._server.turn
        try:
            session.receive(data)
        except Exception:
            # A bug in us: it costs this peer its connection, and the others nothing.
            log.exception("internal error on %s", session, extra=event(BUG, session))
            session.break_off()
        transport = self._transport
        if transport is None:
            return
        if not session.readable or session.input_pending:
            transport.stop_reading()
            self._listen()
        elif session.throttled_by is not None:
            self.held = True
            transport.stop_reading()
            turn.hold(self)

    def resume(self) -> None:
        """Let the session do more of what it, or the transport, has received; called by the turn."""
        self.held = False
        transport = self._transport
        if transport is None or not self.session.readable:
            return
        if transport.buffered and not self.session.input_pending:
            transport.start_reading(self._on_readable)
            self._read(transport)
            return
        self._server.turn.readers += 1
        self._receive(b"")
        if not self.held:
            self._listen()

    def release(self) -> bool:
        """Read again if the queue that held this publisher has caught up; tell whether it is held no longer."""
        if self._transport is None:
            return True
        if self.session.throttled_by is not None and self.session.throttled_by.backlogged:
            return False
        self._read_again()
        return True

    def trickle(self) -> None:
        """Read a little although the queue is still behind."""
        if self._transport is not None:
            self.session.read_octets = self.session.held_octets
            self._read_again()

    def _read_again(self) -> None:
        self.held = False
        self._listen()

    def _listen(self) -> None:
        """Have more of the peer's input handled as soon as possible: octets received before, or new ones."""
        transport = self._transport
        if transport is None or self.held or not self.session.readable:
            return
        if self.session.input_pending or transport.buffered:
            if self.newcomer:
                self._wait("resume", self.resume)
                return
            self.held = True
            transport.stop_reading()
            self._server.turn.later(self)
        elif not transport.reading:
            transport.start_reading(self._on_readable)

    def flush_step(self) -> None:
        """Send what a newcomer's session has, now that there is time for it."""
        if self.newcomer and not self.session.in_handshake:
            kind, self.newcomer = self.newcomer, ""
            self._settled_ms = self._server.turn.clock.now_ms + SETTLED_AFTER_MS
            self._server.handshake_ended(kind)
        self.flush()

    def flush(self) -> None:
        """Send what the session has; close the socket when that was its last word."""
        if self._transport is None:
            return
        if self.session.answer_at_ms and self.session.finished and not self.session.close_now:
            self._answer_delayed(b"".join(map(bytes, (*self._pending, *self.session.pop_output()))))
            return
        if self._is_writable:
            self._send_pending()
        if not self._pending and self._transport is not None:
            self._send_output()
        self._after_send()

    def _on_writable(self) -> None:
        assert self._transport is not None
        if self.session.output_left:
            # With the others, in this turn or a later one.
            self._transport.stop_writing()
            self._is_writable = True
            self.session.mark_dirty()
            return
        self._send_pending()
        if not self._pending and self._transport is not None:
            self._transport.stop_writing()
            self._send_output()
        self._after_send()

    def _send_pending(self) -> None:
        pending, self._pending = list(self._pending), ()
        self._is_writable = False
        self._send(pending)

    def _send_output(self) -> None:
        session = self.session
        parts = session.pop_output()
        if parts:
            self._send(parts)
            if session.output_left:
                self._send_more()

    def _send_more(self) -> None:
        """Send more of what the session makes as it is sent, no more than this turn's share."""
        session, turn = self.session, self._server.turn
        turn.senders += 1
        turn.slices += 1
        for _ in range(turn.sends - 1):
            if self._pending or self._transport is None or not session.output_left:
                return
            parts = session.pop_output()
            if not parts:
                return  # it says when there are some
            self._send(parts)
            turn.slices += 1
        if session.output_left and not self._pending and self._transport is not None:
            session.mark_dirty()

    def _after_send(self) -> None:
        if self._transport is None:
            return
        session = self.session
        if not session.finished:
            # Also while output waits: a peer that writes may not read before it has been read.
            if not self._transport.reading:
                self._listen()
        elif session.close_now:
            self._cut()
        elif not self._pending and not session.output_left:
            self._drain()

    def _send(self, parts: list[Any]) -> None:
        """Send `parts` as far as the transport takes them; keep the rest until it can be written."""
        transport = self._transport
        assert transport is not None
        try:
            parts = transport.send(parts)
        except OSError as error:
            self.close(f"{error.strerror or error}")
            return
        if parts:
            self._pending = parts
            if isinstance(parts[-1], FileOutput) and parts[-1].awaited:
                # The session marks itself dirty, whether or not more could be written.
                transport.stop_writing()
                self._is_writable = True
            else:
                transport.start_writing(self._on_writable)
            self.session.output_sent(sum(map(len, parts)))
        else:
            self.session.output_sent(0)

    def _answer_delayed(self, octets: bytes) -> None:
        """Hand the transport over with what is to be said in the end; nothing else remains of the peer."""
        transport = self._let_go("turned away")
        self._server.delayed_close.add(transport, octets, self.session.answer_at_ms)

    def _cut(self) -> None:
        """Close the socket at once; reset it if the peer does not read, or it would not learn of that."""
        assert self._transport is not None
        self._close("closed", reset=bool(self._pending or self._transport.unacknowledged()))

    def _drain(self) -> None:
        """Hand the transport over to be closed when the peer has closed its side: its input is ignored."""
        self._server.draining.add(self._let_go("closed"))

    def close(self, reason: str) -> None:
        """Close the socket and tell the session. Idempotent."""
        if self._transport is not None:
            self._close(reason)

    def _close(self, reason: str, *, reset: bool = False) -> None:
        assert self._transport is not None
        self._transport.close(reset=reset)
        self._let_go(reason)

    def _let_go(self, reason: str) -> "Transport":
        """Be without the transport, which is closed or somebody else's now."""
        transport, self._transport = self._transport, None
        assert transport is not None
        transport.silence()
        self._pending = ()
        self._server.connection_closed(self)
        self.session.peer_gone(reason)
        self.session.link = None
        return transport

    def peer_alive(self) -> bool:
        """Tell whether the peer has not closed its side, which unread data would hide from us."""
        return self._transport is not None and self._transport.peer_alive()
