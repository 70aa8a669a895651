import socket
import threading

import pytest

from pybroker.client.errors import ConnectionLost
from pybroker.client.transport.stream import Stream
from pybroker.spark.stream.frames import Frames
from pybroker.wire.stream.frame import frame

WAIT_S = 30.0


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    frames = Frames(Stream(ours), 1 << 20, WAIT_S)
    yield frames, theirs
    frames.close()
    theirs.close()


def content(found) -> bytes:
    buffer, (_, _, start, stop) = found
    return buffer[start:stop]


def test_frames_come_whole_however_they_were_cut(ends):
    frames, theirs = ends
    octets = b"".join(frame(8, b"%d" % number * number) for number in range(40))
    for at in range(0, len(octets), 7):
        theirs.sendall(octets[at : at + 7])
    for number in range(40):
        assert content(frames.next(WAIT_S)) == b"%d" % number * number
    assert frames.next(0.0) is None


def test_what_comes_while_a_send_waits_is_kept(ends):
    frames, theirs = ends
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    octets = frame(8, b"x" * 1_000_000)

    def echo():
        # It reads nothing before all that it has to say was read.
        theirs.sendall(octets)
        left = len(octets)
        while left:
            left -= len(theirs.recv(65_536))

    peer = threading.Thread(target=echo)
    peer.start()
    frames.send(octets)
    peer.join()
    assert len(content(frames.next(WAIT_S))) == 1_000_000


def test_a_peer_that_reads_nothing_is_given_up(ends):
    frames = Frames(ends[0]._stream, 1 << 20, 0.0)
    with pytest.raises(ConnectionLost, match="has read nothing"):
        frames.send(bytes(50_000_000))


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"\x15\x03\x03\0\x02\x02\x46", "requires TLS"),
        (b"AMQP\0\0\x09\x01", "port for AMQP"),
        (b"HTTP/1.1 400", "something else than frames"),
        (b"\0\0\0\x01\0", "something else than frames"),
        (b"", "closed the connection"),
        (b"\0\0", "closed the connection"),
    ],
)
def test_other_peers_are_named(ends, octets, text):
    frames, theirs = ends
    theirs.sendall(octets)
    theirs.close()
    with pytest.raises(ConnectionLost, match=text):
        frames.next(WAIT_S)


def test_heartbeats_are_sent_until_the_end(ends):
    frames, theirs = ends
    frames.beat(b"beat", 0.001)
    theirs.settimeout(WAIT_S)
    assert theirs.recv(4) == b"beat"
    frames.close()
    frames.close()
    while theirs.recv(65_536):
        pass
