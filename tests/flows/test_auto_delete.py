"""Queues and exchanges that go by themselves: auto-delete, x-expires; and what consumers are told (F24, F25)."""

import pytest

from tests.fakes import CAPABILITIES, Basic, Channel, Connection, Exchange, Queue


@pytest.mark.parametrize("end", ["cancel", "channel", "connection", "socket"])
def test_f25_a_queue_goes_with_its_last_consumer(world, peer, end):
    # F24
    peer.declare("q", auto_delete=True)
    tag = peer.consume("q")
    if end == "cancel":
        peer.call(Basic.Cancel(tag))
    elif end == "channel":
        peer.call(Channel.Close(200, "", 0, 0))
    elif end == "connection":
        peer.call(Connection.Close(200, "", 0, 0), 0)
    else:
        peer.disconnect()
    assert "q" not in world.vhost.queues


def test_f25_not_while_another_consumer_is_left(world, peer):
    peer.declare("q", auto_delete=True)
    one, other = peer.consume("q"), peer.consume("q")
    peer.call(Basic.Cancel(one))
    assert "q" in world.vhost.queues
    peer.call(Basic.Cancel(other))
    assert "q" not in world.vhost.queues


def test_f25_never_before_it_had_one(world, peer):
    peer.declare("q", auto_delete=True)
    peer.publish("", "q", b"m")
    assert peer.get("q").body == b"m"
    peer.disconnect()
    world.advance(3_600_000)
    assert "q" in world.vhost.queues


def test_an_auto_delete_exchange_goes_with_its_last_binding(world, peer):
    peer.declare("q")
    peer.call(Exchange.Declare(exchange="x", auto_delete=True))
    peer.call(Queue.Bind(queue="q", exchange="x", routing_key="k"))
    peer.call(Queue.Unbind(queue="q", exchange="x", routing_key="k"))
    assert "x" not in world.vhost.exchanges


def test_x_expires_deletes_an_unused_queue(world, peer):
    # F24, F32
    peer.declare("q", {"x-expires": 10_000})
    world.advance(9_999)
    assert "q" in world.vhost.queues
    world.advance(1)
    assert "q" not in world.vhost.queues


@pytest.mark.parametrize("use", [Basic.Get(queue="q"), Queue.Declare(queue="q", arguments={"x-expires": 10_000})])
def test_x_expires_starts_anew_with_each_use(world, peer, use):
    peer.declare("q", {"x-expires": 10_000})
    world.advance(9_000)
    peer.call(use)
    world.advance(9_000)
    assert "q" in world.vhost.queues
    world.advance(1_000)
    assert "q" not in world.vhost.queues


def test_x_expires_waits_while_there_is_a_consumer(world, peer):
    peer.declare("q", {"x-expires": 10_000})
    tag = peer.consume("q")
    world.advance(60_000)
    assert "q" in world.vhost.queues
    peer.call(Basic.Cancel(tag))
    world.advance(10_000)
    assert "q" not in world.vhost.queues


def test_consumers_are_told_that_their_queue_is_gone(world, peer):
    peer.declare("q")
    peer.consume("q", "t")
    world.connect().call(Queue.Delete(queue="q"))
    (cancel,) = peer.take()
    assert isinstance(cancel, Basic.Cancel)
    assert (cancel.consumer_tag, cancel.nowait) == ("t", True)


def test_consumers_that_do_not_know_the_extension_are_not(world):
    peer = world.connect(capabilities=CAPABILITIES | {"consumer_cancel_notify": False})
    peer.declare("q")
    peer.consume("q")
    world.connect().call(Queue.Delete(queue="q"))
    assert peer.take() == []


def test_who_deletes_a_queue_hears_of_that_before_its_own_consumers_cancellation(peer):
    # py-amqp takes a basic.cancel in front of delete-ok for an error.
    peer.declare("q")
    peer.call(Basic.Consume(queue="q", consumer_tag="t"))
    peer.send(Queue.Delete(queue="q"))
    assert [type(m) for m in peer.take()] == [Queue.DeleteOk, Basic.Cancel]


def test_the_tag_of_a_consumer_cancelled_by_us_is_free_again(world, peer):
    peer.declare("q")
    peer.consume("q", "t")
    world.connect().call(Queue.Delete(queue="q"))
    peer.take()
    peer.declare("q")
    assert peer.consume("q", "t") == "t"
