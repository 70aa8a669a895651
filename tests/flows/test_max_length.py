"""Length limits and their three overflows (F32)."""

import pytest

from tests.fakes import Basic, Confirm, FakePeer


def publish(peer: FakePeer, *contents: bytes) -> None:
    peer.send(*[f for content in contents for f in peer.publish_frames("", "q", content)])


def bodies(peer: FakePeer) -> list[bytes]:
    return [message.body for message in peer.drain("q")]


@pytest.mark.parametrize("at_once", [True, False])
def test_f32_drop_head_keeps_the_youngest(peer, at_once):
    peer.declare("q", {"x-max-length": 3})
    contents = [b"%d" % i for i in range(10)]
    if at_once:
        publish(peer, *contents)
    else:
        for content in contents:
            publish(peer, content)
    assert bodies(peer) == contents[-3:]


@pytest.mark.parametrize("at_once", [True, False])
def test_f32_reject_publish_keeps_the_oldest(peer, at_once):
    peer.declare("q", {"x-max-length": 3, "x-overflow": "reject-publish"})
    contents = [b"%d" % i for i in range(10)]
    if at_once:
        publish(peer, *contents)
    else:
        for content in contents:
            publish(peer, content)
    assert bodies(peer) == contents[:3]


def test_f32_octets_are_those_of_bodies(peer):
    peer.declare("q", {"x-max-length-bytes": 10})
    publish(peer, b"1234", b"5678", b"90", b"x")
    assert bodies(peer) == [b"5678", b"90", b"x"]


def test_f32_octets_with_reject_publish_let_a_smaller_one_in(peer):
    peer.declare("q", {"x-max-length-bytes": 10, "x-overflow": "reject-publish"})
    publish(peer, b"12345678", b"too long", b"90", b"x")
    assert bodies(peer) == [b"12345678", b"90"]


def test_a_message_larger_than_the_limit_goes_at_once(peer):
    peer.declare("q", {"x-max-length-bytes": 3})
    publish(peer, b"1", b"large")
    assert bodies(peer) == []


def test_both_limits_hold(peer):
    peer.declare("q", {"x-max-length-bytes": 8, "x-max-length": 3})
    publish(peer, b"1", b"2", b"3", b"4", b"1234567")
    assert bodies(peer) == [b"4", b"1234567"]


def test_only_what_is_ready_counts(peer):
    peer.declare("q", {"x-max-length": 2})
    publish(peer, b"1", b"2")
    peer.get("q", no_ack=False)
    publish(peer, b"3")
    assert peer.declare("q", {"x-max-length": 2}).message_count == 2


def test_what_comes_back_counts_again(peer):
    peer.declare("q", {"x-max-length": 2})
    publish(peer, b"1", b"2")
    peer.get("q", no_ack=False)
    publish(peer, b"3")
    peer.send(Basic.Nack(1, requeue=True))
    assert bodies(peer) == [b"2", b"3"]


def test_length_zero_takes_what_a_consumer_takes(peer):
    peer.declare("q", {"x-max-length": 0})
    publish(peer, b"1")
    assert bodies(peer) == []
    peer.consume("q", no_ack=True)
    publish(peer, b"2", b"3")
    assert peer.bodies() == [b"2", b"3"]


def test_length_zero_with_reject_publish_takes_nothing(peer):
    # RabbitMQ asks whether there is room before it asks whether anybody waits
    peer.declare("q", {"x-max-length": 0, "x-overflow": "reject-publish"})
    peer.consume("q", no_ack=True)
    peer.call(Confirm.Select())
    publish(peer, b"1")
    (answer,) = peer.take()
    assert isinstance(answer, Basic.Nack)


def test_a_flood_to_a_waiting_consumer_loses_nothing(peer):
    peer.declare("q", {"x-max-length": 5})
    peer.consume("q", no_ack=True)
    contents = [b"%d" % i for i in range(200)]
    publish(peer, *contents)
    assert peer.bodies() == contents
