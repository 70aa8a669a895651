"""A requeued message returns to its original place (F15), with the redelivered flag (G1)."""

import pytest

from tests.fakes import Basic, Channel, Connection, FakePeer


def fill(peer: FakePeer, count: int) -> None:
    peer.declare("q")
    peer.send(*[f for i in range(count) for f in peer.publish_frames("", "q", b"%d" % i)])


def drained(peer: FakePeer, channel: int = 1) -> list[tuple[bytes, bool]]:
    return [(m.body, m.method.redelivered) for m in peer.drain("q", channel)]


def test_f15_a_nacked_message_goes_to_its_original_place(peer):
    fill(peer, 5)
    for _ in range(3):
        peer.get("q", no_ack=False)
    peer.send(Basic.Nack(2, requeue=True))
    assert drained(peer) == [(b"1", True), (b"3", False), (b"4", False)]
    peer.send(Basic.Nack(3, multiple=True, requeue=True))
    assert drained(peer) == [(b"0", True), (b"2", True)]


def test_f15_returns_in_any_order_end_in_publish_order(peer):
    fill(peer, 6)
    for _ in range(6):
        peer.get("q", no_ack=False)
    for tag in (4, 1, 6, 2, 5, 3):
        peer.send(Basic.Reject(tag, requeue=True))
    assert drained(peer) == [(b"%d" % i, True) for i in range(6)]


def test_f15_strides_of_several_consumers_are_put_together_again(world, peer):
    peer.declare("q")
    for number in (2, 3, 4):
        peer.open(number)
        peer.call(Basic.Qos(prefetch_count=10), number)
        peer.consume("q", channel=number)
    fill(peer, 30)
    assert [peer.bodies(number)[:2] for number in (2, 3, 4)] == [[b"0", b"3"], [b"1", b"4"], [b"2", b"5"]]
    for number in (4, 2, 3):
        peer.call(Channel.Close(200, "", 0, 0), number)
    assert world.vhost.queues["q"].messages_ready == 30
    assert [body for body, _ in drained(peer)] == [b"%d" % i for i in range(30)]


@pytest.mark.parametrize("end", ["channel", "connection", "socket"])
def test_g18_unacknowledged_messages_go_to_another_client(world, peer, end):
    fill(peer, 3)
    other = world.connect()
    other.consume("q")
    assert other.bodies() == [b"0", b"1", b"2"]
    peer.consume("q")
    if end == "channel":
        other.call(Channel.Close(200, "", 0, 0))
    elif end == "connection":
        other.call(Connection.Close(200, "", 0, 0), 0)
    else:
        other.disconnect()
    assert [(m.body, m.method.redelivered) for m in peer.take()] == [(b"0", True), (b"1", True), (b"2", True)]


def test_g1_only_what_was_delivered_is_redelivered(peer):
    fill(peer, 2)
    peer.call(Basic.Qos(prefetch_count=1))
    peer.consume("q")
    (first,) = peer.take()
    assert not first.method.redelivered
    peer.send(Basic.Nack(1, requeue=True))
    (again,) = peer.take()
    assert (again.body, again.method.redelivered, again.method.delivery_tag) == (b"0", True, 2)
    peer.send(Basic.Ack(2))
    assert [(m.body, m.method.redelivered) for m in peer.take()] == [(b"1", False)]


def test_rejected_without_requeue_is_gone(world, peer):
    fill(peer, 1)
    peer.get("q", no_ack=False)
    peer.send(Basic.Reject(1, requeue=False))
    assert world.vhost.queues["q"].messages == 0


def test_nack_of_everything(world, peer):
    fill(peer, 3)
    for _ in range(3):
        peer.get("q", no_ack=False)
    peer.send(Basic.Nack(0, multiple=True, requeue=True))
    assert world.vhost.queues["q"].messages_ready == 3


def test_nothing_is_delivered_on_a_channel_being_closed(world, peer):
    fill(peer, 10)
    peer.call(Basic.Qos(prefetch_count=3))
    peer.consume("q")
    assert len(peer.take()) == 3
    assert isinstance(peer.call(Channel.Close(200, "", 0, 0)), Channel.CloseOk)
    assert peer.take() == []
    assert world.vhost.queues["q"].messages_ready == 10
