"""Delayed close over real sockets: who is told when, what is left of a refused peer, and how many there may be."""

import resource

import gevent
import pytest
from gevent import socket
from pamqp import commands

from pybroker.core.peer import login
from pybroker.net import delayed_close as module
from pybroker.net.delayed_close import DelayedClose
from pybroker.net.transport import Transport
from tests.clock import FakeClock
from tests.net.conftest import PROTOCOL_HEADER

CAPABLE = {"capabilities": {"authentication_failure_close": True}}


class FakeTimer:
    """The loop's timer, in the test's hand."""

    def __init__(self) -> None:
        self.active = False
        self.tick = lambda: None

    def timer(self, *_: float) -> "FakeTimer":
        return self

    def start(self, tick) -> None:
        self.active, self.tick = True, tick

    def stop(self) -> None:
        self.active = False


class Fixed(FakeClock):
    def refresh(self) -> None:
        """Stand still."""


@pytest.fixture
def timer():
    return FakeTimer()


@pytest.fixture
def clock():
    return Fixed()


@pytest.fixture
def delayed_close(timer, clock):
    delayed_close = DelayedClose(timer, clock)
    yield delayed_close
    delayed_close.close()


def pair(delayed_close, octets: bytes, at_ms: int):
    """Hand a socket over; return its other end."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(0.01)
    delayed_close.add(Transport(ours, None), octets, at_ms)
    return theirs


def heard(theirs) -> bytes | None:
    """Return what came; None if nothing did yet."""
    try:
        return theirs.recv(100)
    except TimeoutError:
        return None


def test_each_is_answered_at_its_time_and_closed_after_it_could_read(delayed_close, timer, clock):
    second, first = (
        pair(delayed_close, b"no", clock.now_ms + 2_000),
        pair(delayed_close, b"never", clock.now_ms + 1_000),
    )
    timer.tick()
    assert (heard(first), heard(second)) == (None, None)
    clock.advance(1_000)
    timer.tick()
    # Some clients handle the end of the stream before what they have read.
    assert (heard(first), heard(first), heard(second)) == (b"never", None, None)
    first.send(b"a farewell that nobody reads")
    clock.advance(module.READING_MS)
    timer.tick()
    assert (heard(first), len(delayed_close)) == (b"", 2)
    clock.advance(1_000)
    timer.tick()
    for _ in range(2):
        clock.advance(module.READING_MS)
        timer.tick()
    assert (heard(second), len(delayed_close), timer.active) == (b"no", 0, False)
    for each in (first, second):
        each.close()


def test_without_an_answer_the_socket_is_only_closed(delayed_close, timer, clock):
    theirs = pair(delayed_close, b"", clock.now_ms + 1_000)
    clock.advance(1_000)
    timer.tick()
    assert (heard(theirs), len(delayed_close)) == (b"", 0)


def test_who_has_gone_costs_nothing(delayed_close, timer, clock):
    pair(delayed_close, b"no", clock.now_ms + 1_000).close()
    clock.advance(1_000)
    timer.tick()
    assert len(delayed_close) == 0


def test_there_are_so_many_and_the_next_due_is_answered_sooner(delayed_close, timer, clock, monkeypatch):
    monkeypatch.setattr(module, "SOCKETS_MAX", 2)
    ends = [pair(delayed_close, b"no", clock.now_ms + 1_000 + n) for n in range(3)]
    assert [heard(each) for each in ends] == [b"no", None, None]
    assert len(delayed_close) == 2


def test_they_leave_files_to_those_who_are_let_in(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (800, 800))
    assert module.waiting_sockets_max() == 100
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert module.waiting_sockets_max() == module.SOCKETS_MAX


def test_nothing_is_left_of_a_refused_peer_but_its_socket(server, connect, monkeypatch):
    monkeypatch.setattr(login, "REFUSAL_MS_MIN", 200)
    monkeypatch.setattr(login, "REFUSAL_MS_MAX", 201)
    clients = [connect() for _ in range(3)]
    for client in clients:
        client.sock.sendall(PROTOCOL_HEADER)
        assert isinstance(client.receive(), commands.Connection.Start)
        client.send(commands.Connection.StartOk(CAPABLE, "PLAIN", "\0guest\0wrong"), channel=0)
    while len(server.delayed_close) < 3:
        gevent.sleep(0.005)
    assert (len(server.connections), len(server.broker.sessions)) == (0, 0)
    # New peers are let in meanwhile.
    connect().open()
    for client in clients:
        assert client.receive().reply_code == 403
        assert client.receive() is None
