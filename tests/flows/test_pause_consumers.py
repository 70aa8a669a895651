"""Consumers of paused queues, and paused consumers, as their clients see them: deliveries wait."""

import pytest

from pybroker.core.events.cause import BROKER
from tests.fakes import Basic, Queue, World
from tests.flows.pausing import CONSUME, declare, pause, ready, resume

# -- consumers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"x-single-active-consumer": True}, {"x-max-priority": 5}])
def test_consumers_of_a_paused_queue_get_nothing_until_it_is_resumed(world, peer, arguments):
    peer.declare("q", arguments)
    peer.consume("q", "before", no_ack=True)
    pause(world, **CONSUME)
    peer.consume("q", "after", no_ack=True)
    for i in range(4):
        peer.publish("", "q", b"%d" % i)
    assert peer.take() == []
    resume(world)
    assert sorted(peer.bodies()) == [b"0", b"1", b"2", b"3"]


def test_unacknowledged_messages_stay_with_their_consumers_and_can_be_settled(world, peer):
    peer.declare("q")
    peer.consume("q")
    for i in range(3):
        peer.publish("", "q", b"%d" % i)
    tags = [m.method.delivery_tag for m in peer.take()]
    pause(world, **CONSUME)
    peer.send(Basic.Ack(tags[0]))
    peer.send(Basic.Nack(tags[1], requeue=True))
    queue = world.vhost.queues["q"]
    assert (queue.messages_ready, queue.messages_unacknowledged) == (1, 1)
    assert peer.take() == []
    resume(world)
    assert [(m.body, m.method.redelivered) for m in peer.take()] == [(b"1", True)]


def test_credit_that_came_back_while_it_was_paused_counts(world, peer):
    peer.declare("q")
    peer.call(Basic.Qos(prefetch_count=1))
    peer.consume("q")
    for i in range(3):
        peer.publish("", "q", b"%d" % i)
    pause(world, **CONSUME)
    (first,) = peer.take()
    peer.send(Basic.Ack(first.method.delivery_tag))
    assert peer.take() == []
    resume(world)
    assert peer.bodies() == [b"1"]


def test_basic_get_finds_a_paused_queue_empty(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    pause(world, **CONSUME)
    assert isinstance(peer.get("q"), Basic.GetEmpty)
    resume(world)
    assert peer.get("q").body == b"x"


def test_immediate_finds_no_consumer_there(world, peer):
    peer.declare("q")
    peer.consume("q", no_ack=True)
    pause(world, **CONSUME)
    peer.publish("", "q", b"x", immediate=True)
    (returned,) = peer.take()
    assert returned.method.reply_code == 313


def test_a_consumer_that_is_cancelled_meanwhile_is_forgotten(world, peer):
    peer.declare("q")
    for tag in ("a", "b"):
        peer.consume("q", tag, no_ack=True)
    pause(world, **CONSUME)
    peer.call(Basic.Cancel("a"))
    peer.publish("", "q", b"x")
    resume(world)
    assert [m.method.consumer_tag for m in peer.take()] == ["b"]


def test_messages_expire_in_a_paused_queue(world, peer):
    declare(peer, "dead")
    peer.declare("q", {"x-message-ttl": 1_000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
    peer.consume("q", no_ack=True)
    pause(world, **CONSUME)
    peer.publish("", "q", b"x")
    world.advance(2_000)
    assert (ready(world), ready(world, "dead")) == (0, 1)


def test_a_paused_queue_does_not_expire_for_want_of_use(world, peer):
    peer.declare("q", {"x-expires": 1_000})
    pause(world, **CONSUME)
    for _ in range(5):
        world.advance(900)
    assert "q" in world.vhost.queues
    resume(world)
    world.advance(900)
    assert "q" in world.vhost.queues
    world.advance(200)
    assert "q" not in world.vhost.queues


def test_a_paused_queue_can_be_purged_and_deleted_and_is_not_paused_when_it_is_declared_anew(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    pause(world)
    assert peer.call(Queue.Purge(queue="q")).message_count == 1
    peer.declare("q")
    assert world.vhost.queues["q"].paused is not None
    peer.call(Queue.Delete(queue="q"))
    peer.declare("q")
    peer.publish("", "q", b"x")
    assert peer.get("q").body == b"x"
    assert not world.vhost.paused


# -- one consumer -----------------------------------------------------------------------------------------------------


def consumer(world: World, tag: str, queue: str = "q"):
    return next(one for one in world.vhost.queues[queue].consumers if one.tag == tag)


def pause_consumer(world: World, tag: str) -> None:
    world.broker.pauses.pause_consumer(consumer(world, tag), "slow", BROKER)


def resume_consumer(world: World, tag: str) -> None:
    world.broker.pauses.resume_consumer(consumer(world, tag), BROKER)
    world.run()


def test_others_get_what_a_paused_consumer_does_not(world, peer):
    peer.declare("q")
    for tag in ("a", "b"):
        peer.consume("q", tag, no_ack=True)
    pause_consumer(world, "a")
    for _ in range(3):
        peer.publish("", "q")
    assert {m.method.consumer_tag for m in peer.take()} == {"b"}
    pause_consumer(world, "b")
    peer.publish("", "q")
    assert peer.take() == []
    resume_consumer(world, "a")
    assert [m.method.consumer_tag for m in peer.take()] == ["a"]


def test_a_paused_consumer_keeps_and_settles_what_it_has(world, peer):
    peer.declare("q")
    peer.call(Basic.Qos(prefetch_count=1))
    peer.consume("q", "a")
    peer.publish("", "q", b"1")
    peer.publish("", "q", b"2")
    pause_consumer(world, "a")
    (first,) = peer.take()
    peer.send(Basic.Ack(first.method.delivery_tag))
    assert (peer.take(), world.vhost.queues["q"].messages) == ([], 1)
    resume_consumer(world, "a")
    assert peer.bodies() == [b"2"]


def test_a_single_active_consumer_remains_so_while_it_is_paused(world, peer):
    peer.declare("q", {"x-single-active-consumer": True})
    for tag in "abc":
        peer.consume("q", tag, no_ack=True)
    pause_consumer(world, "a")
    peer.publish("", "q")
    assert peer.take() == []
    resume_consumer(world, "a")
    assert [m.method.consumer_tag for m in peer.take()] == ["a"]


def test_a_paused_heir_is_passed_over(world, peer):
    peer.declare("q", {"x-single-active-consumer": True})
    for tag in "abc":
        peer.consume("q", tag, no_ack=True)
    pause_consumer(world, "b")
    peer.call(Basic.Cancel("a"))
    peer.publish("", "q")
    assert [m.method.consumer_tag for m in peer.take()] == ["c"]
    peer.call(Basic.Cancel("c"))
    peer.publish("", "q")
    assert peer.take() == []
    resume_consumer(world, "b")
    assert [m.method.consumer_tag for m in peer.take()] == ["b"]


def test_a_paused_consumer_can_leave(world, peer):
    peer.declare("q")
    for tag in ("a", "b"):
        peer.consume("q", tag, no_ack=True)
    pause_consumer(world, "a")
    peer.call(Basic.Cancel("a"))
    peer.publish("", "q")
    assert [m.method.consumer_tag for m in peer.take()] == ["b"]


def test_an_operator_gets_messages_of_a_paused_queue(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    pause(world, **CONSUME)
    entry = world.vhost.queues["q"].get(no_ack=True)
    assert entry.run.contents_at(entry.indexes)[0].endswith(b"x\xce")
