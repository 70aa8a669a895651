"""A delivery that nobody acknowledges goes back, once a second; the channel stays, and a late answer is no error."""

import logging
from dataclasses import replace

import pytest

from pybroker.core.channel.throttle import JOURNAL
from tests.fakes import Basic, Channel, FakePeer, Tx, World

TIMEOUT_MS = 60_000


def make(**settings) -> tuple[World, FakePeer]:
    world = World(consumer_timeout_ms=TIMEOUT_MS, **settings)
    peer = world.connect()
    peer.declare("q")
    return world, peer


@pytest.fixture
def made():
    return make()


def wait(world: World, ms: int = TIMEOUT_MS) -> None:
    """Let time pass, a second and its tick at a time."""
    for _ in range(ms // 1_000):
        world.advance(1_000)


def publish(peer: FakePeer, *bodies: bytes, queue: str = "q") -> None:
    for each in bodies:
        peer.publish("", queue, each)


def lines(caplog, words: str) -> list[str]:
    return [record.message for record in caplog.records if words in record.message]


def test_it_goes_back_and_to_somebody_else_and_the_channel_stays(made, caplog):
    world, peer = made
    publish(peer, b"m", b"n")
    stuck = world.connect()
    stuck.send(Basic.Qos(prefetch_count=1))
    stuck.take()
    tag = stuck.consume("q", "stuck")
    (first,) = stuck.take()
    wait(world, TIMEOUT_MS - 1_000)
    assert [] == lines(caplog, "has timed out")
    wait(world, 1_000)
    other = world.connect()
    other.consume("q")
    messages = other.take()
    assert [(b"m", True, {"x-delivery-count": 1}), (b"n", False, {})] == [
        (message.body, message.method.redelivered, message.headers) for message in messages
    ]
    (line,) = lines(caplog, "has timed out")
    assert line == (
        "Consumer 'stuck' on channel 1 and queue 'q' in vhost '/' has timed out waiting for a consumer "
        "acknowledgement of a delivery with delivery tag = 1. Timeout used: 60000 ms. This timeout value can "
        "be configured, see consumers doc guide to learn more. The message is requeued, and the channel stays "
        "open"
    )
    # It holds one as far as its prefetch goes, until it answers.
    other.send(Basic.Ack(0, multiple=True))
    other.call(Channel.Close(200, "bye", 0, 0))
    publish(peer, b"o")
    assert [] == stuck.take()
    stuck.send(Basic.Ack(first.method.delivery_tag))
    assert 1 == len(lines(caplog, "after its consumer timeout"))
    assert [b"o"] == stuck.bodies()
    assert tag in stuck.session.channels[1].consumers
    assert not stuck.session.channels[1].closing


@pytest.mark.parametrize(
    "late", [Basic.Ack(1), Basic.Nack(1), Basic.Reject(1), Basic.Ack(1, multiple=True), Basic.Ack(0, True)]
)
def test_a_late_answer_is_ignored_once(made, late):
    world, peer = made
    publish(peer, b"m")
    peer.get("q", no_ack=False)
    wait(world)
    queue = world.vhost.queues["q"]
    assert (1, 0) == (queue.messages_ready, queue.messages_unacknowledged)
    peer.send(late)
    assert ([], 1, 0) == (peer.take(), queue.messages_ready, queue.messages_unacknowledged)
    if late.delivery_tag:
        peer.send(Basic.Ack(1))
        (close,) = peer.take()
        assert (406, "PRECONDITION_FAILED - unknown delivery tag 1") == (close.reply_code, close.reply_text)


def test_late_answers_among_others(made):
    world, peer = made
    publish(peer, *[b"%d" % i for i in range(6)])
    for _ in range(2):
        peer.get("q", no_ack=False)
    world.advance(30_000)
    for _ in range(4):
        peer.get("q", no_ack=False)
    wait(world, TIMEOUT_MS - 30_000 + 2_000)
    queue = world.vhost.queues["q"]
    assert (2, 4) == (queue.messages_ready, queue.messages_unacknowledged)
    peer.send(*[Basic.Ack(tag) for tag in range(1, 4)])
    assert (2, 3) == (queue.messages_ready, queue.messages_unacknowledged)
    peer.send(Basic.Ack(5, multiple=True))
    assert ([], 2, 1) == (peer.take(), queue.messages_ready, queue.messages_unacknowledged)


def test_an_acknowledgement_up_to_a_late_one_settles_what_is_below_it(made):
    world, peer = made
    peer.declare("slow")
    limit(world, "slow", 10 * TIMEOUT_MS)
    publish(peer, b"s", queue="slow")
    publish(peer, b"m")
    peer.get("slow", no_ack=False)
    peer.get("q", no_ack=False)
    wait(world)
    peer.send(Basic.Ack(2, multiple=True))
    slow, queue = world.vhost.queues["slow"], world.vhost.queues["q"]
    assert ([], 0, 1, 0) == (peer.take(), slow.messages, queue.messages_ready, queue.messages_unacknowledged)


def test_recover_answers_for_all(made):
    world, peer = made
    publish(peer, b"m")
    peer.send(Basic.Qos(prefetch_count=1))
    peer.take()
    peer.consume("q")
    peer.take()
    wait(world)
    peer.send(Basic.Recover(requeue=True))
    assert [b"m"] == [message.body for message in peer.take() if hasattr(message, "body")]


def limit(world: World, name: str, ms: int) -> None:
    queue = world.vhost.queues[name]
    queue.set_limits(replace(queue.limits, consumer_timeout_ms=ms))


def test_a_queue_has_a_timeout_of_its_own_behind_others_without_one(made):
    world, peer = made
    for name, ms in (("never", 0), ("soon", 5_000)):
        peer.declare(name)
        limit(world, name, ms)
        publish(peer, name.encode(), queue=name)
        peer.get(name, no_ack=False)
    wait(world, 5_000)
    assert [0, 1] == [world.vhost.queues[name].messages_ready for name in ("never", "soon")]
    wait(world, 100 * TIMEOUT_MS)
    assert [1, 0] == [world.vhost.queues[name].messages_unacknowledged for name in ("never", "soon")]


def test_0_is_never():
    world, peer = make()
    world.broker.settings.consumer_timeout_ms = 0
    publish(peer, b"m")
    peer.get("q", no_ack=False)
    wait(world, 10 * TIMEOUT_MS)
    assert 1 == world.vhost.queues["q"].messages_unacknowledged


def test_who_is_stuck_gives_back_ever_more_and_who_is_slow_one_a_second(made):
    world, peer = made
    publish(peer, *[b"m"] * 100)
    tag = peer.consume("q")
    queue = world.vhost.queues["q"]
    wait(world, TIMEOUT_MS - 1_000)
    found = []
    peer.take()
    peer.call(Basic.Cancel(tag))
    for i in range(8):
        wait(world, 1_000)
        found.append(queue.messages_ready)
        if i < 3:
            peer.send(Basic.Ack(100 - i))
    assert [1, 2, 3, 4, 6, 10, 18, 34] == found


def test_the_log_warns_before(made, caplog):
    world, peer = made
    publish(peer, b"m")
    peer.get("q", no_ack=False)
    wait(world, TIMEOUT_MS * 8 // 10 - 1_000)
    assert [] == lines(caplog, "has not acknowledged")
    wait(world, 5_000)
    (line,) = lines(caplog, "has not acknowledged")
    assert "queue 'q' in vhost '/' has not acknowledged delivery tag 1 for 48 s. It times out after 60000 ms" in line


def test_as_rabbitmq_it_closes_the_channel(caplog):
    world, peer = make(close_timed_out=True)
    publish(peer, b"m")
    peer.consume("q")
    peer.take()
    caplog.set_level(logging.WARNING)
    wait(world)
    (close,) = peer.take()
    assert (close.reply_code, close.class_id, close.method_id) == (406, 0, 0)
    assert close.reply_text == (
        "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 60000 ms. "
        "This timeout value can be configured, see consumers doc guide to learn more"
    )
    queue = world.vhost.queues["q"]
    assert (1, 0) == (queue.messages_ready, queue.consumer_count)


def test_a_peer_that_is_not_read_is_given_time_to_be_heard(made):
    world, peer = made
    publish(peer, b"m")
    peer.get("q", no_ack=False)
    peer.session.stop_reading(JOURNAL)
    wait(world, 2 * TIMEOUT_MS)
    peer.session.resume_reading(JOURNAL)
    wait(world, 5_000)
    queue = world.vhost.queues["q"]
    assert 1 == queue.messages_unacknowledged
    wait(world, 10_000)
    assert 1 == queue.messages_ready


def test_it_counts_against_the_delivery_limit(made):
    world, peer = made
    queue = world.vhost.queues["q"]
    queue.set_limits(replace(queue.limits, delivery_limit=1, dead_letter_exchange="", dead_letter_routing_key="dead"))
    peer.declare("dead")
    publish(peer, b"m")
    for _ in range(2):
        peer.get("q", no_ack=False)
        wait(world)
    assert (0, 1) == (queue.messages, world.vhost.queues["dead"].messages)


def test_a_transaction_open_meanwhile_keeps_what_it_acknowledged(made):
    world, peer = made
    publish(peer, b"m")
    peer.call(Tx.Select())
    peer.get("q", no_ack=False)
    peer.send(Basic.Ack(1))
    wait(world, 2 * TIMEOUT_MS)
    peer.call(Tx.Commit())
    assert 0 == world.vhost.queues["q"].messages


def test_the_global_prefetch_counts_them_too(made):
    world, peer = made
    publish(peer, b"m", b"n")
    peer.send(Basic.Qos(prefetch_count=1, global_=True))
    peer.take()
    peer.consume("q")
    assert [b"m"] == peer.bodies()
    wait(world)
    assert [] == peer.take()
    peer.send(Basic.Ack(1))
    assert [b"m"] == peer.bodies()
