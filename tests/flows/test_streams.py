"""Streams as AMQP clients see them: everybody reads everything, from where they like."""

import pytest

from pybroker.core.policy.limits import QueueLimits
from pybroker.core.stream.make import make_queue
from pybroker.wire.table import Table
from tests.fakes import Basic, Confirm, FakePeer, Queue, World


@pytest.fixture
def stream(world: World):
    limits = QueueLimits(queue_type="stream")
    made = make_queue(
        world.vhost,
        "s",
        durable=True,
        auto_delete=False,
        owner=None,
        arguments=Table({"x-queue-type": "stream"}),
        limits=limits,
    )
    world.vhost.queues["s"] = made
    world.vhost.bump()
    return made


def consume(peer: FakePeer, offset: object = None, prefetch: int = 100, **arguments: object) -> str:
    peer.call(Basic.Qos(prefetch_count=prefetch))
    if offset is not None:
        arguments["x-stream-offset"] = offset
    return peer.consume("s", arguments=Table(arguments))


def publish(peer: FakePeer, *bodies: bytes, **properties: object) -> None:
    for body in bodies:
        peer.publish("", "s", body, **properties)


def got(peer: FakePeer) -> list[tuple[bytes, int]]:
    return [(each.body, each.headers["x-stream-offset"]) for each in peer.take()]


def test_each_consumer_gets_everything_with_its_offset(world, peer, stream):
    publish(peer, b"a", b"b", delivery_mode=2)
    other = world.connect()
    consume(peer, "first")
    consume(other, "first")
    publish(peer, b"c")
    expected = [(b"a", 0), (b"b", 1), (b"c", 2)]
    assert expected == got(peer) == got(other)
    assert (stream.messages, stream.messages_unacknowledged) == (3, 6)


@pytest.mark.parametrize(
    ("offset", "first"),
    [(None, 5), ("next", 5), ("first", 0), ("last", 4), (3, 3), (0, 0), (-2, 3), (-99, 0), (7, 7), ("1h", 0)],
)
def test_a_consumer_begins_where_it_says(peer, stream, offset, first):
    publish(peer, *[b"%d" % number for number in range(5)])
    consume(peer, offset)
    publish(peer, *[b"%d" % number for number in range(5, 9)])
    assert [(b"%d" % number, number) for number in range(first, 9)] == got(peer)


def test_acks_are_credit(peer, stream):
    publish(peer, *[b"%d" % number for number in range(9)])
    consume(peer, "first", prefetch=2)
    first, second = peer.take()
    assert [b"0", b"1"] == [first.body, second.body]
    peer.send(Basic.Ack(delivery_tag=1))
    assert [b"2"] == peer.bodies()
    peer.send(Basic.Nack(delivery_tag=3, multiple=True, requeue=True))
    again = peer.take()
    assert [(b"3", False), (b"4", False)] == [(each.body, each.method.redelivered) for each in again]
    peer.send(Basic.Reject(delivery_tag=5, requeue=False))
    assert [b"5"] == peer.bodies()
    assert stream.messages == 9


def test_one_that_is_cancelled_gets_no_more_and_one_that_comes_begins_anew(peer, stream):
    tag = consume(peer, "first")
    publish(peer, b"a")
    assert [(b"a", 0)] == got(peer)
    peer.call(Basic.Cancel(consumer_tag=tag))
    publish(peer, b"b")
    assert [] == peer.take()
    assert {} == stream.readers
    consume(peer, "first")
    assert [(b"a", 0), (b"b", 1)] == got(peer)


def test_a_filter_lets_through_what_has_one_of_its_values(peer, stream):
    for body, value in ((b"1", "x"), (b"2", "y"), (b"3", None), (b"4", "x"), (b"5", "x")):
        headers = {} if value is None else {"x-stream-filter-value": value}
        publish(peer, body, headers=headers)
    consume(peer, "first", **{"x-stream-filter": "x"})
    assert [(b"1", 0), (b"4", 3), (b"5", 4)] == got(peer)
    consume(peer, "first", **{"x-stream-filter": ["y"], "x-stream-match-unfiltered": True})
    assert [(b"2", 1), (b"3", 2)] == got(peer)


def test_what_moved_is_read_from_the_files(world, peer, stream):
    publish(peer, *[b"%d" % number for number in range(9)])
    world.broker.streams.move(stream)
    assert not stream.pieces
    assert stream.files.next_offset == 9
    consume(peer, 4)
    publish(peer, b"9")
    assert [(b"%d" % number, number) for number in range(4, 10)] == got(peer)
    assert (stream.pending, world.broker.streams.cached) == (stream.pieces[0].octets, 0)


def test_what_is_too_old_goes(world, peer, stream):
    stream.set_limits(QueueLimits(queue_type="stream", age_max_ms=5_000))
    publish(peer, b"a")
    world.broker.streams.move(stream)
    world.advance(4_000)
    publish(peer, b"b")
    world.broker.streams.move(stream)
    world.advance(3_000)
    world.broker.tick()
    world.advance(10_000)
    assert 1 <= stream.first_offset
    consume(peer, "first")
    publish(peer, b"c")
    assert (b"c", 2) == got(peer)[-1]


def test_confirms_and_other_queues_are_as_ever(peer, stream):
    peer.call(Confirm.Select())
    peer.declare("q")
    peer.call(Queue.Bind(queue="q", exchange="amq.fanout"))
    peer.call(Queue.Bind(queue="s", exchange="amq.fanout"))
    peer.publish("amq.fanout", "k", b"both")
    assert peer.next().name == "Basic.Ack"
    consume(peer, "first")
    assert [(b"both", 0)] == got(peer)
    assert [b"both"] == [each.body for each in peer.drain("q")]


def test_a_stream_that_is_deleted_cancels_its_consumers(world, peer, stream):
    consume(peer, "first")
    publish(peer, b"a")
    peer.take()
    peer.call(Queue.Delete(queue="s"))
    world.run()
    assert (world.broker.streams.pending, world.broker.streams.cached) == (0, 0)
    assert stream.readers == {}
