"""basic.qos as RabbitMQ reads it: a limit for each new consumer, or one for the channel (G15)."""

from tests.fakes import Basic, FakePeer


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


def served(peer, acks: int) -> dict[str, int]:
    """Acknowledge what comes, one by one; return how many deliveries each consumer got meanwhile."""
    counts: dict[str, int] = {}
    waiting = peer.take()
    for _ in range(acks):
        delivery = waiting.pop(0)
        tag = delivery.method.consumer_tag
        counts[tag] = counts.get(tag, 0) + 1
        peer.send(Basic.Ack(delivery.method.delivery_tag))
        waiting += peer.take()
    return counts


def test_g15_the_global_limit_goes_round_between_queues(peer):
    for queue in "abc":
        fill(peer, 40, queue)
    peer.call(Basic.Qos(prefetch_count=2, global_=True))
    for queue in "abc":
        peer.consume(queue, queue)
    counts = served(peer, 60)
    assert set(counts) == {"a", "b", "c"}
    assert max(counts.values()) - min(counts.values()) <= 2


def test_g15_the_global_limit_goes_round_between_consumers_of_a_queue(peer):
    fill(peer, 60)
    peer.call(Basic.Qos(prefetch_count=1, global_=True))
    for tag in ("a", "b", "c"):
        peer.consume("q", tag)
    assert served(peer, 45) == {"a": 15, "b": 15, "c": 15}


def test_g15_who_has_nothing_to_get_is_passed_over(peer):
    fill(peer, 40, "a")
    peer.declare("empty")
    fill(peer, 40, "b")
    peer.call(Basic.Qos(prefetch_count=1, global_=True))
    for queue in ("a", "empty", "b"):
        peer.consume(queue, queue)
    assert served(peer, 30) == {"a": 15, "b": 15}


def test_g15_automatic_acknowledgement_waits_for_the_global_limit(peer):
    # RabbitMQ: rabbit_limiter.erl, can_send is asked for these as well, and does not count them.
    fill(peer, 10, "a")
    fill(peer, 10, "b")
    peer.call(Basic.Qos(prefetch_count=2, global_=True))
    peer.consume("a", "counts")
    assert len(peer.take()) == 2
    peer.consume("b", "does not", no_ack=True)
    assert peer.take() == []
    peer.send(Basic.Cancel("counts", nowait=True), Basic.Ack(1))
    assert [m.method.consumer_tag for m in peer.take()] == ["does not"] * 10
