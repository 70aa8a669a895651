"""Class basic: what flows do not tell."""

import pytest

from tests.fakes import Basic, Channel, Queue, World


def test_cancel_comes_after_the_last_delivery(peer):
    peer.declare("q")
    tag = peer.consume("q", no_ack=True)
    peer.send(*peer.publish_frames("", "q", b"m"), Basic.Cancel(tag), *peer.publish_frames("", "q", b"late"))
    kinds = [type(reply).__name__ for reply in peer.take()]
    assert kinds in (["Content", "CancelOk"], ["CancelOk"])
    assert "Content" not in kinds[kinds.index("CancelOk") :]


def test_no_wait_is_not_answered(peer):
    peer.declare("q")
    peer.send(Basic.Consume(queue="q", consumer_tag="t", nowait=True), Basic.Cancel("t", nowait=True))
    assert peer.take() == []


def test_consume_ok_comes_before_the_first_delivery(peer):
    peer.declare("q")
    peer.publish("", "q", b"m")
    peer.send(Basic.Consume(queue="q"))
    assert [type(reply).__name__ for reply in peer.take()] == ["ConsumeOk", "Content"]


@pytest.mark.parametrize("method", [Basic.Consume(queue="no"), Basic.Get(queue="no")])
def test_an_unknown_queue_is_404(peer, method):
    assert peer.error(method) == (404, "NOT_FOUND - no queue 'no' in vhost '/'")


@pytest.mark.parametrize("method", [Basic.Consume(queue="q"), Basic.Get(queue="q")])
def test_reading_needs_read_permission(world, peer, method):
    peer.declare("q")
    world.broker.users.add("u", "p")
    world.broker.users.set_permissions("u", "/", ".*", ".*", "")
    text = "ACCESS_REFUSED - read access to queue 'q' in vhost '/' refused for user 'u'"
    assert world.connect(user="u", password="p").error(method) == (403, text)


def test_bad_consumer_arguments_are_406(peer):
    peer.declare("q")
    error = peer.error(Basic.Consume(queue="q", arguments={"x-priority": "high"}))
    text = "invalid arg 'x-priority' for queue 'q' in vhost '/': \"expected integer, got longstr\""
    assert error == (406, f"PRECONDITION_FAILED - {text}")


def test_consumers_of_a_channel_may_be_limited():
    peer = World(consumers_per_channel_max=2).connect()
    peer.declare("q")
    peer.consume("q")
    peer.consume("q")
    assert peer.error(Basic.Consume(queue="q"))[0] == 530


def test_consumers_of_a_connection_may_be_limited():
    world = World(consumers_per_connection_max=2)
    peer = world.connect()
    peer.declare("q")
    peer.declare("r")
    peer.open(2)
    tag = peer.consume("q")
    peer.consume("r", channel=2)
    peer.call(Basic.Cancel(consumer_tag=tag))
    peer.consume("q")
    peer.call(Queue.Delete(queue="r"))
    assert isinstance(peer.next(2), Basic.Cancel)
    peer.consume("q", channel=2)
    peer.call(Channel.Close(reply_code=200, reply_text="", class_id=0, method_id=0), channel=2)
    peer.open(2)
    peer.consume("q", channel=2)
    text = "NOT_ALLOWED - reached maximum (2) of consumers per connection"
    assert peer.error(Basic.Consume(queue="q")) == (530, text)


def test_the_default_prefetch_comes_from_the_settings():
    peer = World(default_consumer_prefetch=2).connect()
    peer.declare("q")
    for _ in range(5):
        peer.publish("", "q", b"m")
    peer.consume("q")
    assert len(peer.take()) == 2


def test_delivery_tags_go_on_over_get_and_deliver(peer):
    peer.declare("q")
    for _ in range(3):
        peer.publish("", "q", b"m")
    tags = [peer.get("q", no_ack=no_ack).method.delivery_tag for no_ack in (False, True)]
    peer.consume("q")
    tags += [content.method.delivery_tag for content in peer.take()]
    assert tags == [1, 2, 3]


def test_what_get_took_does_not_count_as_prefetched(peer):
    peer.declare("q")
    for _ in range(4):
        peer.publish("", "q", b"m")
    peer.get("q", no_ack=False)
    peer.call(Basic.Qos(prefetch_count=2))
    peer.consume("q")
    assert len(peer.take()) == 2


def test_a_nack_of_nothing_with_multiple_is_fine(peer):
    peer.send(Basic.Nack(0, multiple=True, requeue=True), Basic.Ack(0, multiple=True))
    assert peer.take() == []


def test_a_soft_error_leaves_the_other_channels_alone(peer):
    peer.open(2)
    peer.declare("q")
    peer.consume("q", channel=2, no_ack=True)
    peer.send(Basic.Ack(9))
    assert isinstance(peer.next(1), Channel.Close)
    peer.publish("", "q", b"m", channel=2)
    assert peer.bodies(2) == [b"m"]
