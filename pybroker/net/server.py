"""Server: the listeners, and the connections they accepted."""

import os
import socket
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import gevent

from pybroker import descriptors
from pybroker.amqp.session import AmqpSession
from pybroker.core.resources.alarm import FILES
from pybroker.net.connection import Connection
from pybroker.net.delayed_close import DelayedClose
from pybroker.net.draining import Draining
from pybroker.net.listener import BACKLOG, Listener, tcp_socket, unix_socket
from pybroker.net.loop_cycle import LoopCycle
from pybroker.net.preamble import Preambles
from pybroker.net.proxy_step import ProxyStep
from pybroker.net.transport import Transport
from pybroker.peer import Peer
from pybroker.stream.session import StreamSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.broker import Broker
    from pybroker.net.preamble import Preamble, Step
    from pybroker.net.proxy_step import Network
    from pybroker.session import Session

# Connections that have not finished their handshake: at this many newcomers wait in the kernel's backlog. Each has ten
# seconds and costs 12 KiB at most, more with TLS (`handshake_line`). With 256 of them two thousand idle sockets kept
# honest clients out for a minute.
HANDSHAKES_MAX: Final = 4_096
# How often a stop looks whether everybody has gone.
STOP_POLL_S: Final = 0.01


class Door(NamedTuple):
    """Factories for the peers of a listener: of the transport, of the steps before the session, and of the session.

    Newcomers of one `kind` have so many places together, and leave the others theirs; the server sets it.
    """

    protocol: str
    session: "Callable[[Broker, Peer], Session]"
    transport: "Callable[[socket.socket, Any], Transport]" = Transport
    steps: "tuple[Callable[[Preamble], Step], ...]" = ()
    kind: str = ""


AMQP: Final = Door("amqp", AmqpSession)
STREAM: Final = Door("stream", StreamSession)


class Server:
    """Owns every socket of the doors."""

    def __init__(self, broker: "Broker") -> None:
        assert isinstance(broker.turn, LoopCycle)
        self.broker = broker
        self.turn = broker.turn
        self.turn.broker = broker
        self.connections: dict[Connection, None] = {}
        self._loop: Any = gevent.get_hub().loop
        self.delayed_close = DelayedClose(self._loop, self.turn.clock)
        self.draining = Draining(self._loop, self.turn.clock)
        self.preambles = Preambles(
            self._loop,
            self.turn,
            lambda: broker.settings.handshake_timeout_ms,
            self._enter,
            self.handshake_ended,
            self.draining.add,
        )
        # If there are any, each TCP connection begins with the header of one. May be replaced: it counts for newcomers.
        self.trusted_proxies: tuple[Network, ...] = ()
        self._handshakes: dict[str, int] = {}  # newcomers by the kind of their door
        self._paused: set[str] = set()
        self._files_short = False

    def listen_tcp(self, host: str, port: int, backlog: int = BACKLOG, door: Door = AMQP) -> Listener:
        """Listen on a TCP address; port 0 takes any. Raises OSError."""
        return self._listen(tcp_socket(host, port, backlog), "", door)

    def listen_unix(self, path: str, backlog: int = BACKLOG, door: Door = AMQP) -> Listener:
        """Listen on a Unix socket. Raises OSError."""
        return self._listen(unix_socket(path, backlog), path, door)

    def _listen(self, sock: socket.socket, path: str, door: Door) -> Listener:
        door = door._replace(kind="unix" if path else door.protocol)
        accepted = partial(self._accepted, door)
        listener = Listener(sock, self._loop, self.turn.spare, accepted, path, door.protocol, door.kind)
        self._handshakes.setdefault(door.kind, 0)
        self.broker.listeners.append(listener)
        if self._files_short:
            self._paused.add(door.kind)
        if door.kind not in self._paused:
            listener.start()
        return listener

    def _accepted(self, door: Door, sock: socket.socket) -> None:
        if self.trusted_proxies and sock.family != socket.AF_UNIX:
            door = door._replace(steps=(partial(ProxyStep, self.trusted_proxies), *door.steps))
        transport = door.transport(sock, self._loop)
        peer = Peer(*transport.addresses(), self.turn.clock.now_ms)
        if door.steps:
            self._handshakes[door.kind] += 1
            self.preambles.begin(door, transport, peer)
        else:
            self._enter(door, transport, peer)
            self._handshakes[door.kind] += 1
        # The lowest free number is given out first, so that below this one all are taken.
        if sock.fileno() >= files_max():
            self.check_files()
        self._open_or_close()

    def _enter(self, door: Door, transport: Transport, peer: Peer) -> None:
        self.connections[Connection(self, transport, door.session(self.broker, peer), door.kind)] = None

    def connection_closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self.connections.pop(connection, None)
        if connection.newcomer:
            kind, connection.newcomer = connection.newcomer, ""
            self.handshake_ended(kind)

    def handshake_ended(self, kind: str) -> None:
        """Count a connection whose handshake is over, or its preamble: another one of its kind may come in."""
        self._handshakes[kind] -= 1
        if self._paused:
            self._open_or_close()

    def check_files(self) -> None:
        """Let nobody in while file descriptors are short: the log, definitions and operators need some too.

        Called about once a second: others open files as well, and no connection tells when there are enough again.
        """
        lowest, limit = _lowest_free_file(), descriptors.limit()
        self._files_short = lowest >= files_max()
        if self._files_short:
            self.broker.alarms.set(FILES, f"{lowest} or more of {limit} are in use, the rest is reserved for the node")
        else:
            self.broker.alarms.clear(FILES)
        self._open_or_close()

    def _open_or_close(self) -> None:
        """Have newcomers wait in the kernel's backlog, or come in."""
        most = 0 if self._files_short else _handshakes_max(len(self._handshakes))
        paused = {kind for kind, count in self._handshakes.items() if count >= most}
        if paused == self._paused:
            return
        for kind in paused - self._paused if most else ():
            text = f"{most} {kind} connections are in their handshake: others wait until one of these is over"
            self.broker.warn("listener.full", f"full {kind}", text)
        self._paused = paused
        for listener in self.broker.listeners:
            if listener.kind in paused:
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
        self.delayed_close.close()
        self.preambles.close()
        for connection in list(self.connections):
            connection.session.close(320, text)
        deadline_s = time.monotonic() + timeout_s
        while self.connections and time.monotonic() < deadline_s:
            gevent.sleep(STOP_POLL_S)
        for connection in list(self.connections):
            connection.close(text)
        self.turn.spare.finish()
        self.draining.close()


def _handshakes_max(kinds: int) -> int:
    """Return how many of each kind may be in their handshake: all leave descriptors for peers that are through it."""
    return min(HANDSHAKES_MAX, descriptors.limit() // (4 * max(1, kinds)))


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
