"""A filter in front of the socket: nobody but the listener's door knows of it, turned away peers have it as well."""

import os

import gevent
import pytest
from gevent import get_hub, socket
from pamqp import body as bodies, commands, frame, header

from pybroker.amqp.session import AmqpSession
from pybroker.core.peer import login
from pybroker.net.server import AMQP
from pybroker.net.transport import READ, WRITE, Transport
from pybroker.session import FileOutput
from tests.loop import until
from tests.net.conftest import Client

Basic, Connection, Queue = commands.Basic, commands.Connection, commands.Queue
PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
KEY = 0x5A
HELLO = b"hello"


def veiled(octets: bytes) -> bytes:
    return bytes(octet ^ KEY for octet in octets)


class Veil(Transport):
    """A toy of TLS: nothing can be read before a greeting was written, nor written before one was read.

    It decodes all that the socket has, and gives away what it is asked for: no event tells of the rest.
    """

    __slots__ = ("_calls", "_clear", "_greeted", "_welcome")

    def __init__(self, sock, loop) -> None:
        super().__init__(sock, loop)
        self._clear = b""
        self._welcome = HELLO
        self._greeted = False
        self._calls = []

    @property
    def buffered(self) -> bool:
        return bool(self._clear)

    def start_reading(self, call_back, *arguments) -> None:
        if not self._welcome:
            super().start_reading(call_back, *arguments)
        elif self._writer is None:
            self._writer = self._loop.io(self._sock.fileno(), WRITE)
            self._writer.start(self._write_first, call_back, *arguments)

    def _write_first(self, call_back, *arguments) -> None:
        assert super().send([self._welcome]) == []
        self._welcome = b""
        self._writer.stop()
        self._writer.close()
        self._writer = None
        self.start_reading(call_back, *arguments)

    def receive(self, octets_max: int) -> bytes:
        if not self._clear:
            octets = super().receive(1 << 20)
            if not self._greeted:
                assert octets.startswith(HELLO)
                self._greeted = True
                octets = octets[len(HELLO) :]
                if not octets:
                    raise BlockingIOError
            self._clear = veiled(octets)
        octets, self._clear = self._clear[:octets_max], self._clear[octets_max:]
        return octets

    def send(self, parts):
        if not self._greeted:
            return parts
        left = super().send([veiled(b"".join(map(bytes, parts)))])
        return [veiled(bytes(part)) for part in left]

    def addresses(self):
        _, local, _ = super().addresses()
        return ("192.0.2.7", 7), local, False


class VeiledSocket:
    """The client's end."""

    def __init__(self, sock) -> None:
        self.sock = sock
        got = b""
        while len(got) < len(HELLO):
            got += sock.recv(len(HELLO) - len(got))
        assert got == HELLO
        sock.sendall(HELLO)

    def sendall(self, octets: bytes) -> None:
        self.sock.sendall(veiled(octets))

    def recv(self, octets_max: int) -> bytes:
        return veiled(self.sock.recv(octets_max))

    def close(self) -> None:
        self.sock.close()


def session_of(broker, peer) -> AmqpSession:
    return AmqpSession(broker, peer._replace(is_local=True))


DOOR = AMQP._replace(protocol="veiled", session=session_of, transport=Veil)


@pytest.fixture
def veiled_client(server):
    """Return a function that connects through the filter."""
    listener = server.listen_tcp("127.0.0.1", 0, door=DOOR)
    clients = []

    def connect() -> Client:
        client = Client((listener.interface, listener.port))
        client.sock = VeiledSocket(client.sock)
        clients.append(client)
        return client

    yield connect
    for client in clients:
        client.close()


def publish(body: bytes) -> list:
    return [Basic.Publish(0, "", "q"), header.ContentHeader(0, len(body), Basic.Properties()), bodies.ContentBody(body)]


def test_a_listener_says_what_is_spoken_there(server):
    server.listen_tcp("127.0.0.1", 0)
    server.listen_tcp("127.0.0.1", 0, door=DOOR)
    assert ["amqp", "veiled"] == [listener.protocol for listener in server.broker.listeners]


def test_the_session_is_the_doors_and_its_addresses_the_filters(server, veiled_client):
    veiled_client().open()
    (session,) = server.broker.sessions.values()
    assert ("192.0.2.7", 7) == (session.peer_host, session.peer_port)


def test_what_a_filter_holds_is_read_although_no_event_tells_of_it(server, veiled_client, monkeypatch):
    client = veiled_client().open()
    client.call(Queue.Declare(queue="q"))
    server.turn.read_octets = 100
    monkeypatch.setattr("pybroker.net.loop_cycle.READ_OCTETS_MAX", 100)
    monkeypatch.setattr("pybroker.net.loop_cycle.READ_OCTETS_MIN", 100)
    one = b"".join(frame.marshal(each, 1) for each in publish(b"x" * 60))
    client.sock.sendall(one * 200)
    assert isinstance(client.call(Basic.Qos(prefetch_count=1)), Basic.QosOk)
    assert server.broker.vhosts["/"].queues["q"].messages_ready == 200


