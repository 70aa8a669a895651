"""Consuming, getting, settling on a real broker."""

import queue as queues

import pytest

from pybroker.client.errors import AccessRefused, ConnectionClosed, MethodNotImplemented, NotFound, PreconditionFailed
from tests.client.scripted import WAIT_S


def publish(channel, queue, *bodies):
    """Publish, and wait until all are in the queue: RabbitMQ counts ahead of what is on its way."""
    channel.confirm_select()
    for body in bodies:
        channel.basic_publish("", queue, body)
    channel.wait_for_confirms()


def count(channel, queue):
    return channel.queue_declare(queue, passive=True).message_count


def test_g14_messages_are_pushed_as_they_come(channel, queue):
    got = queues.Queue()
    tag = channel.basic_consume(queue, got.put)
    publish(channel, queue, b"1", b"", b"3" * 500_000)
    messages = [got.get(timeout=WAIT_S) for _ in range(3)]
    assert [len(m.body) for m in messages] == [1, 0, 500_000]
    assert [(m.delivery_tag, m.consumer_tag, m.routing_key, m.redelivered) for m in messages] == [
        (i, tag, queue, False) for i in (1, 2, 3)
    ]
    messages[-1].ack(multiple=True)


def test_g17_g18_what_is_not_acknowledged_goes_to_another(connection, channel, queue):
    other = connection.channel()
    got = queues.Queue()
    other.basic_consume(queue, got.put)
    publish(channel, queue, b"1", b"2", b"3")
    messages = [got.get(timeout=WAIT_S) for _ in range(3)]
    messages[1].ack(multiple=True)
    other.close()
    again = channel.basic_get(queue)
    assert (again.body, again.redelivered, again.message_count) == (b"3", True, 0)


def test_g15_a_prefetch_limits_what_comes(channel, queue):
    got = queues.Queue()
    channel.basic_qos(2)
    channel.basic_consume(queue, got.put)
    publish(channel, queue, b"1", b"2", b"3")
    first = got.get(timeout=WAIT_S)
    got.get(timeout=WAIT_S)
    assert count(channel, queue) == 1
    assert got.empty()
    first.ack()
    assert got.get(timeout=WAIT_S).body == b"3"


def test_g16_an_unknown_tag_closes_the_channel(connection):
    channel = connection.channel()
    closed = queues.Queue()
    channel.on_close(closed.put)
    channel.basic_ack(5)
    error = closed.get(timeout=WAIT_S)
    assert (type(error), error.text) == (PreconditionFailed, "unknown delivery tag 5")


def test_g19_automatic_acknowledgement(channel, queue):
    got = queues.Queue()
    channel.basic_consume(queue, got.put, no_ack=True)
    publish(channel, queue, b"1")
    got.get(timeout=WAIT_S)
    assert count(channel, queue) == 0


def test_g20_get_answers_at_once(channel, queue):
    assert channel.basic_get(queue) is None
    publish(channel, queue, b"1", b"2")
    got = channel.basic_get(queue)
    assert (got.body, got.message_count, got.consumer_tag) == (b"1", 1, "")
    got.nack(requeue=False)
    channel.basic_get(queue).reject()
    again = channel.basic_get(queue)
    assert (again.body, again.redelivered) == (b"2", True)


def test_g22_an_exclusive_consumer_is_the_only_one(connection, channel, queue):
    channel.basic_consume(queue, print, exclusive=True)
    with pytest.raises(AccessRefused, match="exclusive use"):
        connection.channel().basic_consume(queue, print)


def test_g25_several_consumers_of_one_channel_are_told_apart(channel, queue):
    other = channel.queue_declare(exclusive=True).queue
    got = queues.Queue()
    channel.basic_consume(queue, lambda m: got.put(("one", m.body)), consumer_tag="one")
    channel.basic_consume(other, lambda m: got.put(("two", m.body)), consumer_tag="two")
    publish(channel, queue, b"1")
    publish(channel, other, b"2")
    assert sorted(got.get(timeout=WAIT_S) for _ in range(2)) == [("one", b"1"), ("two", b"2")]
    with pytest.raises(ValueError, match="'one' is in use"):
        channel.basic_consume(queue, print, consumer_tag="one")


