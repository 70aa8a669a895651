"""The proxy between clients and the daemon, on a port that stays the same: connections are cut, delayed and refused.

It forwards octets and knows nothing of AMQP. The port is bound from the beginning to the end, so that nobody else gets
it while clients are refused: a socket that is bound, but does not listen, is what refuses.
"""

import asyncio
import contextlib
import socket
import struct
from collections import deque
from collections.abc import Container
from typing import Final

from pybroker.testing.daemon_process import HOST

BACKLOG: Final = 512
# Octets that wait for their time on one side of a connection, before that side is not read any more.
DELAYED_OCTETS_MAX: Final = 1 << 20
# The close sends RST at once (socket(7), SO_LINGER).
AT_ONCE: Final = struct.pack("ii", 1, 0)


class Proxy:
    """Listener and connections. `upstream_port` is where the daemon listens now; `latency_s` delays each direction."""

    def __init__(self) -> None:
        self.upstream_port = 0
        self.latency_s = 0.0
        self.links: set[Side] = set()  # one for each connection: the client's side
        self._server: asyncio.Server | None = None
        self._reserved = _bound(0)
        self.port: int = self._reserved.getsockname()[1]

    async def accept(self) -> None:
        """Let clients in."""
        if self._server is None:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(lambda: Side(self), sock=_bound(self.port), backlog=BACKLOG)

    def refuse(self) -> None:
        """Refuse new connections (ECONNREFUSED); those that there are go on."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def drop(self, ports: Container[int] | None = None) -> int:
        """Cut connections without a word, as a failing network does; return how many.

        `ports` are those on the daemon's side of the connections to cut, by default of all.
        """
        chosen = [link for link in self.links if ports is None or link.upstream_port in ports]
        for link in chosen:
            link.cut()
        return len(chosen)


class Side(asyncio.Protocol):
    """One side of a connection: what it receives goes to the `other`, after the latency of the proxy."""

    def __init__(self, proxy: Proxy, other: "Side | None" = None) -> None:
        self._proxy = proxy
        self._other = other
        self._transport: asyncio.Transport | None = None
        # When each piece is due; an empty one is the end.
        self._delayed: deque[tuple[float, bytes]] = deque()
        self._delayed_octets = 0
        self._timer: asyncio.TimerHandle | None = None
        self._connecting: asyncio.Task[None] | None = None

    # -- what the loop calls ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to forward; a client first gets its connection to the daemon."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._other is None:
            self._proxy.links.add(self)
            loop = asyncio.get_running_loop()
            # Not now: before Python 3.11.4 a transport begins to read after this call, paused or not.
            loop.call_soon(transport.pause_reading)
            self._connecting = loop.create_task(self._connect())

    def data_received(self, data: bytes) -> None:
        """Forward octets."""
        if self._proxy.latency_s or self._delayed:
            self._delay(data)
        else:
            self._forward(data)

    def eof_received(self) -> bool:
        """Forward the end of a direction; the other one stays open."""
        self._delay(b"")
        return True

    def pause_writing(self) -> None:
        """Read no more from the other side than this one can send."""
        if self._other is not None:
            self._other._pause()

    def resume_writing(self) -> None:
        """Read from the other side again."""
        if self._other is not None:
            self._other._resume()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the other side: after what is still to be sent, or at once if this one was reset."""
        self._proxy.links.discard(self)
        other = self._other
        if other is None or other._transport is None:
            return
        if exc is not None:
            other.cut()
        elif self._delayed:
            self._delay(b"")
        else:
            other._transport.close()

    # -- what the proxy does ------------------------------------------------------------------------------------------

    @property
    def upstream_port(self) -> int:
        """Return the port from which the daemon sees a client's connection; 0 before there is one."""
        transport = None if self._other is None else self._other._transport
        return 0 if transport is None else int((transport.get_extra_info("sockname") or (HOST, 0))[1])

    def cut(self) -> None:
        """Reset both sides."""
        for side in (self, self._other):
            if side is not None and side._transport is not None and not side._transport.is_closing():
                with contextlib.suppress(OSError):
                    side._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                side._transport.abort()

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, self._other = await loop.create_connection(
                lambda: Side(self._proxy, self), HOST, self._proxy.upstream_port
            )
        except OSError:
            self.cut()
            return
        assert self._transport is not None
        if self._transport.is_closing():
            self._other.cut()
        else:
            self._transport.resume_reading()

    def _forward(self, data: bytes) -> None:
        other = self._other
        if other is None or other._transport is None or other._transport.is_closing():
            return
        if data:
            other._transport.write(data)
        elif self._transport is not None and self._transport.is_closing():
            other._transport.close()
        elif other._transport.can_write_eof():
            other._transport.write_eof()

    def _delay(self, data: bytes) -> None:
        """Forward octets, or the end, when their time has come: never before those that came before them."""
        due = asyncio.get_running_loop().time() + self._proxy.latency_s
        self._delayed.append((max(due, self._delayed[-1][0]) if self._delayed else due, data))
        self._delayed_octets += len(data)
        if self._delayed_octets > DELAYED_OCTETS_MAX:
            self._pause()
        self._flush()

    def _flush(self) -> None:
        """Forward what is due, and come back for the rest."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        # The loop's timers are as exact as its clock.
        now = loop.time() + 0.000_5
        while self._delayed and self._delayed[0][0] <= now:
            data = self._delayed.popleft()[1]
            self._delayed_octets -= len(data)
            self._forward(data)
        if self._delayed_octets <= DELAYED_OCTETS_MAX:
            self._resume()
        if self._delayed:
            self._timer = loop.call_at(self._delayed[0][0], self._flush)

    def _pause(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing() and self._other is not None:
            self._transport.resume_reading()


def _bound(port: int) -> socket.socket:
    """Return a socket bound to a port; several may be as long as one of them listens at most (socket(7))."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((HOST, port))
    return bound