def test_much_goes_through_both_ways(server, veiled_client):
    client = veiled_client().open()
    client.call(Queue.Declare(queue="q"))
    for _ in range(40):
        client.send(*publish(bytes(100_000)))
    client.call(Basic.Consume(queue="q", no_ack=True))
    received = 0
    while received < 40 * 100_000:
        received += len(getattr(client.receive(), "value", b""))
    assert isinstance(client.call(Queue.Delete(queue="q")), Queue.DeleteOk)


def test_a_peer_that_was_turned_away_is_told_through_the_filter(server, veiled_client, monkeypatch):
    monkeypatch.setattr(login, "REFUSAL_MS_MIN", 20)
    monkeypatch.setattr(login, "REFUSAL_MS_MAX", 21)
    client = veiled_client()
    client.sock.sendall(PROTOCOL_HEADER)
    assert isinstance(client.receive(), Connection.Start)
    capable = {"capabilities": {"authentication_failure_close": True}}
    client.send(Connection.StartOk(capable, "PLAIN", "\0guest\0wrong"), channel=0)
    until(lambda: len(server.delayed_close))
    assert client.receive().reply_code == 403
    assert client.receive() is None


def test_a_session_that_ended_is_drained_through_the_filter(server, veiled_client):
    client = veiled_client().open()
    client.send(Connection.Close(200, "", 0, 0), channel=0)
    until(lambda: len(server.draining))
    client.send(*publish(b"nobody reads that"))
    assert isinstance(client.receive(), Connection.CloseOk)
    assert client.receive() is None
    client.close()
    until(lambda: not len(server.draining))


class File(FileOutput):
    """Octets that are there so far, of which a socket is given a few at a time; or that had to be read."""

    __slots__ = ("awaited", "left", "octets", "there")

    def __init__(self, octets: bytes, there: int, *, awaited: bool = False) -> None:
        self.left, self.there, self.awaited = octets, there, awaited
        self.octets: bytes | None = None

    def __len__(self) -> int:
        return len(self.left)

    def send(self, socket: int) -> int:
        part = self.left[: min(3, self.there)]
        sent = os.write(socket, part) if part else 0
        self.awaited = not sent
        self.left, self.there = self.left[sent:], self.there - sent
        return sent

    def read(self) -> memoryview | None:
        if self.octets is None:
            return None
        self.left = b""
        return memoryview(self.octets)


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    transport = Transport(ours, get_hub().loop)
    yield transport, theirs
    transport.close()
    theirs.close()


def test_octets_leave_before_the_file_behind_them(pair):
    transport, theirs = pair
    assert transport.send([b"12", b"34", File(b"5678901", 99)]) == []
    assert theirs.recv(99) == b"12345678901"
    assert transport.send([File(b"5678901", 99)]) == []
    assert theirs.recv(99) == b"5678901"


def test_what_is_not_there_yet_is_left(pair):
    transport, theirs = pair
    file = File(b"345678", 4)
    assert transport.send([b"12", file]) == [file]
    assert (theirs.recv(99), bytes(file.left), file.awaited) == (b"123456", b"78", True)
    file.octets = b"78"
    assert transport.send([file]) == []
    assert theirs.recv(99) == b"78"


def test_a_file_is_left_behind_octets_that_the_kernel_does_not_take(pair):
    transport, theirs = pair
    file, octets, got = File(b"567890", 99), bytes(range(256)) * 20_000, b""
    parts = transport.send([octets, file])
    while parts:
        assert parts[-1] is file
        got += theirs.recv(1 << 20)
        parts = transport.send(parts)
    theirs.setblocking(False)
    while len(got) < len(octets) + 6:
        got += theirs.recv(1 << 20)
    assert got == octets + b"567890"


def test_a_silenced_transport_calls_nobody_back_and_can_begin_again():
    ours, theirs = socket.socketpair()
    transport, heard = Transport(ours, get_hub().loop), []
    transport.start_reading(heard.append, READ)
    transport.start_writing(lambda: heard.append(WRITE))
    transport.silence()
    theirs.sendall(b"x")
    gevent.sleep(0.01)
    assert (heard, transport.reading) == ([], False)
    transport.start_reading(lambda: (heard.append(transport.receive(9)), transport.stop_reading()))
    until(lambda: heard)
    transport.close()
    theirs.close()
    assert heard == [b"x"]
