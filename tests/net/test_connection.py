"""One socket and its session: reading, writing, and every way in which it ends."""

import logging
import socket as plain
from types import SimpleNamespace

import gevent
import pytest
from gevent import get_hub
from hypothesis import given, strategies as st
from pamqp import body, commands, header

from pybroker.clock import Clock
from pybroker.core.channel.throttle import PEER
from pybroker.net.connection import Connection as Link
from pybroker.net.loop_cycle import LoopCycle
from pybroker.net.transport import PARTS_MAX, Transport, _without
from pybroker.session import Session, Turn
from tests.loop import until
from tests.slow import SlowDefinitions

Basic, Queue, Connection = commands.Basic, commands.Queue, commands.Connection


def publish(octets: bytes, queue: str = "q") -> list:
    size = 131_064
    bodies = [body.ContentBody(octets[at : at + size]) for at in range(0, len(octets), size)]
    return [Basic.Publish(0, "", queue), header.ContentHeader(0, len(octets), Basic.Properties()), *bodies]


def test_a_message_goes_through_a_socket(connect):
    client = connect().open()
    client.call(Queue.Declare(queue="q"))
    client.send(*publish(b"hello"))
    client.send(Basic.Get(queue="q", no_ack=True))
    method, head, content = client.receive(), client.receive(), client.receive()
    assert (method.routing_key, head.body_size, content.value) == ("q", 5, b"hello")


def test_octets_may_come_one_by_one(connect):
    from pamqp import frame

    client = connect().open()
    client.sock.setsockopt(plain.IPPROTO_TCP, plain.TCP_NODELAY, 1)
    for octet in frame.marshal(Queue.Declare(queue="q"), 1):
        client.sock.sendall(bytes([octet]))
    assert isinstance(client.receive(), Queue.DeclareOk)


def test_a_reader_that_does_not_read_is_waited_for_and_loses_nothing(connect, server):
    reader, writer = connect().open(), connect().open()
    writer.call(Queue.Declare(queue="q"))
    reader.call(Basic.Consume(queue="q", no_ack=True))
    count, size = 60, 100_000
    for _ in range(count):
        writer.send(*publish(bytes(size)))
    writer.call(Basic.Qos(prefetch_count=1))  # all of it has arrived
    (stuck,) = [c for c in server.connections if c._pending]
    queue = server.broker.vhosts["/"].queues["q"]
    assert queue.messages_ready > 0
    assert stuck.session.send_pend < 1_500_000
    received = 0
    while received < count * size:
        frame = reader.receive()
        received += len(frame.value) if isinstance(frame, body.ContentBody) else 0
    until(lambda: not stuck._pending)
    assert (received, queue.messages_ready) == (count * size, 0)


def test_a_lost_socket_ends_its_session(connect, server):
    client = connect().open()
    (session,) = server.broker.sessions.values()
    client.call(Queue.Declare(queue="mine", exclusive=True))
    client.close()
    until(lambda: not server.connections)
    assert (session.finished, server.broker.sessions) == (True, {})
    assert "mine" not in server.broker.vhosts["/"].queues


def test_a_reset_socket_ends_its_session(connect, server):
    client = connect().open()
    busy_poll = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
    client.sock.setsockopt(plain.SOL_SOCKET, plain.SO_LINGER, busy_poll)
    client.close()
    until(lambda: not server.connections)
    assert server.broker.sessions == {}


def test_our_last_word_is_sent_before_the_socket_is_closed(connect):
    client = connect().open()
    assert isinstance(client.call(Connection.Close(200, "", 0, 0), 0), Connection.CloseOk)
    assert client.receive() is None


def test_a_wrong_header_gets_ours_and_the_door(connect):
    client = connect()
    client.sock.sendall(b"HTTP/1.1")
    assert client.sock.recv(100) == b"AMQP\x00\x00\x09\x01"
    assert client.sock.recv(100) == b""


def test_a_bug_in_us_costs_one_connection_and_is_logged(connect, server, monkeypatch, caplog):
    victim, other = connect().open(), connect().open()
    session = min(server.broker.sessions.items())[1]

    def receive(self, data):
        if self is session:
            raise RuntimeError("a bug")
        return original(self, data)

    original = type(session).receive
    monkeypatch.setattr(type(session), "receive", receive)
    with caplog.at_level(logging.ERROR):
        reply = victim.call(Queue.Declare(queue="q"))
    assert (reply.reply_code, victim.receive()) == (541, None)
    assert "a bug" in caplog.text
    assert isinstance(other.call(Queue.Declare(queue="q")), Queue.DeclareOk)


