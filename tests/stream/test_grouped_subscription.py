"""Of the subscriptions with one name a single one is delivered to, and the next one begins when that has stopped."""

from pybroker.core.events.cause import BROKER
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import OffsetType
from pybroker.wire.stream.fields import Offset
from tests.stream_peer import NEXT, StreamPeer

SINGLE = {"single-active-consumer": "true", "name": "g"}


def join(peer, subscription_id=1, stream="s", **more):
    properties = {**SINGLE, **{key.replace("_", "-"): value for key, value in more.items()}}
    asked = commands.Subscribe, subscription_id, stream, NEXT, 10, properties
    assert peer.call(*asked).code == 1


def updates(peer):
    """Return the ConsumerUpdates that came: correlation id, subscription, whether to begin."""
    return [(int.from_bytes(each.content[:4]), each.content[4], each.content[5]) for each in peer.take(26)]


def answer(peer, correlation_id, offset=None):
    resumed = None if offset is None else Offset(OffsetType.OFFSET, offset)
    peer.send(commands.ConsumerUpdated(correlation_id, 1, resumed))


def begin(peer, offset=None):
    """Answer the only update, which has a subscription begin."""
    ((correlation_id, _, active),) = updates(peer)
    assert active
    answer(peer, correlation_id, offset)


def bodies(peer):
    return [body for chunk in peer.chunks() for body in chunk.bodies]


def test_the_first_one_is_delivered_to_until_it_leaves(world, peer):
    other = StreamPeer(world)
    peer.declare()
    join(peer)
    join(other)
    assert not updates(other)
    peer.publish(b"a")
    assert not bodies(peer)  # it has not answered
    begin(peer, 0)
    assert bodies(peer) == [b"a"]
    peer.publish(b"b", first_id=2)
    assert (bodies(peer), bodies(other)) == ([b"b"], [])
    assert peer.call(commands.Unsubscribe, 1).code == 1
    begin(other, 1)
    assert bodies(other) == [b"b"]
    assert len(world.vhost.queues["s"].readers) == 1


def test_a_lost_connection_is_followed_by_the_next(world, peer):
    other = StreamPeer(world)
    join(peer)
    begin(peer)
    join(other)
    peer.disconnect()
    begin(other)
    assert world.broker.streams.readers == 1


def test_without_an_answered_place_the_subscription_says_where(world, peer):
    peer.declare()
    peer.publish(b"a")
    join(peer)
    begin(peer)
    assert not bodies(peer)
    peer.publish(b"b", first_id=2)
    assert bodies(peer) == [b"b"]


def test_partitions_spread_and_one_steps_down_for_another(world, peer):
    other = StreamPeer(world)
    peer.call(commands.CreateSuperStream, "x", ("x-0", "x-1"), ("0", "1"), {})
    for number in range(2):
        join(peer, number, f"x-{number}", super_stream="x")
    for correlation_id, _, active in updates(peer):
        assert active
        answer(peer, correlation_id)
    peer.declare("x-1")
    peer.publish(b"a")
    assert bodies(peer) == [b"a"]
    for number in range(2):
        join(other, number, f"x-{number}", super_stream="x")
    ((correlation_id, subscription, active),) = updates(peer)
    assert (subscription, active) == (1, 0)
    peer.publish(b"b", first_id=2)
    assert (bodies(peer), updates(other)) == ([], [])  # both would have it otherwise
    answer(peer, correlation_id)
    begin(other, 1)
    assert bodies(other) == [b"b"]


def test_late_and_unknown_answers_change_nothing(world, peer):
    other = StreamPeer(world)
    join(peer)
    ((correlation_id, *_),) = updates(peer)
    answer(peer, 99, 0)
    join(other)
    assert peer.call(commands.Unsubscribe, 1).code == 1
    answer(peer, correlation_id, 0)
    answer(peer, correlation_id, 0)
    assert not world.vhost.queues["s"].readers
    begin(other)


def test_one_that_does_not_answer_loses_its_connection(world, peer):
    other = StreamPeer(world)
    join(peer)
    join(other)
    world.advance(59_000)
    assert not peer.session.finished
    world.advance(2_000)
    assert peer.session.finished
    peer.disconnect()
    begin(other)


def test_a_deleted_stream_ends_the_group(world, peer):
    other = StreamPeer(world)
    join(peer)
    begin(peer)
    join(other)
    world.vhost.delete_queue(world.vhost.queues["s"], BROKER)
    world.run()
    assert len(peer.take(16)) == len(other.take(16)) == 1
    assert not [*world.broker.streams.groups]
    assert world.broker.streams.readers == 0
    assert not updates(other)


def test_an_operator_pauses_one_that_waits(world, peer):
    other = StreamPeer(world)
    peer.declare()
    join(peer)
    begin(peer)
    join(other)
    (first, second) = world.vhost.queues["s"].consumers
    world.broker.pauses.pause_consumer(second, "maintenance", BROKER)
    peer.disconnect()
    begin(other, 0)
    other.declare()
    other.publish(b"a")
    assert not bodies(other)
    world.broker.pauses.resume_consumer(second, BROKER)
    world.run()
    assert bodies(other) == [b"a"]
    assert first.cancelled


def test_a_peer_that_is_not_read_is_not_late(world, peer):
    peer.declare()
    join(peer)
    world.broker.alarms.set("memory", "test")
    peer.publish(b"a")  # which an alarm blocks, and all behind it
    ((correlation_id, *_),) = updates(peer)
    answer(peer, correlation_id, 0)
    world.advance(120_000)
    assert not peer.session.finished
    world.broker.alarms.clear("memory")
    world.run()
    assert bodies(peer) == [b"a"]


def test_nobody_waits_for_an_answer_of_one_that_has_left(world, peer):
    join(peer)
    assert peer.call(commands.Unsubscribe, 1).code == 1
    world.advance(120_000)
    assert not peer.session.finished


def test_a_connection_that_ends_asks_none_of_its_own(world, peer):
    for number in (1, 2, 3):
        join(peer, number)
    assert len(updates(peer)) == 1
    peer.call(commands.Close, 1, "OK")
    assert not updates(peer)


def test_an_error_for_an_answer_changes_nothing_but_is_told(world, peer, caplog):
    join(peer)
    ((correlation_id, *_),) = updates(peer)
    peer.send(commands.ConsumerUpdated(correlation_id, 15, Offset(OffsetType.OFFSET, 0)))
    assert world.vhost.queues["s"].readers
    assert "answers ConsumerUpdate of subscription 1 with code 15" in caplog.text
