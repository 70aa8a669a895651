"""Exchanges, queues, bindings on a real broker; its refusals as exceptions named after their codes."""

import pytest

from pybroker.client.errors import (
    AccessRefused,
    ChannelClosed,
    NotFound,
    PreconditionFailed,
    ResourceLocked,
)


def test_a_queue_is_declared_looked_at_purged_and_deleted(channel, name):
    assert channel.queue_declare(name) == (name, 0, 0)
    channel.confirm_select()
    for _ in range(3):
        channel.publish_and_wait("", name, b"x")
    assert channel.queue_declare(name, passive=True).message_count == 3
    assert channel.queue_purge(name) == 3
    channel.publish_and_wait("", name, b"x")
    assert channel.queue_delete(name) == 1


def test_the_broker_names_a_queue_and_the_channel_remembers_it(channel):
    queue = channel.queue_declare(exclusive=True).queue
    assert queue.startswith("amq.gen-")
    channel.queue_bind("", "amq.fanout")
    channel.basic_publish("amq.fanout", "", b"hello")
    assert channel.queue_purge() == 1
    channel.queue_unbind("", "amq.fanout")
    assert channel.queue_delete() == 0


def test_an_exchange_routes_to_queues_and_exchanges(channel, queue, name):
    other = f"{name}-2"
    channel.exchange_declare(name, "topic", auto_delete=True)
    channel.exchange_declare(other, "fanout", internal=True, auto_delete=True)
    channel.exchange_bind(other, name, "a.*")
    channel.queue_bind(queue, other)
    channel.confirm_select()
    channel.publish_and_wait(name, "a.b", b"1")
    channel.publish_and_wait(name, "b.b", b"2")
    assert channel.queue_declare(queue, passive=True).message_count == 1
    channel.exchange_unbind(other, name, "a.*")
    channel.exchange_delete(other, if_unused=False)


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda c, q: c.queue_declare("nope-nope", passive=True), NotFound, "no queue 'nope-nope' in vhost '/'"),
        (lambda c, q: c.exchange_declare("nope-nope", passive=True), NotFound, "no exchange 'nope-nope' in vhost '/'"),
        (lambda c, q: c.queue_bind(q, "nope-nope"), NotFound, "no exchange 'nope-nope' in vhost '/'"),
        (lambda c, q: c.exchange_declare("amq.topic", "fanout", durable=True), PreconditionFailed, "inequivalent"),
        (lambda c, q: c.exchange_declare("amq.mine"), AccessRefused, "amq.mine"),
    ],
)
def test_refusals_are_named_after_their_reply_codes(connection, queue, act, error, text):
    channel = connection.channel()
    with pytest.raises(error, match=text):
        act(channel, queue)
    with pytest.raises(ChannelClosed, match=text) as caught:
        channel.queue_declare()
    assert type(caught.value.reason) is error
    assert connection.is_open


def test_g23_an_exclusive_queue_is_locked_for_other_connections(connect, queue):
    other = connect().channel()
    with pytest.raises(ResourceLocked, match="exclusive"):
        other.queue_declare(queue, passive=True)


def test_what_succeeded_is_remembered_for_a_recovery(connection, channel, name):
    topology = connection._topology
    channel.exchange_declare(name, "fanout", auto_delete=True)
    queue = channel.queue_declare(exclusive=True).queue
    channel.queue_declare(queue, passive=True)
    channel.queue_bind(queue, name, "k", {"x": 1})
    assert [record.name for record in topology.exchanges] == [name]
    assert [(record.name, record.server_named) for record in topology.queues] == [(queue, True)]
    assert [record[1:] for record in topology.bindings] == [(queue, name, "k", {"x": 1})]
    channel.queue_delete(queue)
    assert (topology.exchanges, topology.queues, topology.bindings) == ((), (), ())
