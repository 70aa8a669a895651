"""Consumers of streams whose acknowledgements are stored as their offset."""

import pytest

from pybroker.amqp import tracked_consumer as module
from pybroker.core.channel.unacked import Unacked
from pybroker.wire.table import Table
from tests.fakes import Basic, Channel, FakePeer, Queue, Tx, World
from tests.flows.test_streams import consume, got, publish, stream

__all__ = ["stream"]

TRACKING = "x-stream-automatic-offset-tracking"


def track(peer: FakePeer, offset: object = None, tag: str = "billing", prefetch: int = 100) -> None:
    peer.call(Basic.Qos(prefetch_count=prefetch))
    arguments = {TRACKING: True} | ({} if offset is None else {"x-stream-offset": offset})
    peer.consume("s", tag=tag, arguments=Table(arguments))


@pytest.fixture
def tracked(peer, stream):
    """Return a stream with five messages, which a tracked consumer has got."""
    publish(peer, *[b"%d" % number for number in range(5)])
    track(peer, "first")
    assert 5 == len(peer.take())
    return stream


def test_acknowledgements_are_stored_once_a_second(world, peer, tracked):
    peer.send(Basic.Ack(delivery_tag=2, multiple=True))
    assert tracked.tracking.offset("billing") is None
    world.advance(1_000)
    assert 1 == tracked.tracking.offset("billing")
    peer.send(Basic.Ack(delivery_tag=3))
    world.advance(1_000)
    assert 2 == tracked.tracking.offset("billing")


def test_a_consumer_resumes_behind_it(world, peer, tracked):
    peer.send(Basic.Ack(delivery_tag=3, multiple=True))
    peer.disconnect()
    assert 2 == tracked.tracking.offset("billing")
    other = world.connect()
    track(other)
    assert [(b"3", 3), (b"4", 4)] == got(other)
    again = world.connect()
    track(again, 1)
    assert 4 == len(got(again))


def test_a_message_that_is_not_acknowledged_comes_again(world, peer, tracked):
    peer.send(Basic.Ack(delivery_tag=4), Basic.Ack(delivery_tag=1))
    world.advance(1_000)
    assert 0 == tracked.tracking.offset("billing")
    peer.call(Basic.Cancel(consumer_tag="billing"))
    track(peer)
    assert [1, 2, 3, 4] == [offset for _, offset in got(peer)]


def test_rejected_messages_alone_store_nothing(world, peer, tracked):
    peer.send(Basic.Nack(delivery_tag=5, multiple=True, requeue=True))
    world.advance(1_000)
    peer.disconnect()
    assert tracked.tracking.offset("billing") is None


def test_acknowledgements_of_a_transaction_count_when_it_is_committed(world, peer, stream):
    publish(peer, b"0", b"1", b"2")
    peer.call(Tx.Select())
    track(peer, "first")
    peer.take()
    peer.send(Basic.Ack(delivery_tag=1))
    peer.call(Tx.Commit())
    peer.send(Basic.Ack(delivery_tag=2))
    world.advance(1_000)
    assert 0 == stream.tracking.offset("billing")
    peer.call(Tx.Commit())
    world.advance(1_000)
    assert 1 == stream.tracking.offset("billing")


def test_without_a_stored_offset_it_begins_with_new_messages(peer, stream):
    publish(peer, b"0")
    track(peer)
    publish(peer, b"1")
    assert [(b"1", 1)] == got(peer)


def test_a_start_has_to_know_the_offset_first(world, peer, tracked, monkeypatch):
    peer.send(Basic.Ack(delivery_tag=2, multiple=True))
    peer.disconnect()
    calls = []
    monkeypatch.setattr(type(tracked.tracking), "when_ready", lambda _, call: calls.append(call))
    other, gone = world.connect(), world.connect()
    track(other)
    track(gone)
    publish(other, b"5")
    gone.disconnect()
    assert [] == got(other)
    for call in calls:
        call()
    world.run()
    assert [2, 3, 4, 5] == [offset for _, offset in got(other)]


