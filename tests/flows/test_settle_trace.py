"""The firehose's third side: what became of a message, and who did it. RabbitMQ's tells of two."""

import pytest
from pamqp import commands

from tests.fakes import Content, World

TRACE = "amq.rabbitmq.trace"
Basic, Queue = commands.Basic, commands.Queue
LETTERS = {"x-dead-letter-exchange": "amq.fanout"}


@pytest.fixture
def world() -> World:
    return World(node_name="pybroker@vm")


@pytest.fixture
def watcher(world):
    """A client with a queue `traces` that gets what is settled."""
    peer = world.connect()
    peer.declare("traces")
    peer.call(Queue.Bind(queue="traces", exchange=TRACE, routing_key="settle.#"))
    world.vhost.trace(on=True)
    return peer


@pytest.fixture
def peer(world, watcher):
    """A client with a queue `q`, and one with a dead letter exchange."""
    peer = world.connect()
    peer.declare("q")
    peer.declare("dying", {**LETTERS, "x-max-length": 1})
    return peer


def told(watcher) -> list[tuple[str, bytes, str, str | None]]:
    return [
        (each.method.routing_key, each.body, each.headers["outcome"], each.headers.get("dead_letter_exchange"))
        for each in watcher.drain("traces")
    ]


def deliver(peer, queue: str, *bodies: bytes) -> list[Content]:
    peer.consume(queue)
    for body in bodies:
        peer.publish("", queue, body)
    return peer.take()


def test_an_acknowledged_message_is_told_with_who_did_it(peer, watcher):
    peer.publish("", "q", b"body", content_type="text/plain", headers={"a": 1})
    [delivered] = deliver(peer, "q")
    peer.send(Basic.Ack(delivered.method.delivery_tag))
    [trace] = watcher.drain("traces")
    assert (TRACE, "settle.q", b"body") == (trace.method.exchange, trace.method.routing_key, trace.body)
    assert {
        "exchange_name": "",
        "routing_keys": ["q"],
        "properties": {"headers": {"a": 1}, "content_type": "text/plain"},
        "node": "pybroker@vm",
        "redelivered": 0,
        "vhost": "/",
        "connection": peer.session.name,
        "channel": 1,
        "user": "guest",
        "outcome": "ack",
    } == trace.headers


def test_many_at_once_are_told_one_by_one(peer, watcher):
    deliver(peer, "q", b"1", b"2", b"3")
    peer.send(Basic.Ack(3, multiple=True))
    assert [("settle.q", body, "ack", None) for body in (b"1", b"2", b"3")] == told(watcher)


def test_a_rejected_message_is_told_with_where_it_goes(peer, watcher):
    deliver(peer, "dying", b"1")
    peer.send(Basic.Reject(1, requeue=False))
    assert [("settle.dying", b"1", "reject", "amq.fanout")] == told(watcher)
    deliver_two = deliver(peer, "q", b"2")
    peer.send(Basic.Nack(deliver_two[0].method.delivery_tag, requeue=False))
    assert [("settle.q", b"2", "reject", None)] == told(watcher)


def test_a_requeued_message_is_told_whoever_sends_it_back(peer, world, watcher):
    peer.publish("", "q", b"1")
    peer.get("q", no_ack=False)
    peer.send(Basic.Nack(1, requeue=True))
    assert [("settle.q", b"1", "requeue", None)] == told(watcher)
    other = world.connect()
    other.consume("q")
    other.disconnect()
    [back] = watcher.drain("traces")
    assert ("requeue", 1, other.session.name) == (
        back.headers["outcome"],
        back.headers["redelivered"],
        back.headers["connection"],
    )


def test_what_expires_or_finds_no_room_is_nobodys_doing(peer, world, watcher):
    peer.publish("", "dying", b"1")
    peer.publish("", "dying", b"2")
    assert [("settle.dying", b"1", "maxlen", "amq.fanout")] == told(watcher)
    peer.publish("", "q", b"3", expiration="10")
    world.advance(10)
    [trace] = watcher.drain("traces")
    headers = trace.headers
    assert ("expired", "", 0, "") == tuple(headers[key] for key in ("outcome", "connection", "channel", "user"))


def test_what_is_acknowledged_in_a_transaction_is_told_when_it_counts(peer, watcher):
    peer.publish("", "q", b"1")
    peer.open(2)
    peer.call(commands.Tx.Select(), channel=2)
    peer.get("q", channel=2, no_ack=False)
    peer.send(Basic.Ack(1), channel=2)
    assert [] == told(watcher)
    peer.call(commands.Tx.Commit(), channel=2)
    assert [("settle.q", b"1", "ack", None)] == told(watcher)


def test_what_the_firehose_delivered_is_not_traced_when_it_is_settled(peer, world, watcher):
    deliver(peer, "q", b"1")
    peer.send(Basic.Ack(1))
    watcher.get("traces", no_ack=False)
    watcher.send(Basic.Ack(1))
    assert [] == told(watcher)
    assert 0 == len(world.broker.traces.firehose)


def test_without_tracing_nobody_looks(peer, world, watcher):
    world.vhost.trace(on=False)
    deliver(peer, "q", b"1")
    peer.send(Basic.Ack(1))
    assert [] == told(watcher)
    assert 0 == len(world.broker.traces.firehose)


def test_a_queue_that_is_deleted_settles_nothing(peer, watcher):
    deliver(peer, "q", b"1")
    peer.call(Queue.Delete(queue="q"))
    peer.disconnect()
    assert [] == told(watcher)
