"""A server in this process, on gevent's loop, and clients whose sockets are on the same loop."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from gevent import socket
from pamqp import base, commands, frame

from pybroker.clock import Clock
from pybroker.core.broker import Broker
from pybroker.core.settings import Settings
from pybroker.net.loop_cycle import LoopCycle
from pybroker.net.server import Server

PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"


class Client:
    """A socket that speaks pamqp. Every wait lets the server run, and none is longer than thirty seconds."""

    def __init__(self, address: Any) -> None:
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(address)
        self.octets = b""

    def send(self, *frames: Any, channel: int = 1) -> None:
        self.sock.sendall(b"".join(frame.marshal(each, channel) for each in frames))

    def receive(self) -> Any:
        """Return the next frame; None when the server has closed."""
        while len(self.octets) < 8 or len(self.octets) < int.from_bytes(self.octets[3:7]) + 8:
            data = self.sock.recv(1_000_000)
            if not data:
                return None
            self.octets += data
        used, _, value = frame.unmarshal(self.octets)
        self.octets = self.octets[used:]
        return value

    def call(self, method: base.Frame, channel: int = 1) -> Any:
        self.send(method, channel=channel)
        return self.receive()

    def open(self) -> "Client":
        """Shake hands and open channel 1."""
        self.sock.sendall(PROTOCOL_HEADER)
        assert isinstance(self.receive(), commands.Connection.Start)
        self.call(commands.Connection.StartOk({}, "PLAIN", "\0guest\0guest"), 0)
        self.send(commands.Connection.TuneOk(2_047, 131_072, 0), channel=0)
        assert isinstance(self.call(commands.Connection.Open("/"), 0), commands.Connection.OpenOk)
        assert isinstance(self.call(commands.Channel.Open()), commands.Channel.OpenOk)
        return self

    def close(self) -> None:
        self.sock.close()


@pytest.fixture
def server() -> Iterator[Server]:
    clock = Clock()
    clock.refresh()
    server = Server(Broker(Settings(), clock, LoopCycle(clock)))
    yield server
    server.stop("the test is over", 0.5)


@pytest.fixture
def connect(server: Server) -> Iterator[Callable[..., Client]]:
    """Return a function that connects to the server, on a TCP listener of its own or to an address."""
    clients: list[Client] = []

    def connect(address: Any = None) -> Client:
        if address is None:
            if not server.broker.listeners:
                server.listen_tcp("127.0.0.1", 0)
            listener = server.broker.listeners[0]
            address = (listener.interface, listener.port)
        clients.append(Client(address))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()
