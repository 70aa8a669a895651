"""One socket and its session: reading, and every way in which it ends. `test_connection_output.py` has the sending."""

import logging
import socket as plain

import gevent
import pytest
from pamqp import body, commands, header

from pybroker.core.channel.throttle import PEER
from tests.loop import until

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
    linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
    client.sock.setsockopt(plain.SOL_SOCKET, plain.SO_LINGER, linger)
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
