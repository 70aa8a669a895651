from pybroker.core.message_trace.watch import Watch
from tests.core.message_trace.conftest import names


def test_it_is_there_as_long_as_one_of_the_others(world, peer, follow):
    peer.declare("other")
    queues = (world.vhost.queues["q"], world.vhost.queues["other"])
    watch = Watch(follow(queue="q"), [], queues)
    assert (watch.durable, watch.messages, watch.messages_resident, watch.delivers_at_once) == (False, 0, 0, False)
    peer.consume("other")
    assert watch.delivers_at_once
    world.vhost.delete_queue(queues[0])
    assert not watch.deleted
    world.vhost.delete_queue(queues[1])
    assert watch.deleted
    watch.wake()
    watch.deliver(0)
    assert not watch.awake


def test_immediate_is_followed_and_told_when_nobody_takes_it(world, peer, follow):
    world.broker.settings.refuse_immediate = False
    trace = follow(queue="q", count=2)
    peer.publish("", "q", immediate=True)
    world.advance(1_000)
    assert names(trace) == ["published", "routed", "not_taken", "settled"]
    peer.take()
    peer.consume("q", no_ack=True)
    peer.publish("", "q", immediate=True)
    assert names(trace) == ["published", "routed", "delivered", "settled", "ended"]