@pytest.mark.parametrize("size", [1, 200_000, 5_000_000])
def test_bodies_of_any_size_come_back_as_they_went(connect, size):
    client = connect().open()
    client.call(Queue.Declare(queue="q"))
    octets = bytes(i % 253 for i in range(1_000)) * (size // 1_000 + 1)
    octets = octets[:size]
    client.send(*publish(octets))
    client.send(Basic.Get(queue="q", no_ack=True))
    assert isinstance(client.receive(), Basic.GetOk)
    left = client.receive().body_size
    assert left == size
    parts = []
    while left:
        parts.append(client.receive().value)
        left -= len(parts[-1])
    assert b"".join(parts) == octets


@pytest.mark.parametrize("unix", [True, False])
def test_the_kernel_knows_whether_the_peer_still_stands(connect, server, tmp_path, unix):
    address = str(tmp_path / "amqp.sock") if unix else None
    if address:
        server.listen_unix(address)
    client = connect(address).open()
    (connection,) = server.connections
    assert connection.peer_alive()
    connection._transport.stop_reading()  # flow control: we would not see the end
    client.send(*publish(b"1"))
    assert connection.peer_alive()
    client.close()
    until(lambda: not connection.peer_alive())
    assert connection in server.connections


def test_f42_a_client_that_reconnects_finds_its_exclusive_queue_free(connect, server):
    # the old socket is closed, and nobody has read that yet
    old = connect().open()
    old.call(Queue.Declare(queue="mine", exclusive=True))
    (connection,) = server.connections
    connection._transport.stop_reading()
    old.close()
    until(lambda: not connection.peer_alive())
    new = connect().open()
    assert isinstance(new.call(Queue.Declare(queue="mine", exclusive=True)), Queue.DeclareOk)


def test_a_peer_that_we_do_not_read_is_read_again_when_its_replies_have_left(connect, server):
    client = connect().open()
    (connection,) = server.connections
    session = connection.session
    session.stop_reading(PEER)
    client.send(Basic.Qos(prefetch_count=1))
    gevent.sleep(0.05)
    assert not connection._transport.reading
    session.send(b"\x08\0\0\0\0\0\0\xce")
    client.receive()
    until(lambda: connection._transport.reading)
    assert isinstance(client.receive(), Basic.QosOk)


def test_a_peer_that_closed_while_we_do_not_read_it_is_noticed_by_the_tick(connect, server):
    # Unread data hides the end of the stream from us, but not from the kernel.
    client = connect().open()
    (connection,) = server.connections
    connection.session.readable = False
    client.send(Basic.Qos(prefetch_count=1))
    gevent.sleep(0.05)
    server.broker.tick()
    gevent.sleep(0.02)
    assert connection in server.connections
    client.close()
    until(lambda: not connection.peer_alive())
    server.broker.tick()
    until(lambda: connection not in server.connections)


def test_a_bug_in_closing_after_a_bug_closes_the_socket_all_the_same(connect, server, monkeypatch, caplog):
    client = connect().open()
    (session,) = server.broker.sessions.values()

    def fail(*_args):
        raise RuntimeError("a bug")

    monkeypatch.setattr(type(session), "receive", fail)
    monkeypatch.setattr(type(session), "close", fail)
    client.send(Basic.Qos(prefetch_count=1))
    assert client.receive() is None
    assert "internal error in closing" in caplog.text


# -- sending, without a server ----------------------------------------------------------------------------------------


class Mouth(Session):
    """A session that has only something to say."""

    def __init__(self) -> None:
        super().__init__(Turn())
        self.parts: list[bytes] = []
        self.left: list[int] = []
        self.gone: list[str] = []

    def pop_output(self) -> list[bytes]:
        parts, self.parts = self.parts, []
        return parts

    def output_sent(self, octets_left: int) -> None:
        self.left.append(octets_left)

    def peer_gone(self, reason: str) -> None:
        self.gone.append(reason)


class Nobody:
    """The server of a connection that has none."""

    def connection_closed(self, _connection: Link) -> None:
        pass


class Reluctant:
    """A kernel that takes a few octets at a time and sometimes none."""

    def __init__(self, sock: plain.socket, portions: list[int]) -> None:
        self.sock = sock
        self.portions = portions
        self.octets = b""
        self.calls = 0

    def fileno(self) -> int:
        return self.sock.fileno()

    def close(self) -> None:
        self.sock.close()

    def send(self, part) -> int:
        return self.sendmsg([part])

    def sendmsg(self, parts) -> int:
        assert len(parts) <= PARTS_MAX
        self.calls += 1
        portion = self.portions.pop(0) if self.portions else 1 << 30
        if not portion:
            raise BlockingIOError
        octets = b"".join(parts)[:portion]
        self.octets += octets
        return len(octets)


def say(parts: list[bytes], portions: list[int]) -> tuple[Reluctant, Mouth]:
    """Send `parts` to a kernel that takes `portions`, however many events that needs."""
    ours, theirs = plain.socketpair()
    kernel, session = Reluctant(ours, portions), Mouth()
    link = Link(Nobody(), Transport(kernel, get_hub().loop), session, "amqp")
    session.parts = parts
    link.flush()
    for _ in range(1_000):
        if not link._pending:
            break
        link._on_writable()
    link.close("the test is over")
    theirs.close()
    return kernel, session


@given(
    sizes=st.lists(st.sampled_from([0, 1, 7, 300, 4_096, 9_000]), max_size=12),
    portions=st.lists(st.sampled_from([0, 1, 5, 300, 5_000, 20_000]), max_size=40),
)
def test_whatever_the_kernel_takes_at_a_time_the_octets_are_the_same(sizes, portions):
    parts = [bytes([i % 251]) * size for i, size in enumerate(sizes)]
    kernel, session = say(list(parts), portions)
    assert kernel.octets == b"".join(parts)
    assert session.left == sorted(session.left, reverse=True)
    assert not session.left or session.left[-1] == 0


def test_many_large_parts_are_sent_as_many_as_the_kernel_takes_at_a_time():
    parts = [bytes(5_000)] * (2 * PARTS_MAX + 3)
    kernel, _ = say(list(parts), [])
    assert len(kernel.octets) == 5_000 * len(parts)
    assert kernel.calls == 3


def test_small_parts_are_sent_as_one():
    kernel, _ = say([b"x" * 100] * 500, [])
    assert (kernel.calls, len(kernel.octets)) == (1, 50_000)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.data())
