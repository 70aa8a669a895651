"""The end of a loop turn: deliveries, one send, timers; and what a bug may not do."""

import logging
from types import SimpleNamespace

import gevent
import pytest
from pamqp import body, commands, header

from pybroker.core.background_task import BackgroundTask
from pybroker.net.loop_cycle import READ_OCTETS_MAX, READ_OCTETS_MIN, SENDS_MAX, SLICES_MAX, TURN_READ_OCTETS
from pybroker.session import RECEIVE_MS
from tests.loop import until

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


def test_a_confirm_leaves_with_the_delivery_to_the_same_connection(connect, server, monkeypatch):
    """As with RabbitMQ: whoever has a confirm of what they consume themselves, and loses the network, has it all."""
    client = connect().open()
    client.call(Queue.Declare(queue="q"))
    client.call(Basic.Consume(queue="q", no_ack=True))
    client.call(commands.Confirm.Select())
    (connection,) = server.connections
    sent = []
    original = type(connection)._send

    def send(self, parts):
        sent.append(b"".join(parts))
        return original(self, parts)

    monkeypatch.setattr(type(connection), "_send", send)
    client.send(*publish())
    assert {type(client.receive()) for _ in range(3)} == {Basic.Ack, Basic.Deliver, header.ContentHeader}
    assert len(sent) == 1


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
        patch.setattr("pybroker.core.queue.timers.Timers.run", lambda self, now_ms: run(now_ms))
        client.call(Queue.Declare(queue="q", arguments={"x-expires": 10}))
        until(lambda: "internal error in a timer" in caplog.text)
    assert isinstance(client.call(Queue.Declare(queue="other")), Queue.DeclareOk)


