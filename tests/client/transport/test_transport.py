"""A transport ends once, for one reason; its threads and its socket go with it."""

import threading

import pytest

from pybroker.client.errors import ConnectionLost
from pybroker.client.transport.backpressure import Backpressure
from pybroker.client.transport.transport import Transport
from tests.client.scripted import WAIT_S


@pytest.fixture
def ended():
    return []


@pytest.fixture
def ends(scripted, ended):
    transport = Transport(scripted.address, scripted.options(), None)
    transport.start(
        {}, Backpressure(), lambda _, reason: ended.append((threading.current_thread().name, str(reason))), "mine"
    )
    yield transport, scripted.accept()
    transport.lose("end of the test")
    transport.wait_ended()


def test_the_first_reason_counts_and_the_readers_thread_tells_it(ends, ended):
    transport, _ = ends
    transport.end(ConnectionLost("first"))
    transport.lose("second")
    transport.wait_ended()
    assert ended == [("mine-reader", "first")]
    assert transport.is_ended
    assert not transport.reader.thread.is_alive()
    assert not transport.writer.thread.is_alive()
    assert transport._stream.socket.fileno() == -1


def test_the_end_of_the_stream_is_a_reason(ends, ended):
    transport, peer = ends
    peer.close()
    transport.reader.thread.join(WAIT_S)
    assert ended == [("mine-reader", "the broker closed the connection")]
    with pytest.raises(ConnectionLost):
        transport.send(b"x")


def test_what_is_sent_arrives(ends):
    transport, peer = ends
    transport.send(b"hello")
    assert peer.socket.recv(5) == b"hello"


def test_a_handshake_that_fails_leaves_no_socket(scripted):
    scripted.greets = False
    with pytest.raises(TimeoutError):
        Transport(scripted.address, scripted.options(handshake_timeout_s=0.02), None)
    peer = scripted.accept()
    while peer.socket.recv(100):
        pass  # the end of the stream comes
