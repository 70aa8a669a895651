"""Server: the listeners, and the connections they accepted."""

import ipaddress
import os
import socket
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import gevent

from pybroker import descriptors
from pybroker.amqp.session import AmqpSession
from pybroker.core.alarm import FILES
from pybroker.net.connection import Connection
from pybroker.net.draining import Draining
from pybroker.net.late import LateAnswers
from pybroker.net.listener import BACKLOG, Listener, tcp_socket, unix_socket
from pybroker.net.turn import LoopTurn

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.session import Session

# Connections that have not finished their handshake: at this many newcomers wait in the kernel's backlog. Each has ten
# seconds and costs 12 KiB at most; with 256 of them two thousand idle sockets kept honest clients out for a minute.
HANDSHAKES_MAX: Final = 4_096
# How often a stop looks whether everybody has gone.
STOP_POLL_S: Final = 0.01


class Server:
    """Owns every socket of the AMQP door."""

    def __init__(self, broker: "Broker") -> None:
        assert isinstance(broker.turn, LoopTurn)
        self.broker = broker
        self.turn = broker.turn
        self.turn.broker = broker
        self.connections: dict[Connection, None] = {}
        self._loop: Any = gevent.get_hub().loop
        self.late = LateAnswers(self._loop, self.turn.clock)
        self.draining = Draining(self._loop, self.turn.clock)
        self._handshakes = 0
        self._paused = False
        self._files_short = False

    def listen_tcp(self, host: str, port: int, backlog: int = BACKLOG) -> Listener:
        """Listen on a TCP address; port 0 takes any. Raises OSError."""
        return self._started(Listener(tcp_socket(host, port, backlog), self._loop, self._accepted))

    def listen_unix(self, path: str, backlog: int = BACKLOG) -> Listener:
        """Listen on a Unix socket. Raises OSError."""
        return self._started(Listener(unix_socket(path, backlog), self._loop, self._accepted, path))

    def _started(self, listener: Listener) -> Listener:
        if not self._paused:
            listener.start()
        self.broker.listeners.append(listener)
        return listener

    def _accepted(self, sock: socket.socket) -> None:
        peer, local, is_local = _addresses(sock)
        session = AmqpSession(self.broker, peer, local, peer_is_local=is_local)
        self.connections[Connection(self, sock, session, self._loop)] = None
        self._handshakes += 1
        # The lowest free number is given out first, so that below this one all are taken.
        if sock.fileno() >= files_max():
            self.check_files()
        self._open_or_close()

    def handshake_over(self, session: "Session") -> bool:
        """Tell whether the session is through its handshake, and count it."""
        assert isinstance(session, AmqpSession)
        if session.state in ("header", "starting", "securing", "tuning", "opening"):
            return False
        self._handshake_ended()
        return True

    def connection_closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self.connections.pop(connection, None)
        if connection.handshaking:
            connection.handshaking = False
            self._handshake_ended()

    def _handshake_ended(self) -> None:
        self._handshakes -= 1
        self._open_or_close()

    def check_files(self) -> None:
        """Let nobody in while file descriptors are short: the log, definitions and operators need some too (E12).

        Called about once a second: others open files as well, and no connection tells when there are enough again.
        """
        lowest, limit = _lowest_free_file(), descriptors.limit()
        self._files_short = lowest >= files_max()
        if self._files_short:
            self.broker.alarms.set(
                FILES, f"{lowest} or more of {limit} are in use, the rest is kept for the node itself"
            )
        else:
            self.broker.alarms.clear(FILES)
        self._open_or_close()

    def _open_or_close(self) -> None:
        """Have newcomers wait in the kernel's backlog, or come in."""
        closed = self._files_short or self._handshakes >= _handshakes_max()
        if closed == self._paused:
            return
        self._paused = closed
        for listener in self.broker.listeners:
            if closed:
                listener.pause()
            else:
                listener.start()

    def close_listeners(self) -> None:
        """Listen no more; connections go on."""
        listeners, self.broker.listeners[:] = list(self.broker.listeners), []
        for listener in listeners:
            listener.close()

    def stop(self, text: str, timeout_s: float) -> None:
        """Close the listeners, say 320 to every client, and wait for their answers, `timeout_s` at most."""
        self.close_listeners()
        self.late.close()
        for connection in list(self.connections):
            connection.session.close(320, text)
        waited_s = 0.0
        while self.connections and waited_s < timeout_s:
            gevent.sleep(STOP_POLL_S)
            waited_s += STOP_POLL_S
        for connection in list(self.connections):
            connection.close(text)
        self.draining.close()


def _handshakes_max() -> int:
    """Return how many may be in their handshake: they must leave file descriptors for those who are through it."""
    return min(HANDSHAKES_MAX, descriptors.limit() // 4)


def files_max() -> int:
    """Return how many files may be open before nobody is let in: a tenth and a hundred are kept, as RabbitMQ does."""
    limit = descriptors.limit()
    return limit - min(limit // 10 + 100, limit // 4)


def _lowest_free_file() -> int:
    """Return the number that the next file would get: there are at least as many."""
    try:
        number = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return descriptors.limit()
    os.close(number)
    return number


def _addresses(sock: socket.socket) -> tuple[tuple[str, int], tuple[str, int], bool]:
    """Return (peer, local, whether the peer is this machine). The peer's address counts, never the listener's."""
    if sock.family == socket.AF_UNIX:
        return ("unix", 0), (sock.getsockname(), 0), True
    peer, local = sock.getpeername(), sock.getsockname()
    address, is_loopback = _address(peer[0])
    return (address, peer[1]), (local[0], local[1]), is_loopback


@lru_cache(1_024)
def _address(text: str) -> tuple[str, bool]:
    """Return an address as it is shown, and whether it is this machine's loopback."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return str(address), address.is_loopback
