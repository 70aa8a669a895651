"""Dead letters that are forwarded at least once: what no target takes stays with its source, and is tried again."""

from dataclasses import replace

import pytest
from pamqp import frame

from pybroker.core.policy.limits import REJECT_PUBLISH
from pybroker.core.queue import expiry
from pybroker.core.queue.dead_letter import route
from pybroker.core.queue.dead_letter.retry import CROWD_MESSAGES, RETRY_MS_MAX, TRIED_MESSAGES
from tests.fakes import Basic, Exchange, FakePeer, Queue


@pytest.fixture
def source(world, peer):
    """Return a queue whose dead letters go to the exchange `dlx` at least once. There is no such exchange yet."""
    peer.declare("q", {"x-dead-letter-exchange": "dlx"}, durable=True)
    queue = world.vhost.queues["q"]
    queue.set_limits(replace(queue.limits, overflow=REJECT_PUBLISH, at_least_once=True))
    return queue


def reject(peer: FakePeer, *bodies: bytes) -> None:
    for body in bodies:
        peer.publish("", "q", body)
        tag = peer.get("q", no_ack=False).method.delivery_tag
        peer.send(Basic.Reject(tag, requeue=False))


def declare_dlx(peer: FakePeer, **queues) -> None:
    peer.call(Exchange.Declare(exchange="dlx", exchange_type="fanout"))
    for name, arguments in queues.items():
        peer.declare(name, {key.replace("_", "-"): value for key, value in arguments.items()}, durable=True)
        peer.call(Queue.Bind(queue=name, exchange="dlx"))


def test_without_an_exchange_it_stays_until_there_is_one(world, peer, source, caplog):
    reject(peer, b"a", b"b")
    world.advance(5_000)
    assert (0, 2, 2) == (source.messages_ready, source.messages, len(world.broker.dead_letters))
    assert 1 == sum("Dead letters stay in queue 'q' in vhost '/'" in record.message for record in caplog.records)
    declare_dlx(peer)
    world.advance(1_000)
    assert 2 == source.messages  # no route
    peer.declare("dead")
    peer.call(Queue.Bind(queue="dead", exchange="dlx"))
    world.advance(1_000)
    assert 0 == source.messages
    letters = peer.drain("dead")
    assert [b"a", b"b"] == [letter.body for letter in letters]
    (death,) = letters[0].headers["x-death"]
    assert (death["reason"], death["count"], death["exchange"], death["queue"]) == ("rejected", 1, "", "q")


def test_all_targets_or_none(world, peer, source):
    declare_dlx(peer, roomy={}, full={"x_max_length": 1, "x_overflow": "reject-publish"})
    reject(peer, b"a", b"b")
    roomy, full = world.vhost.queues["roomy"], world.vhost.queues["full"]
    assert (1, 1, 1) == (roomy.messages, full.messages, source.messages)
    world.advance(60_000)
    assert (1, 1, 1) == (roomy.messages, full.messages, source.messages)
    peer.drain("full")
    world.advance(RETRY_MS_MAX)
    assert (2, 1, 0) == (roomy.messages, full.messages, source.messages)
    assert [b"b"] == [letter.body for letter in peer.drain("full")]


def test_octets_are_room_as_well(world, peer, source):
    declare_dlx(peer, full={"x_max_length_bytes": 10, "x_overflow": "reject-publish"})
    reject(peer, b"x" * 11, b"x" * 8, b"yy", b"z")
    assert [b"x" * 8, b"yy"] == [letter.body for letter in peer.drain("full")]
    world.advance(2_000)
    assert ([b"z"], 1) == ([letter.body for letter in peer.drain("full")], source.messages)


def test_a_target_with_reject_publish_dlx_makes_no_dead_letters_of_what_it_has_no_room_for(world, peer, source):
    more = {"x_dead_letter_exchange": "", "x_dead_letter_routing_key": "further"}
    declare_dlx(peer, full={"x_max_length": 0, "x_overflow": "reject-publish-dlx"} | more)
    peer.declare("further")
    reject(peer, b"a")
    world.advance(100_000)
    assert (0, 1) == (world.vhost.queues["further"].messages, source.messages)


def test_expired_ones_too(world, peer, source):
    source.set_limits(replace(source.limits, message_ttl_ms=1_000))
    peer.publish("", "q", b"m")
    world.advance(1_000)
    assert (0, 1) == (source.messages_ready, source.messages)
    declare_dlx(peer, dead={})
    world.advance(1_000)
    assert ["expired"] == [letter.headers["x-first-death-reason"] for letter in peer.drain("dead")]


