"""A client that loses its connection in the middle of a publish leaves nothing behind, wherever the cut falls."""

import socket
import struct

import psutil
import pytest
from pamqp import commands

from tests.interop.peer import publish

QUEUE = "cut"
OCTETS = publish("", QUEUE, bytes(range(80)), b"\x90\x00\x0atext/plain\x01", piece_octets=40)


@pytest.fixture(scope="module")
def observer(broker):
    peer = broker.peer()
    peer.call(commands.Queue.Declare(queue=QUEUE, auto_delete=False), commands.Queue.DeclareOk)
    yield peer
    peer.call(commands.Queue.Delete(queue=QUEUE), commands.Queue.DeleteOk)
    peer.close()


def message_count(observer):
    return observer.call(commands.Queue.Declare(queue=QUEUE, passive=True), commands.Queue.DeclareOk).message_count


@pytest.mark.parametrize("way", ["closed", "reset", "half-closed"])
def test_a_publish_cut_at_any_octet_is_not_in_the_queue(broker, observer, way):
    for octets in range(len(OCTETS)):
        with broker.peer() as peer:
            peer.socket.sendall(OCTETS[:octets])
            if way == "reset":
                peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if way == "half-closed":
                peer.socket.shutdown(socket.SHUT_WR)
                peer.read_to_end()
    with broker.peer() as peer:  # its turn comes after the cut ones'
        peer.close()
    assert message_count(observer) == 0


def test_the_broker_forgets_the_cut_connections(broker, observer):
    def established():
        connections = psutil.Process(broker.pid).net_connections("tcp")
        return sum(1 for c in connections if c.status == psutil.CONN_ESTABLISHED and c.laddr.port == broker.port)

    before = established()
    peers = [broker.peer() for _ in range(50)]
    for number, peer in enumerate(peers):
        peer.socket.sendall(OCTETS[: number + 1])
        peer.socket.close()
    for _ in range(200):  # the daemon reads the ends of the streams in its own time
        with broker.peer() as peer:
            peer.close()
        if established() <= before:
            break
    assert before >= established()
    assert message_count(observer) == 0


def test_whole_publishes_before_the_cut_arrive(broker, observer):
    with broker.peer() as peer:
        peer.socket.sendall(OCTETS * 3 + OCTETS[:-1])
        peer.socket.shutdown(socket.SHUT_WR)
        peer.read_to_end()
    assert message_count(observer) == 3
    assert observer.call(commands.Queue.Purge(queue=QUEUE), commands.Queue.PurgeOk).message_count == 3


def test_a_publish_sent_octet_by_octet_arrives(broker, observer):
    with broker.peer() as peer:
        for octet in OCTETS:
            peer.socket.sendall(bytes([octet]))
        peer.close()
    observer.send(commands.Basic.Get(queue=QUEUE, no_ack=True))
    assert bytes(range(80)) == observer.read_delivery().body
