"""Peers that do not read what they are sent: every way in which they are cut off."""

import gevent
import pytest
from pamqp import body, commands, header

from pybroker.core.channel.throttle import JOURNAL
from tests.loop import until

Basic, Queue, Connection = commands.Basic, commands.Queue, commands.Connection


def publish(octets: bytes, queue: str = "q") -> list:
    size = 131_064
    bodies = [body.ContentBody(octets[at : at + size]) for at in range(0, len(octets), size)]
    return [Basic.Publish(0, "", queue), header.ContentHeader(0, len(octets), Basic.Properties()), *bodies]


def stuck(connect, server, address=None):
    """Return a client that does not read, and its connection, whose output the kernel does not take any more."""
    reader, writer = connect(address).open(), connect().open()
    writer.call(Queue.Declare(queue="q"))
    reader.call(Basic.Consume(queue="q", no_ack=True))
    for _ in range(60):
        writer.send(*publish(bytes(100_000)))
    writer.call(Basic.Qos(prefetch_count=1))
    (connection,) = [c for c in server.connections if c._pending]
    return reader, connection


def test_a_stuck_peer_that_misses_its_heartbeats_is_cut_off_with_its_output(connect, server):
    _, connection = stuck(connect, server)
    connection.session.readable = True
    connection.session.heartbeat_s = 1
    connection.session.last_recv_ms -= 60_000
    server.broker.tick()
    until(lambda: connection not in server.connections)


@pytest.mark.parametrize("unix", [True, False])
def test_a_stuck_peer_that_does_not_answer_a_close_is_cut_off(connect, server, tmp_path, unix):
    server.listen_tcp("127.0.0.1", 0)
    address = str(tmp_path / "amqp.sock") if unix else None
    if address:
        server.listen_unix(address)
    _, connection = stuck(connect, server, address)
    connection.session.close(320, "maintenance")
    gevent.sleep(0.05)
    assert connection in server.connections
    connection.session.deadline_ms = 0
    server.broker.tick()
    until(lambda: connection not in server.connections)


def test_a_stuck_peer_that_closes_and_never_reads_the_answer_is_cut_off(connect, server):
    reader, connection = stuck(connect, server)
    reader.send(Connection.Close(200, "", 0, 0), channel=0)
    until(lambda: connection.session.finished)
    server.broker.tick()
    gevent.sleep(0.02)
    assert connection in server.connections
    connection.session.deadline_ms = 0
    server.broker.tick()
    until(lambda: connection not in server.connections)


def test_a_stuck_peer_that_goes_is_noticed_although_nobody_reads_it(connect, server):
    reader, connection = stuck(connect, server)
    connection._transport.stop_reading()
    reader.close()
    until(lambda: connection not in server.connections)
    assert server.broker.vhosts["/"].queues["q"].consumer_count == 0


def test_a_peer_that_does_not_read_is_read_again_when_there_is_no_reason_left_not_to(connect, server):
    # It may be one that writes first and reads then: while it is not read it would never come to reading.
    client, connection = stuck(connect, server)
    session = connection.session
    connection._transport.stop_reading()
    session.stop_reading(JOURNAL)
    client.send(Queue.Declare(queue="asked for"))
    gevent.sleep(0.05)
    assert "asked for" not in server.broker.vhosts["/"].queues
    for cause in list(session.throttle.causes):
        session.resume_reading(cause)
    until(lambda: "asked for" in server.broker.vhosts["/"].queues)
    assert connection._pending