def test_readers_share_what_a_turn_reads(server):
    turn = server.turn
    for readers, expected in ((1, READ_OCTETS_MAX), (20, TURN_READ_OCTETS // 20), (10_000, READ_OCTETS_MIN)):
        turn.readers = readers
        turn.run()
        assert (turn.read_octets, turn.readers) == (expected, 0)


def test_readers_amid_large_bodies_share_what_a_turn_reads_of_these(server):
    turn = server.turn
    for readers, plain, over_tls in ((1, 2_097_152, 1_048_576), (4, 524_288, 262_144), (100, 131_072, 131_072)):
        turn.share(readers)
        assert (turn.large_octets, turn.large_tls_octets) == (plain, over_tls)


def test_readers_that_come_at_once_share_the_turn_in_which_they_come(server):
    turn, spans = server.turn, []
    resumed = [SimpleNamespace(resume=lambda: spans.append(turn.receive_ms)) for _ in range(5)]
    turn.share(1)
    for each in resumed:
        turn.later(each)
    until(lambda: len(spans) == 5)
    assert [RECEIVE_MS // 5] * 5 == spans


def test_each_reader_more_of_a_turn_makes_the_shares_smaller(connect, server):
    clients = [connect().open() for _ in range(3)]
    turn, spans = server.turn, []
    turn.share(1)
    for connection in server.connections:
        connection._read(connection._transport)  # nothing has come
        spans.append(turn.receive_ms)
    assert [RECEIVE_MS, RECEIVE_MS // 2, RECEIVE_MS // 3] == spans
    assert len(clients) == 3


def test_who_sends_what_is_made_as_it_is_sent_shares_a_round(server):
    turn = server.turn
    for senders, sends in ((1, SENDS_MAX), (2, SENDS_MAX // 2), (100, 1)):
        turn.senders = senders
        turn._flush()
        assert (turn.sends, turn.senders) == (sends, 0)
        turn._flush()
        assert turn.sends == sends


class Large:
    """A session that has a part for every flush."""

    link = None
    newcomer = ""

    def __init__(self, turn, sent):
        self.turn, self.sent, self.link = turn, sent, self
        self.consumers, self.dirty, self.output_left = 0, True, True

    def flush(self):
        self.sent.append(self)
        self.turn.slices += 1


def test_a_turn_sends_so_many_parts_of_what_is_made_as_it_is_sent(server):
    turn, sent = server.turn, []
    sessions = [Large(turn, sent) for _ in range(SLICES_MAX + 3)]
    small = Large(turn, sent)
    small.output_left = False
    turn.sessions += [*sessions, small]
    turn.run()
    assert sent == [*sessions[:SLICES_MAX], small]
    assert (turn.sessions, turn.woken) == (sessions[SLICES_MAX:], True)
    assert [session.dirty for session in sessions] == [False] * SLICES_MAX + [True] * 3
    turn.run()
    assert sent[SLICES_MAX + 1 :] == sessions[SLICES_MAX:]


class Restless:
    """A queue, as the pump sees it, that never runs dry."""

    awake = False

    def __init__(self, turn) -> None:
        self.turn = turn
        self.times = 0

    def deliver(self, _now_ms) -> None:
        self.times += 1
        if self.times < 1_000:
            self.turn.queues.append(self)


def test_the_sockets_have_their_turn_however_much_is_left_to_deliver(connect, server):
    # gevent runs fifty call backs before it looks at the sockets, if each of them asks for another.
    client = connect().open()
    client.send(Queue.Declare(queue="q"))
    server.turn.queues.append(restless := Restless(server.turn))
    server.turn.wake()
    assert isinstance(client.receive(), Queue.DeclareOk)
    assert restless.times < 50


class Busy(BackgroundTask):
    """A task that always has more to do."""

    __slots__ = ("times",)

    def deliver(self, now_ms) -> None:
        self.times += 1
        if self.times < 1_000:
            self.wake_again()


def test_a_chore_goes_on_when_the_sockets_have_had_their_turn(server):
    turn = server.turn
    task = Busy(turn)
    task.times = 0
    task.wake()
    for _ in range(5):
        turn.run()  # as after each of five connections that were read
        assert task.times == 1
    until(lambda: task.times > 1)
    until(lambda: task.times == 1_000)


def test_a_chunk_of_very_many_methods_leaves_the_others_their_share(connect, server):
    busy, other = connect().open(), connect().open()
    other.call(Queue.Declare(queue="mine"))
    queues = server.broker.vhosts["/"].queues
    busy.send(*[Queue.Declare(queue=f"q{i}", nowait=True) for i in range(3_000)], Queue.Declare(queue="last"))
    until(lambda: len(queues) > 1)
    assert isinstance(other.call(Queue.Declare(queue="mine", passive=True)), Queue.DeclareOk)
    assert len(queues) < 3_002
    assert isinstance(busy.receive(), Queue.DeclareOk)
    assert len(queues) == 3_002


def test_a_peer_that_reads_again_gets_the_replies_it_still_waits_for(connect, server):
    client = connect().open()
    client.call(Queue.Declare(queue="q"))
    octets = [header.ContentHeader(0, 100_000, Basic.Properties()), body.ContentBody(bytes(100_000))]
    client.send(Basic.Publish(0, "", "q"), *octets)
    for tag in range(1, 201):
        client.send(Basic.Get(queue="q"), Basic.Nack(tag, requeue=True))
    (connection,) = server.connections
    until(lambda: connection.session.rest or not connection.session.readable)
    replies = [client.receive() for _ in range(600)]
    assert list(range(1, 201)) == [reply.delivery_tag for reply in replies[::3]]
    assert isinstance(client.call(Queue.Declare(queue="q", passive=True)), Queue.DeclareOk)


def test_an_idle_server_does_nothing(server, connect, monkeypatch):
    connect().open()
    gevent.sleep(0.05)
    turns = []
    original = type(server.turn).run
    monkeypatch.setattr(type(server.turn), "run", lambda self: (turns.append(1), original(self)))
    gevent.sleep(0.2)
    assert turns == []


def test_a_bug_in_the_end_of_one_session_leaves_the_others_their_output(connect, server, monkeypatch, caplog):
    clients = [connect().open() for _ in range(3)]
    bad, *good = server.connections
    original = type(bad).flush

    def flush(self):
        if self is bad:
            raise RuntimeError("a bug")
        original(self)

    monkeypatch.setattr(type(bad), "flush", flush)
    with caplog.at_level(logging.ERROR):
        for connection in server.connections:
            connection.session.send(b"\x08\0\0\0\0\0\0\xce")
        assert [client.receive() is not None for client in clients[1:]] == [True, True]
    assert "internal error in sending" in caplog.text
    until(lambda: bad not in server.connections)  # part of its output may be lost
    assert [False, False] == [connection.session.dirty for connection in good]


class Interrupted(BaseException):
    """As KeyboardInterrupt, but nobody in this process ends because of it."""


def test_an_interruption_of_one_session_leaves_the_others_their_output(connect, server, monkeypatch):
    clients = [connect().open() for _ in range(3)]
    connections = list(server.connections)
    original = type(connections[0]).flush

    def flush(self):
        if self is connections[1]:
            raise Interrupted
        original(self)

    monkeypatch.setattr(type(connections[0]), "flush", flush)
    for connection in connections:
        connection.session.send(b"\x08\0\0\0\0\0\0\xce")
    with pytest.raises(Interrupted):
        server.turn.run()
    assert [False, False, True] == [connection.session.dirty for connection in connections]
    assert [client.receive() is not None for client in (clients[0], clients[2])] == [True, True]
    assert server.turn.sessions == []


def test_a_held_publisher_is_read_now_and_then_until_the_consumers_have_caught_up(connect, server, monkeypatch):
    monkeypatch.setattr("pybroker.net.loop_cycle.HOLD_S", 0.1)
    writer = connect().open()
    writer.call(Queue.Declare(queue="q"))
    (connection,) = server.connections
    session, queue = connection.session, server.broker.vhosts["/"].queues["q"]
    behind = SimpleNamespace(backlogged=True)
    original = type(session).receive

    def receive(self, data):
        original(self, data)
        self.throttled_by, self.held_octets = behind, 1_000

    monkeypatch.setattr(type(session), "receive", receive)
    writer.send(*publish())
    until(lambda: connection.held)
    assert not connection._transport.reading
    writer.send(*publish())
    gevent.sleep(0.02)
    server.turn.run()
    assert queue.published == 1
    until(lambda: queue.published == 2)  # a little, although they are behind
    until(lambda: connection.held)
    behind.backlogged = False
    server.turn.run()
    assert not connection.held
    assert connection._transport.reading


def test_a_held_publisher_that_goes_is_forgotten(connect, server):
    writer = connect().open()
    (connection,) = server.connections
    connection.held = True
    connection._transport.stop_reading()
    server.turn.hold(connection)
    connection.close("gone")
    writer.close()
    gevent.sleep(0.02)
    server.turn.run()
    assert (server.turn._held, server.connections) == ([], {})