def test_what_waits_counts_against_the_length(world, peer, source):
    source.set_limits(replace(source.limits, length_max=3))
    reject(peer, b"a", b"b")
    peer.send(*[f for i in range(3) for f in peer.publish_frames("", "q", b"%d" % i)])
    assert (1, 3) == (source.messages_ready, source.messages)
    peer.publish("", "q", b"n")
    assert 1 == source.messages_ready
    source.set_limits(replace(source.limits, length_max=None, octets_max=4))
    peer.publish("", "q", b"xx")
    assert 1 == source.messages_ready
    peer.publish("", "q", b"x")
    assert 2 == source.messages_ready


def test_a_few_are_tried_and_many_wait_behind_them_in_order(world, peer, source):
    bodies = [b"%d" % i for i in range(5 * TRIED_MESSAGES)]
    for body in bodies:
        peer.publish("", "q", body)
    tags = [peer.get("q", no_ack=False).method.delivery_tag for _ in bodies]
    peer.send(Basic.Nack(tags[99], multiple=True, requeue=False))
    world.advance(10_000)
    peer.send(Basic.Nack(0, multiple=True, requeue=False))
    assert len(bodies) == source.messages == len(world.broker.dead_letters)
    declare_dlx(peer, dead={})
    world.advance(1_000)
    assert bodies == [letter.body for letter in peer.drain("dead")]
    assert {} == world.broker.dead_letters._retries


def test_a_trial_touches_those_that_are_tried_and_not_those_behind(world, peer, source):
    """A million behind a full target were copied and counted at each trial, a tenth of a second."""
    reject(peer, *[b"m"] * (TRIED_MESSAGES + 20))
    retry = world.broker.dead_letters._retries[source]
    behind = retry.untried
    assert 20 == len(behind)
    world.vhost.bump()
    world.advance(1_000)
    assert behind is retry.untried
    assert (TRIED_MESSAGES, 20) == (len(retry.tried), len(behind))


def test_it_is_tried_ever_less_often(world, peer, source, monkeypatch):
    tries = []
    obstacle = route.obstacle
    monkeypatch.setattr(route, "obstacle", lambda *given: tries.append(world.clock.now_ms) or obstacle(*given))
    began = world.clock.now_ms
    reject(peer, b"m")
    for _ in range(120):
        world.advance(1_000)
    assert [0, 1, 3, 7, 15, 31, 61, 91] == [(at - began) // 1_000 for at in tries][:8]


def test_a_source_that_is_deleted_takes_them_along(world, peer, source):
    reject(peer, b"a")
    peer.call(Queue.Delete(queue="q"))
    world.advance(1_000)
    assert (0, {}) == (len(world.broker.dead_letters), world.broker.dead_letters._retries)


@pytest.mark.parametrize("strategy", [True, False])
def test_a_cycle_stays_where_at_most_once_drops_it(world, peer, source, strategy):
    source.set_limits(
        replace(
            source.limits,
            dead_letter_exchange="",
            dead_letter_routing_key="q",
            message_ttl_ms=1_000,
            at_least_once=strategy,
        )
    )
    peer.publish("", "q", b"m")
    world.advance(1_000)
    assert int(strategy) == source.messages


def test_other_limits_than_when_it_departed_decide(world, peer, source):
    reject(peer, b"a")
    source.set_limits(replace(source.limits, at_least_once=False))
    world.advance(60_000)
    assert (0, 0) == (source.messages, len(world.broker.dead_letters))
    reject(peer, b"b")
    assert 0 == len(world.broker.dead_letters)


def test_a_message_that_died_before_the_strategy_changed_is_counted(world, peer, source):
    source.set_limits(replace(source.limits, at_least_once=False))
    peer.publish("", "q", b"a")
    tag = peer.get("q", no_ack=False).method.delivery_tag
    peer.send_octets(frame.marshal(Basic.Reject(tag, requeue=False), 1))
    source.set_limits(replace(source.limits, at_least_once=True))
    world.run()
    assert 1 == source.messages
    declare_dlx(peer, dead={})
    world.advance(1_000)
    assert (0, 1) == (source.messages, world.vhost.queues["dead"].messages)


def test_a_crowd_is_not_joined_by_what_would_be_read_only_to_expire(world, peer, source):
    dead_letters = world.broker.dead_letters
    peer.send(*[f for _ in range(CROWD_MESSAGES + 1) for f in peer.publish_frames("", "q", b"x")])
    assert not dead_letters.has(source)
    source.set_limits(replace(source.limits, message_ttl_ms=1))
    world.advance(1_000)
    expiry.expire_all(source)
    world.run()
    assert (CROWD_MESSAGES + 1, True) == (source.messages, dead_letters.has(source))
