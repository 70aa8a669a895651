"""Requests that the broker does not answer: what they save, what happens to one that is refused."""

import queue as queues

import pytest
from pamqp import commands

from pybroker.client.errors import CallTimeout, ChannelClosed, NotFound, PreconditionFailed
from pybroker.wire.frame import BODY, HEADER, frame
from tests.client.scripted import WAIT_S, in_thread


@pytest.fixture
def ends(scripted):
    connection, peer = scripted.connect()
    return scripted.open_channel(connection, peer), peer


def deliver(peer, tag, number):
    peer.say(commands.Basic.Deliver, consumer_tag=tag, delivery_tag=number, routing_key="q")
    peer.socket.sendall(frame(HEADER, 1, b"\0\x3c\0\0" + (1).to_bytes(8) + b"\0\0") + frame(BODY, 1, b"%d" % number))


def test_declarations_bindings_and_deletions_are_done_in_order(channel, name):
    """One call behind them tells that all are done."""
    exchange, other = name, f"{name}-2"
    channel.exchange_declare(exchange, "topic", no_wait=True)
    channel.exchange_declare(other, "fanout", no_wait=True)
    channel.exchange_bind(other, exchange, "a.*", no_wait=True)
    for number in range(50):
        assert channel.queue_declare(f"{name}-{number}", exclusive=True, no_wait=True) == (f"{name}-{number}", 0, 0)
        channel.queue_bind("", other, no_wait=True)
    channel.confirm_select(no_wait=True)
    channel.publish_and_wait(exchange, "a.b", b"x", mandatory=True)
    assert channel.queue_declare(f"{name}-49", passive=True).message_count == 1
    assert channel.queue_purge(f"{name}-0", no_wait=True) == 0
    assert channel.queue_declare(f"{name}-0", passive=True).message_count == 0
    assert channel.queue_delete(f"{name}-1", no_wait=True) == 0
    channel.exchange_unbind(other, exchange, "a.*", no_wait=True)
    channel.publish_and_wait(exchange, "a.b", b"x")
    assert channel.queue_declare(f"{name}-49", passive=True).message_count == 1
    channel.exchange_delete(exchange, no_wait=True)
    channel.exchange_delete(other, no_wait=True)
    with pytest.raises(NotFound, match=f"no queue '{name}-1'"):
        channel.queue_declare(f"{name}-1", passive=True)


def test_what_is_refused_closes_the_channel_with_its_reason(connection, name):
    channel = connection.channel()
    closed = queues.Queue()
    channel.on_close(closed.put)
    channel.queue_declare(name, exclusive=True, no_wait=True)
    channel.queue_declare(name, exclusive=True, auto_delete=True, no_wait=True)
    assert type(closed.get(timeout=WAIT_S)) is PreconditionFailed
    with pytest.raises(ChannelClosed, match="inequivalent arg 'auto_delete'") as caught:
        channel.queue_declare("another", no_wait=True)
    assert type(caught.value.reason) is PreconditionFailed


def test_a_queue_without_a_name_needs_an_answer(channel):
    with pytest.raises(ValueError, match="no_wait needs a queue name"):
        channel.queue_declare(no_wait=True)
    assert channel.is_open


def test_a_consumer_begins_and_ends_without_an_answer(channel, queue):
    got = queues.Queue()
    tag = channel.basic_consume(queue, got.put, no_wait=True)
    channel.basic_publish("", queue, b"1")
    message = got.get(timeout=WAIT_S)
    assert (message.body, message.consumer_tag) == (b"1", tag)
    message.ack()
    channel.basic_cancel(tag, no_wait=True)
    channel.confirm_select()
    channel.publish_and_wait("", queue, b"2")
    assert channel.queue_declare(queue, passive=True).message_count == 1
    assert (channel._consumers, channel._leaving) == ({}, {})


def test_what_was_on_its_way_to_a_cancelled_consumer_still_comes(ends):
    """Otherwise it stayed unacknowledged for as long as the channel lives. After the next answer none can come."""
    channel, peer = ends
    got = queues.Queue()
    channel.basic_consume("q", got.put, consumer_tag="c", no_wait=True)
    assert peer.expect(commands.Basic.Consume).nowait
    deliver(peer, "c", 1)
    channel.basic_cancel("c", no_wait=True)
    assert peer.expect(commands.Basic.Cancel).nowait
    deliver(peer, "c", 2)
    assert [got.get(timeout=WAIT_S).body for _ in range(2)] == [b"1", b"2"]
    calling = in_thread(channel.queue_declare, "q")
    peer.expect(commands.Queue.Declare)
    deliver(peer, "c", 3)
    peer.say(commands.Queue.DeclareOk, queue="q")
    calling.result(WAIT_S)
    assert got.get(timeout=WAIT_S).body == b"3"
    assert channel._leaving == {}


def test_g4_it_comes_back_after_a_lost_link_and_what_was_cancelled_does_not(scripted, ends):
    channel, peer = ends
    channel.queue_declare("q", no_wait=True)
    channel.basic_consume("q", print, consumer_tag="stays", no_wait=True)
    channel.basic_consume("q", print, consumer_tag="goes", no_wait=True)
    channel.basic_cancel("goes", no_wait=True)
    peer.expect(commands.Queue.Declare)
    peer.close()
    peer = scripted.accept()
    for _ in range(2):
        peer.expect(commands.Channel.Open)
        peer.say(commands.Channel.OpenOk, peer.channel)
    assert peer.expect(commands.Queue.Declare).queue == "q"
    peer.say(commands.Queue.DeclareOk, peer.channel, queue="q")
    peer.expect(commands.Channel.Close)
    peer.say(commands.Channel.CloseOk, peer.channel)
    assert peer.expect(commands.Basic.Consume).consumer_tag == "stays"
    peer.say(commands.Basic.ConsumeOk, consumer_tag="stays")
    channel.connection.wait_until_open(WAIT_S)
    assert sorted(channel._consumers) == ["stays"]


def test_a_broker_that_does_not_read_is_not_buried_in_requests(scripted):
    connection, peer = scripted.connect(rpc_timeout_s=0.1)
    channel = scripted.open_channel(connection, peer)

    def declare(count):
        for number in range(count):
            channel.queue_declare(f"q{number}", arguments={"x-long": "x" * 100_000}, no_wait=True)

    with pytest.raises(
        CallTimeout, match=r"Queue\.Declare was not sent: the broker did not read from the connection for 0\.1 s"
    ):
        declare(1_000)
    assert connection._transport.outbox.octets < 2 << 20
    assert channel.is_open
