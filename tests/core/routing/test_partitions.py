"""Partitions of a super stream: the streams bound to its exchange, in their order."""

from pybroker.core.policy.arguments import queue_limits
from pybroker.core.routing.partitions import partitions
from pybroker.core.stream.make import make_queue
from pybroker.wire.table import Table
from tests.topology import exchange, link, new_vhost, queue, typed


def stream(vhost, name):
    properties = {"durable": True, "auto_delete": False, "owner": None, "arguments": Table()}
    vhost.queues[name] = make_queue(vhost, name, limits=queue_limits({}, "stream"), **properties)


def found(vhost):
    return [(each.destination.name, each.routing_key) for each in partitions(vhost.exchanges["x"])]


def test_they_stand_in_the_order_that_their_bindings_say():
    vhost = new_vhost()
    exchange(vhost, "x")
    for number in (10, 2, 1):
        stream(vhost, f"s{number}")
        link(vhost, "x", f"s{number}", f"key{number}", typed("x-stream-partition-order", "l", number))
    assert found(vhost) == [("s1", "key1"), ("s2", "key2"), ("s10", "key10")]


def test_without_an_order_keys_count():
    vhost = new_vhost()
    exchange(vhost, "x")
    for key in ("b", "10", "9", "a"):
        stream(vhost, f"s{key}")
        link(vhost, "x", f"s{key}", key)
    assert [key for _, key in found(vhost)] == ["9", "10", "a", "b"]


def test_queues_and_exchanges_are_none():
    vhost = new_vhost()
    exchange(vhost, "x")
    exchange(vhost, "y")
    queue(vhost, "q")
    link(vhost, "x", "q", "0")
    link(vhost, "x", "x:y", "1")
    assert found(vhost) == []
