"""An open connection's publishers and subscriptions, and their end with a stream or with the connection."""

from pybroker.wire.stream import commands
from tests.fakes import Queue
from tests.stream_peer import NEXT, StreamPeer


def test_a_stream_that_goes_is_told_once_for_all(world, peer):
    peer.create("t")
    peer.declare(publisher_id=1)
    peer.declare(publisher_id=2)
    peer.declare("t", publisher_id=3)
    peer.subscribe(subscription_id=1)
    peer.subscribe("t", subscription_id=2, begin=NEXT)
    other = StreamPeer(world)
    other.call(commands.DeleteStream, "s")
    assert [b"\0\x06\0\x01s"] == [each.content for each in peer.take(16)]
    assert ([3], ["stream.subid-2"]) == ([*peer.session.channel.publishers], [*peer.session.channel.consumers])
    assert 1 == world.broker.totals.publishers


def test_a_stream_that_nobody_of_it_uses_is_none_of_its_business(world, peer):
    other = StreamPeer(world)
    other.call(commands.DeleteStream, "s")
    assert [] == peer.take(16)


def test_a_stream_deleted_by_amqp_is_told_as_well(world, peer):
    peer.subscribe()
    world.connect().call(Queue.Delete(queue="s"))
    assert 1 == len(peer.take(16))


def test_publishers_are_counted_by_connection(world, peer):
    assert 0 == world.broker.totals.publishers
    peer.declare(publisher_id=1)
    peer.declare(publisher_id=2)
    assert 1 == world.broker.totals.publishers
    peer.disconnect()
    assert 0 == world.broker.totals.publishers