def test_a_refused_consumer_is_forgotten(connection):
    channel = connection.channel()
    with pytest.raises(NotFound):
        channel.basic_consume("nope-nope", print)
    assert channel._consumers == {}


def test_a_cancelled_consumer_gets_what_had_come_and_no_more(channel, queue):
    got = queues.Queue()
    tag = channel.basic_consume(queue, got.put)
    publish(channel, queue, b"1")
    got.get(timeout=WAIT_S)
    channel.basic_cancel(tag)
    publish(channel, queue, b"2")
    assert count(channel, queue) == 1
    assert channel._consumers == {}


def test_the_broker_ends_a_consumer_with_its_queue(connection, channel, queue):
    cancelled = queues.Queue()
    tag = channel.basic_consume(queue, print, on_cancel=cancelled.put)
    connection.channel().queue_delete(queue)
    assert cancelled.get(timeout=WAIT_S) == tag
    assert channel._consumers == {}


def test_recover_delivers_again(channel, queue):
    got = queues.Queue()
    channel.basic_consume(queue, got.put)
    publish(channel, queue, b"1")
    got.get(timeout=WAIT_S)
    channel.basic_recover()
    again = got.get(timeout=WAIT_S)
    assert again.redelivered
    again.ack()


def test_callbacks_may_call_anything_on_their_channel(channel, queue):
    done = queues.Queue()

    def on_message(message):
        name = message.channel.queue_declare(exclusive=True).queue
        message.channel.basic_publish("", name, message.body)
        done.put(message.channel.basic_get(name, no_ack=True).body)
        message.ack()

    channel.basic_consume(queue, on_message)
    publish(channel, queue, b"1", b"2")
    assert [done.get(timeout=WAIT_S) for _ in range(2)] == [b"1", b"2"]


def test_g17_tag_0_acknowledges_all_there_are(connection, channel, queue):
    other = connection.channel()
    got = queues.Queue()
    other.basic_consume(queue, got.put)
    publish(channel, queue, b"1", b"2", b"3")
    assert [got.get(timeout=WAIT_S).body for _ in range(3)] == [b"1", b"2", b"3"]
    other.basic_ack(0, multiple=True)
    other.close()
    assert count(channel, queue) == 0


def test_g15_a_global_prefetch_is_shared_by_the_channels_consumers(channel, queue):
    got = queues.Queue()
    channel.basic_qos(2, global_=True)
    for tag in ("one", "two"):
        channel.basic_consume(queue, got.put, consumer_tag=tag)
    publish(channel, queue, b"1", b"2", b"3")
    messages = [got.get(timeout=WAIT_S) for _ in range(2)]
    assert count(channel, queue) == 1
    assert got.empty()
    messages[0].ack()
    assert got.get(timeout=WAIT_S).body == b"3"


def test_g15_a_prefetch_in_octets_is_refused(connect):
    connection = connect(recovery=False)
    channel = connection.channel()
    with pytest.raises(MethodNotImplemented, match=r"prefetch_size!=0 \(1000\)"):
        channel.basic_qos(10, prefetch_size=1_000)
    with pytest.raises(ConnectionClosed, match="prefetch_size!=0"):
        connection.wait_until_closed(WAIT_S)


def test_g21_no_local_is_the_brokers_to_mean(broker, channel, queue):
    """pybroker keeps a connection's own messages out of exclusive queues, RabbitMQ ignores the flag."""
    got = queues.Queue()
    channel.basic_consume(queue, got.put, no_local=True, no_ack=True)
    publish(channel, queue, b"from here")
    if not broker.is_ours:
        assert got.get(timeout=WAIT_S).body == b"from here"
    assert count(channel, queue) == 0
    assert got.empty()
