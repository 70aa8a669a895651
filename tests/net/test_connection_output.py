"""A connection sends as much as the kernel takes, in order; some of its output is made as it is sent."""

import socket as plain
from types import SimpleNamespace

import pytest
from gevent import get_hub
from hypothesis import given, strategies as st
from pamqp import commands

from pybroker.clock import Clock
from pybroker.net.connection import Connection as Link
from pybroker.net.loop_cycle import LoopCycle
from pybroker.net.transport import PARTS_MAX, Transport, _without
from pybroker.session import Session, Turn
from tests.loop import until
from tests.slow import SlowDefinitions

Basic, Queue, Connection = commands.Basic, commands.Queue, commands.Connection


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