def test_a_consumer_needs_a_tag(peer, stream):
    peer.call(Basic.Qos(prefetch_count=1))
    peer.send(Basic.Consume(queue="s", arguments=Table({TRACKING: True})))
    (closed,) = peer.take()
    assert isinstance(closed, Channel.Close)
    assert (406, f"PRECONDITION_FAILED - {TRACKING} needs a consumer tag, by which the offset is stored") == (
        closed.reply_code,
        closed.reply_text,
    )


def test_without_tracking_nothing_is_stored(world, peer, stream):
    publish(peer, b"0")
    tag = consume(peer, "first", **{TRACKING: False})
    peer.take()
    peer.send(Basic.Ack(delivery_tag=1))
    world.advance(1_000)
    assert stream.tracking.offset(tag) is None


def test_a_deleted_stream_has_nothing_stored(world, peer, tracked):
    peer.send(Basic.Ack(delivery_tag=5, multiple=True))
    world.connect().call(Queue.Delete(queue="s"))
    world.advance(1_000)
    assert 0 == len(world.broker.streams.trackers)


def both_get(world: World, peer: FakePeer, count: int) -> dict[str, list[int]]:
    """Deliver messages to two consumers of one channel; return their delivery tags."""
    tags: dict[str, list[int]] = {"slow": [], "fast": []}
    for tag in tags:
        track(peer, "first", tag)
    other = world.connect()
    for number in range(count):
        publish(other, b"%d" % number)
    for each in peer.take():
        tags[each.method.consumer_tag].append(each.method.delivery_tag)
    return tags


def test_messages_of_others_on_the_channel_are_looked_at_once_a_share_at_a_time(world, peer, stream, monkeypatch):
    monkeypatch.setattr(module, "LOOK_BATCHES", 2)
    looked = []
    since = Unacked.since

    def counted(self, tag, count):
        found = since(self, tag, count)
        looked.extend(found)
        return found

    monkeypatch.setattr(Unacked, "since", counted)
    tags = both_get(world, peer, 6)
    for tag in tags["fast"][:5]:
        peer.send(Basic.Ack(delivery_tag=tag))
    world.advance(1_000)
    assert (None, 4) == (stream.tracking.offset("slow"), stream.tracking.offset("fast"))
    count = len(looked)
    assert count <= 12
    peer.send(Basic.Ack(delivery_tag=tags["fast"][5]))
    world.advance(1_000)
    assert 5 == stream.tracking.offset("fast")
    assert len(looked) <= count + 2
    peer.send(Basic.Ack(delivery_tag=tags["slow"][0]))
    world.advance(1_000)
    assert 0 == stream.tracking.offset("slow")


def test_acknowledgements_that_a_rollback_takes_back_are_not_stored(world, peer, stream):
    publish(peer, b"0", b"1", b"2", b"3")
    peer.call(Tx.Select())
    track(peer, "first")
    peer.take()
    peer.send(Basic.Ack(delivery_tag=1))
    peer.call(Tx.Commit())
    peer.send(Basic.Ack(delivery_tag=2), Basic.Ack(delivery_tag=3))
    world.advance(1_000)
    assert 0 == stream.tracking.offset("billing")
    peer.call(Tx.Rollback())
    peer.send(Basic.Ack(delivery_tag=3))
    peer.call(Tx.Commit())
    world.advance(1_000)
    assert 0 == stream.tracking.offset("billing")
    peer.send(Basic.Ack(delivery_tag=2))
    peer.call(Tx.Commit())
    world.advance(1_000)
    assert 2 == stream.tracking.offset("billing")


def test_a_consumer_that_ends_finds_its_offset_at_once(world, peer, stream, monkeypatch):
    monkeypatch.setattr(module, "LOOK_BATCHES", 1)
    for tag in both_get(world, peer, 4)["fast"]:
        peer.send(Basic.Ack(delivery_tag=tag))
    peer.call(Basic.Cancel(consumer_tag="fast"))
    assert 3 == stream.tracking.offset("fast")
