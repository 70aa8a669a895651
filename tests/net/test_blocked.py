"""An alarm, seen from the sockets: who publishes is not read, who consumes is."""

from pamqp import commands, header

from tests.loop import until

Basic, Queue = commands.Basic, commands.Queue


def publish() -> list:
    """Return the frames of a publish without a body."""
    return [Basic.Publish(0, "", "q"), header.ContentHeader(0, 0, Basic.Properties())]


def test_e1_e4_a_blocked_publisher_is_not_read_and_a_consumer_goes_on(connect, server):
    publisher, reader = connect().open(), connect().open()
    publisher.call(Queue.Declare(queue="q"))
    reader.call(Basic.Consume(queue="q", consumer_tag="c"))
    publisher.send(*publish())
    until(lambda: server.broker.message_sizes.messages == 1)
    server.broker.alarms.set("memory", "too much")
    publisher.send(*publish())
    until(lambda: any(session.publishing for session in server.broker.sessions.values()))
    session = publisher_session(server)
    before = session.recv_octets
    for _ in range(100):
        publisher.send(*publish())
    reader.send(Basic.Ack(delivery_tag=1))
    (queue,) = server.broker.vhosts["/"].queues.values()
    until(lambda: queue.acked == 1)
    assert (1, before) == (server.broker.message_sizes.messages, session.recv_octets)
    server.broker.alarms.clear("memory")
    until(lambda: server.broker.message_sizes.messages == 102)


def publisher_session(server):
    return next(session for session in server.broker.sessions.values() if session.publishing)
