"""The end of a loop turn: deliveries, one send, timers; and what a bug may not do."""

import logging

import gevent
from loop import until
from pamqp import commands, header

from pybroker.net.turn import READ_OCTETS_MAX, READ_OCTETS_MIN, TURN_READ_OCTETS

Basic, Queue = commands.Basic, commands.Queue


def publish(queue: str = "q", **properties) -> list:
    return [Basic.Publish(0, "", queue), header.ContentHeader(0, 0, Basic.Properties(**properties))]


def test_what_one_publishes_another_gets_without_being_asked(connect):
    reader, writer = connect().open(), connect().open()
    reader.call(Queue.Declare(queue="q"))
    reader.call(Basic.Consume(queue="q", no_ack=True))
    writer.send(*publish())
    assert isinstance(reader.receive(), Basic.Deliver)


def test_many_deliveries_of_a_turn_are_one_send(connect, server, monkeypatch):
    client = connect().open()
    client.call(Queue.Declare(queue="q"))
    client.call(Basic.Consume(queue="q", no_ack=True))
    (connection,) = server.connections
    sends = []
    original = type(connection)._send
    monkeypatch.setattr(type(connection), "_send", lambda self, parts: (sends.append(1), original(self, parts)))
    client.send(*(publish() * 200))
    for _ in range(400):
        client.receive()
    assert len(sends) < 10


def test_a_message_expires_while_nothing_else_happens(connect, server):
    client = connect().open()
    client.call(Queue.Declare(queue="q", arguments={"x-message-ttl": 30}))
    queue = server.broker.vhosts["/"].queues["q"]
    client.send(*publish())
    until(lambda: queue.published)
    until(lambda: not queue.messages_ready)


def test_a_queue_expires_while_nothing_else_happens(connect, server):
    connect().open().call(Queue.Declare(queue="q", arguments={"x-expires": 30}))
    until(lambda: "q" not in server.broker.vhosts["/"].queues)


def test_an_earlier_deadline_moves_the_timer(connect, server):
    client = connect().open()
    client.call(Queue.Declare(queue="late", arguments={"x-expires": 60_000}))
    client.call(Queue.Declare(queue="soon", arguments={"x-expires": 30}))
    until(lambda: "soon" not in server.broker.vhosts["/"].queues)
    assert "late" in server.broker.vhosts["/"].queues


def test_a_bug_in_one_queue_does_not_end_the_loop(connect, server, monkeypatch, caplog):
    client = connect().open()
    for name in ("bad", "good"):
        client.call(Queue.Declare(queue=name))
        client.call(Basic.Consume(queue=name, no_ack=True))
    bad = server.broker.vhosts["/"].queues["bad"]
    original = type(bad).deliver

    def deliver(self, now_ms, **options):
        if self is bad:
            raise RuntimeError("a bug")
        original(self, now_ms, **options)

    monkeypatch.setattr(type(bad), "deliver", deliver)
    with caplog.at_level(logging.ERROR):
        client.send(*publish("bad"))
        client.send(*publish("good"))
        assert client.receive().routing_key == "good"
    assert "a bug" in caplog.text


def test_a_bug_in_a_timer_does_not_end_the_loop(connect, server, monkeypatch, caplog):
    client = connect().open()

    def run(now_ms):
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr("pybroker.core.timers.Timers.run", lambda self, now_ms: run(now_ms))
        client.call(Queue.Declare(queue="q", arguments={"x-expires": 10}))
        until(lambda: "a timer failed" in caplog.text)
    assert isinstance(client.call(Queue.Declare(queue="other")), Queue.DeclareOk)


def test_readers_share_what_a_turn_reads(server):
    turn = server.turn
    for readers, expected in ((1, READ_OCTETS_MAX), (20, TURN_READ_OCTETS // 20), (10_000, READ_OCTETS_MIN)):
        turn.readers = readers
        turn.run()
        assert (turn.read_octets, turn.readers) == (expected, 0)


def test_an_idle_server_does_nothing(server, connect, monkeypatch):
    connect().open()
    gevent.sleep(0.05)
    turns = []
    original = type(server.turn).run
    monkeypatch.setattr(type(server.turn), "run", lambda self: (turns.append(1), original(self)))
    gevent.sleep(0.2)
    assert turns == []
