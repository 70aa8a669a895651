"""basic.qos as RabbitMQ reads it: a limit for each new consumer, or one for the channel (G15)."""

from fakes import Basic, FakePeer


def fill(peer: FakePeer, count: int, queue: str = "q") -> None:
    peer.declare(queue)
    peer.send(*[f for i in range(count) for f in peer.publish_frames("", queue, b"%d" % i)])


def test_f39_prefetch_limits_the_unacknowledged(peer):
    fill(peer, 10)
    peer.call(Basic.Qos(prefetch_count=3))
    peer.consume("q")
    assert peer.bodies() == [b"0", b"1", b"2"]
    peer.send(Basic.Ack(1))
    assert peer.bodies() == [b"3"]
    peer.send(Basic.Ack(4, multiple=True))
    assert peer.bodies() == [b"4", b"5", b"6"]


def test_f39_automatic_acknowledgement_ignores_it(peer):
    fill(peer, 10)
    peer.call(Basic.Qos(prefetch_count=3))
    peer.consume("q", no_ack=True)
    assert len(peer.take()) == 10


def test_g15_it_is_for_consumers_to_come(peer):
    fill(peer, 10)
    peer.consume("q", "before")
    assert len(peer.take()) == 10
    peer.call(Basic.Qos(prefetch_count=1))
    fill(peer, 3, "r")
    peer.consume("r", "after")
    assert [m.method.consumer_tag for m in peer.take()] == ["after"]


def test_g15_each_consumer_of_the_channel_has_its_own(peer):
    fill(peer, 5, "a")
    fill(peer, 5, "b")
    peer.call(Basic.Qos(prefetch_count=2))
    peer.consume("a", "of a")
    peer.consume("b", "of b")
    assert [m.method.consumer_tag for m in peer.take()] == ["of a", "of a", "of b", "of b"]


def test_g15_global_is_shared_by_the_channel(peer):
    fill(peer, 5, "a")
    fill(peer, 5, "b")
    peer.call(Basic.Qos(prefetch_count=3, global_=True))
    peer.consume("a", "of a")
    peer.consume("b", "of b")
    found = peer.take()
    assert [m.method.consumer_tag for m in found] == ["of a", "of a", "of a"]
    peer.send(Basic.Ack(3, multiple=True))
    assert len(peer.take()) == 3


def test_g15_both_limits_hold(peer):
    fill(peer, 9, "a")
    fill(peer, 9, "b")
    peer.call(Basic.Qos(prefetch_count=2))
    peer.call(Basic.Qos(prefetch_count=3, global_=True))
    peer.consume("a", "of a")
    peer.consume("b", "of b")
    assert [m.method.consumer_tag for m in peer.take()] == ["of a", "of a", "of b"]


def test_g15_raising_the_global_limit_lets_more_go(peer):
    fill(peer, 10)
    peer.call(Basic.Qos(prefetch_count=2, global_=True))
    peer.consume("q")
    assert len(peer.take()) == 2
    peer.send(Basic.Qos(prefetch_count=5, global_=True))
    assert len([m for m in peer.take() if not isinstance(m, Basic.QosOk)]) == 3


def test_g15_lifting_the_global_limit_lets_all_go(peer):
    fill(peer, 10)
    peer.call(Basic.Qos(prefetch_count=2, global_=True))
    peer.consume("q")
    peer.take()
    peer.send(Basic.Qos(prefetch_count=0, global_=True))
    assert len([m for m in peer.take() if not isinstance(m, Basic.QosOk)]) == 8


def test_g15_a_size_is_540(peer):
    assert peer.error(Basic.Qos(prefetch_size=1)) == (540, "NOT_IMPLEMENTED - prefetch_size!=0 (1)")


def test_g15_the_limit_holds_across_a_requeue(peer):
    fill(peer, 4)
    peer.call(Basic.Qos(prefetch_count=2))
    peer.consume("q")
    assert peer.bodies() == [b"0", b"1"]
    peer.send(Basic.Nack(2, requeue=True))
    assert peer.bodies() == [b"1"]
    assert peer.take() == []
