"""Message TTL, of the queue and of the message; the lower one counts (F32)."""

import pytest

from tests.fakes import Basic, FakePeer


def bodies(peer: FakePeer, queue: str = "q") -> list[bytes]:
    return [message.body for message in peer.drain(queue)]


def ready(world, queue: str = "q") -> int:
    return world.vhost.queues[queue].messages_ready


def test_f32_a_message_expires_after_the_queues_ttl(world, peer):
    peer.declare("q", {"x-message-ttl": 1_000})
    peer.publish("", "q", b"m")
    world.advance(999)
    assert ready(world) == 1
    world.advance(1)
    assert ready(world) == 0


def test_f32_a_message_expires_after_its_own_ttl(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"m", expiration="1000")
    world.advance(1_000)
    assert ready(world) == 0


@pytest.mark.parametrize(("queue_ms", "message_ms"), [(1_000, "5000"), (5_000, "1000")])
def test_f32_the_lower_of_both_counts(world, peer, queue_ms, message_ms):
    peer.declare("q", {"x-message-ttl": queue_ms})
    peer.publish("", "q", b"m", expiration=message_ms)
    world.advance(1_000)
    assert ready(world) == 0


def test_each_message_has_its_own_time(world, peer):
    peer.declare("q", {"x-message-ttl": 1_000})
    peer.publish("", "q", b"1")
    world.advance(600)
    peer.publish("", "q", b"2")
    world.advance(600)
    assert bodies(peer) == [b"2"]


def test_only_the_head_is_looked_at(world, peer):
    # as in RabbitMQ: a message behind a longer-lived one waits for it
    peer.declare("q")
    peer.publish("", "q", b"long", expiration="10000")
    peer.publish("", "q", b"short", expiration="10")
    world.advance(1_000)
    assert ready(world) == 2
    assert bodies(peer) == [b"long"]


def test_an_expired_message_is_never_delivered(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"long", expiration="10000")
    peer.publish("", "q", b"short", expiration="10")
    peer.publish("", "q", b"stays")
    world.advance(1_000)
    peer.consume("q", no_ack=True)
    assert peer.bodies() == [b"long", b"stays"]


def test_ttl_zero_delivers_to_who_waits_and_else_drops(world, peer):
    peer.declare("q", {"x-message-ttl": 0})
    peer.publish("", "q", b"1")
    assert ready(world) == 0
    peer.consume("q", no_ack=True)
    peer.publish("", "q", b"2")
    assert peer.bodies() == [b"2"]


def test_an_expiration_of_zero_does_the_same(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"1", expiration="0")
    assert ready(world) == 0
    peer.consume("q", no_ack=True)
    peer.publish("", "q", b"2", expiration="0")
    assert peer.bodies() == [b"2"]


def test_an_unacknowledged_message_does_not_expire_and_a_returned_one_does_at_once(world, peer):
    peer.declare("q", {"x-message-ttl": 1_000})
    peer.publish("", "q", b"m")
    peer.get("q", no_ack=False)
    world.advance(5_000)
    assert world.vhost.queues["q"].messages == 1
    peer.send(Basic.Nack(1, requeue=True))
    assert world.vhost.queues["q"].messages == 0


def test_a_returned_message_keeps_its_time(world, peer):
    peer.declare("q", {"x-message-ttl": 1_000})
    peer.publish("", "q", b"m")
    peer.get("q", no_ack=False)
    world.advance(500)
    peer.send(Basic.Nack(1, requeue=True))
    world.advance(499)
    assert ready(world) == 1
    world.advance(1)
    assert ready(world) == 0


@pytest.mark.parametrize(
    ("expiration", "error"),
    [
        ("-1", "{value_negative,-1}"),
        ("soon", "no_integer"),
        ("1s", '{leftover_string,"s"}'),
        ("9999999999999", "{value_too_large,9999999999999}"),
    ],
)
def test_a_bad_expiration_is_406(peer, expiration, error):
    peer.declare("q")
    frames = peer.publish_frames("", "q", b"m", expiration=expiration)
    text = f"PRECONDITION_FAILED - invalid expiration '{expiration}': {error}"
    assert peer.error(*frames) == (406, text)


def test_a_run_of_messages_expires_together_and_no_sooner(world, peer):
    peer.declare("q", {"x-message-ttl": 100})
    for _ in range(5):
        peer.send(*(peer.publish_frames("", "q", b"x") * 10))
        world.clock.advance(30)
    world.advance(0)
    assert ready(world) == 30
    world.advance(60)
    assert ready(world) == 10
