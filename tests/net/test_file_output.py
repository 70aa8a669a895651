"""Output that the system sends from files: a connection waits until it is there, and asks no more than once."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from gevent import get_hub, socket

from pybroker.clock import Clock
from pybroker.net.connection import Connection
from pybroker.net.loop_cycle import LoopCycle
from pybroker.net.transport import Transport
from pybroker.session import FileOutput, Session, Turn


class Page(FileOutput):
    """Two octets of a file that are there when they are read."""

    __slots__ = ("awaited", "octets")

    def __init__(self) -> None:
        self.awaited = False
        self.octets: bytes | None = None

    def __len__(self) -> int:
        return 2

    def send(self, socket: int) -> int:
        self.awaited = True
        return 0

    def read(self) -> memoryview | None:
        return None if self.octets is None else memoryview(self.octets)


class Giver(Session):
    """A session that has one page to give."""

    def __init__(self, page: Page) -> None:
        super().__init__(Turn())
        self.parts = [page]
        self.left: list[int] = []

    def pop_output(self) -> list[Page]:
        parts, self.parts = self.parts, []
        return parts

    def output_sent(self, octets_left: int) -> None:
        self.left.append(octets_left)

    def peer_gone(self, reason: str) -> None:
        pass


class Server:
    """The server of one connection."""

    def __init__(self) -> None:
        self.turn = LoopCycle(Clock())
        self.drained: list[Transport] = []
        self.draining = SimpleNamespace(add=self.drained.append)

    def connection_closed(self, _connection: Connection) -> None:
        pass


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


def test_what_has_to_be_read_first_is_not_asked_for_by_each_event(pair):
    ours, theirs = pair
    page = Page()
    session, server = Giver(page), Server()
    transport = Transport(ours, get_hub().loop)
    connection = Connection(server, transport, session, "amqp")
    connection.flush()
    connection.flush()
    assert (session.left, session.dirty, transport._writer) == ([2, 2], False, None)
    page.octets, page.awaited = b"12", False
    connection.flush()
    assert (theirs.recv(9), session.left) == (b"12", [2, 2, 0])
    session.finished = True
    connection.flush()
    assert server.drained == [transport]
