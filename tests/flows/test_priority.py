"""x-max-priority: levels, each first in first out (F14, F35)."""

from tests.fakes import Basic, FakePeer


def bodies(peer: FakePeer) -> list[bytes]:
    return [message.body for message in peer.drain("q")]


def publish(peer: FakePeer, *messages: tuple[bytes, int | None]) -> None:
    frames = []
    for content, priority in messages:
        properties = {} if priority is None else {"priority": priority}
        frames += peer.publish_frames("", "q", content, **properties)
    peer.send(*frames)


def test_f35_higher_priorities_leave_first(peer):
    peer.declare("q", {"x-max-priority": 5})
    publish(peer, (b"low", 1), (b"high", 5), (b"middle", 3))
    assert bodies(peer) == [b"high", b"middle", b"low"]


def test_f14_within_a_priority_order_holds(peer):
    peer.declare("q", {"x-max-priority": 2})
    publish(peer, *[(b"%d" % i, i % 3) for i in range(12)])
    assert bodies(peer) == [b"%d" % i for level in (2, 1, 0) for i in range(12) if i % 3 == level]


def test_f35_above_the_maximum_is_the_maximum(peer):
    peer.declare("q", {"x-max-priority": 2})
    publish(peer, (b"1", 2), (b"2", 200), (b"3", 2))
    assert bodies(peer) == [b"1", b"2", b"3"]


def test_f35_none_is_zero(peer):
    peer.declare("q", {"x-max-priority": 2})
    publish(peer, (b"none", None), (b"one", 1), (b"zero", 0))
    assert bodies(peer) == [b"one", b"none", b"zero"]


def test_f35_without_the_argument_priority_means_nothing(peer):
    peer.declare("q")
    publish(peer, (b"1", 0), (b"2", 9))
    assert bodies(peer) == [b"1", b"2"]


def test_a_returned_message_goes_back_to_its_level(peer):
    peer.declare("q", {"x-max-priority": 2})
    publish(peer, (b"low 1", 0), (b"low 2", 0), (b"high", 2))
    for _ in range(3):
        peer.get("q", no_ack=False)
    peer.send(Basic.Nack(2, requeue=True))
    peer.send(Basic.Nack(1, requeue=True))
    publish(peer, (b"middle", 1))
    assert bodies(peer) == [b"high", b"middle", b"low 1"]


def test_drop_head_takes_from_the_highest_level(peer):
    # as RabbitMQ does: the head of the queue is the head of its highest level
    peer.declare("q", {"x-max-priority": 2, "x-max-length": 2})
    publish(peer, (b"low", 0), (b"high 1", 2), (b"high 2", 2))
    assert bodies(peer) == [b"high 2", b"low"]


def test_purge_and_counts_span_all_levels(world, peer):
    peer.declare("q", {"x-max-priority": 3})
    publish(peer, *[(b"x", i % 4) for i in range(10)])
    assert world.vhost.queues["q"].messages_ready == 10
    assert world.vhost.queues["q"].purge() == 10


def test_messages_expire_on_every_level(world, peer):
    peer.declare("q", {"x-max-priority": 2, "x-message-ttl": 100})
    publish(peer, (b"low", 0), (b"high", 2))
    world.advance(100)
    assert world.vhost.queues["q"].messages_ready == 0
