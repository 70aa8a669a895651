"""Sockets of ended sessions: input is discarded until the peer closes or the deadline has come, and nothing resets."""

import gevent
import pytest
from gevent import get_hub, socket
from pamqp import commands, frame, header

from pybroker.net import draining as module
from pybroker.net.draining import Draining
from pybroker.net.transport import Transport
from tests.clock import FakeClock
from tests.loop import until

Basic, Connection = commands.Basic, commands.Connection
CLOSE = frame.marshal(Connection.Close(200, "", 0, 0), 0)
PUBLISH = b"".join(
    frame.marshal(each, 1) for each in (Basic.Publish(0, "", "nowhere"), header.ContentHeader(0, 0, Basic.Properties()))
)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def draining(clock):
    draining = Draining(get_hub().loop, clock)
    yield draining
    draining.close()


def pair(draining):
    """Hand a socket over; return its other end."""
    ours, theirs = socket.socketpair()
    draining.add(Transport(ours, get_hub().loop))
    return theirs


def test_a_client_that_still_publishes_behind_its_close_gets_close_ok(connect, server):
    for _ in range(15):
        client = connect().open()
        client.sock.sendall(CLOSE)
        until(lambda: not server.connections)
        for _ in range(3):
            client.sock.sendall(PUBLISH)
        assert isinstance(client.receive(), Connection.CloseOk)
        assert client.receive() is None
        client.close()
    until(lambda: not len(server.draining))


def test_megabytes_behind_a_close_are_discarded(connect, server):
    client = connect().open()
    client.sock.sendall(CLOSE + PUBLISH * 100_000)
    assert isinstance(client.receive(), Connection.CloseOk)
    assert client.receive() is None


def test_a_wrong_header_with_much_behind_it_gets_ours(connect):
    client = connect()
    client.sock.sendall(b"GET / HTTP/1.1\r\n" + bytes(4_000_000))
    assert client.sock.recv(100) == b"AMQP\x00\x00\x09\x01"
    assert client.sock.recv(100) == b""


def test_an_answered_close_of_ours_needs_no_draining(connect, server):
    client = connect().open()
    (session,) = server.broker.sessions.values()
    session.close(320, "maintenance")
    assert isinstance(client.receive(), Connection.Close)
    client.send(Connection.CloseOk(), channel=0)
    assert client.receive() is None
    assert not len(server.draining)


def test_the_peer_learns_that_we_have_ended_and_closes(draining):
    theirs = pair(draining)
    assert theirs.recv(1) == b""
    theirs.sendall(b"x" * 1_000)
    gevent.sleep(0.01)
    assert len(draining) == 1
    theirs.close()
    until(lambda: not len(draining))


def test_a_peer_that_never_closes_is_closed_at_the_deadline(draining, clock):
    theirs = pair(draining)
    clock.advance(module.DEADLINE_MS - 1)
    draining._tick()
    assert len(draining) == 1
    clock.advance(1)
    draining._tick()
    assert not len(draining)
    assert not draining._timer.active
    theirs.close()


def test_too_many_are_closed_from_the_oldest_on(draining, monkeypatch):
    monkeypatch.setattr(module, "waiting_sockets_max", lambda: 2)
    first, *others = (pair(draining) for _ in range(4))
    assert len(draining) == 2
    with pytest.raises(OSError, match="Broken pipe"):
        first.sendall(b"x")
    others[-1].sendall(b"x")


def test_a_peer_that_is_gone_already_is_closed_at_once(draining):
    ours = socket.socket()
    draining.add(Transport(ours, get_hub().loop))
    assert not len(draining)
    assert ours.fileno() == -1
