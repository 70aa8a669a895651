"""A link ends once, for one reason; its threads and its socket go with it."""

import threading

import pytest

from pybroker.client.errors import ConnectionLost
from pybroker.client.transport.backpressure import Pressure
from pybroker.client.transport.transport import Link
from tests.client.scripted import WAIT_S


@pytest.fixture
def ended():
    return []


@pytest.fixture
def ends(scripted, ended):
    link = Link(scripted.address, scripted.options(), None)
    link.start({}, Pressure(), lambda _, reason: ended.append((threading.current_thread().name, str(reason))), "mine")
    yield link, scripted.accept()
    link.lose("end of the test")
    link.wait_ended()


def test_the_first_reason_counts_and_the_readers_thread_tells_it(ends, ended):
    link, _ = ends
    link.end(ConnectionLost("first"))
    link.lose("second")
    link.wait_ended()
    assert ended == [("mine-reader", "first")]
    assert link.is_ended
    assert not link.reader.thread.is_alive()
    assert not link.writer.thread.is_alive()
    assert link._stream.socket.fileno() == -1


def test_the_end_of_the_stream_is_a_reason(ends, ended):
    link, peer = ends
    peer.close()
    link.reader.thread.join(WAIT_S)
    assert ended == [("mine-reader", "the broker closed the connection")]
    with pytest.raises(ConnectionLost):
        link.send(b"x")


def test_what_is_sent_arrives(ends):
    link, peer = ends
    link.send(b"hello")
    assert peer.socket.recv(5) == b"hello"


def test_a_handshake_that_fails_leaves_no_socket(scripted):
    scripted.greets = False
    with pytest.raises(TimeoutError):
        Link(scripted.address, scripted.options(handshake_timeout_s=0.02), None)
    peer = scripted.accept()
    while peer.socket.recv(100):
        pass  # the end of the stream comes
