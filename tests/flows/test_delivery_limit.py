"""Delivery limits, on every queue type: whatever brings a message back counts, and once too often it is dead.

As quorum queues of RabbitMQ 3.10 to 3.13 have it: requeued by the consumer or given up with its channel is the same.
"""

from dataclasses import replace

import pytest

from tests.fakes import Basic, Channel, Connection, Queue, Tx

LIMIT = 2


@pytest.fixture(params=["classic", "quorum"])
def limited(request, world, peer):
    """Return a queue with a limit, and one for its dead letters."""
    peer.declare("dead")
    arguments = {"x-queue-type": request.param, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    peer.declare("q", arguments, durable=True)
    queue = world.vhost.queues["q"]
    queue.set_limits(replace(queue.limits, delivery_limit=LIMIT))
    peer.publish("", "q", b"m")
    return queue


def nack(world, reader):
    reader.send(Basic.Nack(reader.last_tag, requeue=True))


def reject(world, reader):
    reader.send(Basic.Reject(reader.last_tag, requeue=True))


def recover(world, reader):
    reader.call(Basic.Recover(requeue=True))


def close_channel(world, reader):
    reader.call(Channel.Close(200, "bye", 0, 0))


def close_connection(world, reader):
    reader.call(Connection.Close(200, "bye", 0, 0), channel=0)


def lose_connection(world, reader):
    reader.session.peer_gone("cut")
    world.run()


def fail_channel(world, reader):
    reader.send(Basic.Ack(4_711))


def rolled_back_with_its_channel(world, reader):
    reader.call(Tx.Select())
    reader.send(Basic.Ack(reader.last_tag))
    reader.call(Channel.Close(200, "bye", 0, 0))


RETURNS = (
    nack,
    reject,
    recover,
    close_channel,
    close_connection,
    lose_connection,
    fail_channel,
    rolled_back_with_its_channel,
)


def deliver(world):
    """Return a new peer that was given the message, or None where there is none."""
    reader = world.connect()
    message = reader.get("q", no_ack=False)
    if message is None or not hasattr(message, "body"):
        return None, None
    reader.last_tag = message.method.delivery_tag
    return reader, message


@pytest.mark.parametrize("come_back", RETURNS)
def test_f32_whatever_brings_it_back_counts(world, peer, limited, come_back):
    for count in range(LIMIT + 1):
        reader, message = deliver(world)
        assert message.headers.get("x-delivery-count", 0) == count
        come_back(world, reader)
    assert deliver(world) == (None, None)
    (letter,) = peer.drain("dead")
    (death,) = letter.headers["x-death"]
    assert (death["reason"], death["count"], death["queue"]) == ("delivery_limit", 1, "q")
    assert {"x-first-death-reason": "delivery_limit", "x-last-death-reason": "delivery_limit"}.items() <= (
        letter.headers.items()
    )
    assert "x-delivery-count" not in letter.headers
    assert limited.messages == 0


def test_cancelling_a_consumer_brings_nothing_back(world, peer, limited):
    reader = world.connect()
    tag = reader.consume("q")
    (message,) = reader.take()
    reader.call(Basic.Cancel(tag))
    assert (limited.messages_ready, limited.messages_unacknowledged) == (0, 1)
    reader.send(Basic.Ack(message.method.delivery_tag))
    assert limited.messages == 0


def test_a_limit_of_none_is_none_and_a_limit_of_0_is_one_delivery(world, peer, limited):
    limited.set_limits(replace(limited.limits, delivery_limit=None))
    for _ in range(30):
        reader, message = deliver(world)
        nack(world, reader)
    assert message.headers == {"x-delivery-count": 29}
    peer.call(Queue.Purge(queue="q"))
    limited.set_limits(replace(limited.limits, delivery_limit=0))
    peer.publish("", "q", b"new")
    reader, _ = deliver(world)
    nack(world, reader)
    assert [letter.body for letter in peer.drain("dead")] == [b"new"]


def test_without_a_dead_letter_exchange_it_just_ends(world, peer, limited):
    limited.set_limits(replace(limited.limits, dead_letter_exchange=None, delivery_limit=0))
    reader, _ = deliver(world)
    nack(world, reader)
    assert (limited.messages, peer.drain("dead")) == (0, [])


def test_each_message_of_a_delivery_counts_for_itself(world, peer, limited):
    peer.publish("", "q", b"n")
    reader = world.connect()
    reader.consume("q")
    first, _ = reader.take()
    for _ in range(LIMIT):
        reader.send(Basic.Nack(first.method.delivery_tag, requeue=True))
        (first,) = reader.take()
    reader.send(Basic.Nack(0, multiple=True, requeue=True))
    (again,) = reader.take()
    assert (again.body, again.headers) == (b"n", {"x-delivery-count": 1})
    assert [letter.body for letter in peer.drain("dead")] == [b"m"]
