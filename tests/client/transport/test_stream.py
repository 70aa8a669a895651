"""A socket that is read by one thread and written by others."""

import socket

import pytest

from pybroker.client.options import Address
from pybroker.client.transport.stream import Stream, dial
from tests.client.scripted import WAIT_S, in_thread


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    theirs.settimeout(WAIT_S)
    yield Stream(ours), theirs
    ours.close()
    theirs.close()


def test_octets_go_both_ways(ends):
    stream, other = ends
    assert stream.send(memoryview(b"hello")) == 5
    assert other.recv(5) == b"hello"
    other.sendall(b"you")
    assert stream.receive() == b"you"
    other.close()
    assert stream.receive() == b""


def test_a_full_socket_takes_nothing_and_does_not_wait(ends):
    stream, other = ends
    octets = memoryview(bytes(1 << 20))
    while stream.send(octets):
        pass
    stream.wait_writable(0)
    assert stream.send(octets) == 0
    other.recv(1 << 20)
    stream.wait_writable(WAIT_S)


def test_a_read_may_have_a_time_out(ends):
    with pytest.raises(TimeoutError):
        ends[0].receive(0.01)


def test_shutting_down_wakes_the_reader(ends):
    stream, _ = ends
    reading = in_thread(stream.receive)
    stream.shut_down()
    assert reading.result(WAIT_S) == b""
    stream.shut_down()  # twice is no error


def test_dialling_gives_a_socket_that_blocks_and_does_not_gather():
    with socket.create_server(("127.0.0.1", 0)) as server:
        sock = dial(Address(*server.getsockname()), WAIT_S)
        assert sock.gettimeout() is None
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        sock.close()