def test_what_was_sent_is_cut_from_the_front(sizes, data):
    parts = [bytes([i]) * size for i, size in enumerate(sizes)]
    sent = data.draw(st.integers(0, sum(sizes) - 1))
    assert b"".join(_without(parts, sent)) == b"".join(parts)[sent:]


def test_a_broken_pipe_ends_the_session_once():
    ours, theirs = plain.socketpair()
    session = Mouth()
    link = Link(Nobody(), Transport(ours, get_hub().loop), session, "amqp")
    theirs.close()
    session.parts = [b"x"]
    link.flush()
    link.flush()
    link.close("again")
    assert session.gone == ["Broken pipe"]
    assert not link.peer_alive()
    assert session.link is None


# -- output that is made as it is sent ---------------------------------------------------------------------------------


class Maker(Mouth):
    """A session that gives one part at a time; while it is `waiting` none."""

    def __init__(self, *parts: bytes) -> None:
        super().__init__()
        self.parts = list(parts)
        self.waiting = False
        self.output_left = True

    def pop_output(self) -> list[bytes]:
        if self.waiting or not self.parts:
            return []
        part = self.parts.pop(0)
        self.output_left = bool(self.parts)
        return [part]

    def receive(self, data: bytes) -> None:
        raise NotImplementedError


class Sharing(Nobody):
    """A server in whose turn a connection sends so many parts."""

    def __init__(self, sends: int) -> None:
        self.turn = LoopCycle(Clock())
        self.turn.sends = sends
        self.drained: list[Transport] = []
        self.draining = SimpleNamespace(add=self.drained.append)


@pytest.fixture
def pair():
    ours, theirs = plain.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def test_what_is_made_as_it_is_sent_is_sent_a_share_at_a_time(pair):
    server, session, kernel = Sharing(3), Maker(b"1", b"2", b"3", b"4"), Reluctant(pair[0], [])
    link = Link(server, Transport(kernel, get_hub().loop), session, "amqp")
    link.flush()
    assert (kernel.octets, session.dirty, server.turn.senders) == (b"123", True, 1)
    session.dirty = False
    link.flush()
    assert (kernel.octets, session.dirty) == (b"1234", False)
    link.close("the test is over")


def test_nothing_more_is_made_while_something_waits_for_the_kernel(pair):
    server, session, kernel = Sharing(9), Maker(b"12", b"34", b"56"), Reluctant(pair[0], [2, 1, 0])
    link = Link(server, Transport(kernel, get_hub().loop), session, "amqp")
    link.flush()
    assert (kernel.octets, session.parts, session.dirty) == (b"123", [b"56"], False)
    link._on_writable()  # goes on in its turn, with the others
    assert (kernel.octets, session.dirty) == (b"123", True)
    link.flush()
    assert (kernel.octets, session.left) == (b"123456", [0, 1, 0, 0])
    link.close("the test is over")


def test_the_socket_is_closed_behind_the_last_part(pair):
    server, session, kernel = Sharing(1), Maker(b"1", b"2"), Reluctant(pair[0], [])
    link = Link(server, Transport(kernel, get_hub().loop), session, "amqp")
    session.finished = True
    session.waiting = True
    link.flush()
    assert (kernel.octets, server.drained, session.dirty) == (b"", [], False)
    session.waiting = False
    for _ in range(2):
        assert server.drained == []
        link.flush()
    assert (kernel.octets, len(server.drained)) == (b"12", 1)


def test_a_peer_that_was_not_read_while_its_replies_waited_is_read_on(connect, server):
    client = connect().open()
    definitions = server.broker.definitions = SlowDefinitions()
    client.send(*[Queue.Declare(queue=f"q{i}", durable=True) for i in range(200)])
    (session,) = server.broker.sessions.values()
    answered = 0
    while answered < 200:
        until(lambda: not session.readable or definitions.commit_position == 200)
        server.broker.definitions_completed(definitions.commit_position)
        while answered < definitions.completed:
            assert isinstance(client.receive(), Queue.DeclareOk)
            answered += 1
