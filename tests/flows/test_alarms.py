"""The effect of alarms on connections: a publisher is blocked and told so, everybody else goes on (B3-B5, E2-E11)."""

import pytest

from pybroker.core.channel.state import ALARM_READ_OCTETS, PUBLISHING_MS
from pybroker.core.channel.throttle import JOURNAL
from pybroker.core.resources.alarm import DISK, FILES, MEMORY
from tests.fakes import Basic, Channel, Connection, Queue, Tx, World


@pytest.fixture
def world():
    return World()


@pytest.fixture
def peer(world):
    peer = world.connect()
    peer.declare("q")
    return peer


def state(peer):
    return peer.session.shown_state, peer.session.readable


def short(world, resource=MEMORY):
    world.broker.alarms.set(resource, "too much")
    world.run()


def well(world, resource=MEMORY):
    world.broker.alarms.clear(resource)
    world.run()


def told(peer):
    """Return what was said on channel 0: reasons, or `unblocked`."""
    return [getattr(method, "reason", "unblocked") for method in peer.take(0)]


def blocked(world, peer, resource=MEMORY):
    """Have an alarm block a peer: with its next publish."""
    short(world, resource)
    peer.publish("", "q", b"1")
    assert ("blocked", False) == state(peer)


def test_b4_e2_who_has_published_is_blocked_with_its_next_publish(world, peer):
    peer.publish("", "q", b"1")
    short(world)
    assert ("blocking", True) == state(peer)
    assert [] == told(peer)
    # Its calls are answered meanwhile: Java's MemoryAlarms#flowControl gets and consumes here.
    assert b"1" == peer.get("q").body
    peer.consume("q", no_ack=True)
    peer.publish("", "q", b"2")
    assert ("blocked", False) == state(peer)
    assert ["low on memory"] == told(peer)
    assert [] == peer.bodies()
    well(world)
    assert [b"2"] == peer.bodies()
    assert ("running", True) == state(peer)
    assert ["unblocked"] == told(peer)


def test_b4_who_has_not_is_blocking_until_it_does(world, peer):
    short(world)
    assert ("blocking", True) == state(peer)
    assert [] == told(peer)
    peer.publish("", "q", b"1")
    assert ("blocked", False) == state(peer)
    assert ["low on memory"] == told(peer)
    # The publish that blocked it waits, as does all that follows.
    assert 0 == world.vhost.queues["q"].messages_ready
    well(world)
    assert 1 == world.vhost.queues["q"].messages_ready


def test_b4_a_consumer_goes_on(world, peer):
    reader = world.connect()
    reader.call(Basic.Consume(queue="q", consumer_tag="c", no_ack=False))
    peer.publish("", "q", b"1")
    short(world)
    assert b"1" == reader.next().body
    reader.send(Basic.Ack(delivery_tag=1))
    assert 0 == world.vhost.queues["q"].messages
    assert ("blocking", True) == state(reader)
    reader.call(Channel.Close(0, "", 0, 0))
    assert [] == told(reader)


def test_b4_who_published_a_while_ago_and_consumes_since_is_not_blocked_before_it_does_again(world, peer):
    peer.publish("", "q", b"1")
    world.advance(PUBLISHING_MS)
    short(world)
    assert ("blocking", True) == state(peer)
    peer.publish("", "q", b"2")
    assert ("blocked", False) == state(peer)
    # However long that lasts.
    world.advance(PUBLISHING_MS)
    assert ("blocked", False) == state(peer)


def test_a_passing_alarm_leaves_who_publishes_nothing_unmarked(world, peer):
    short(world)
    well(world)
    assert ("running", True) == state(peer)
    assert [] == told(peer)


def test_who_was_blocked_and_only_consumes_since_is_not_blocked_again(world, peer):
    peer.publish("", "q", b"1")
    short(world)
    well(world)
    short(world)
    assert ("blocking", True) == state(peer)
    peer.publish("", "q", b"2")
    assert ("blocked", False) == state(peer)


def test_e9_it_is_told_once_and_released_when_all_alarms_are_gone(world, peer):
    blocked(world, peer, DISK)
    short(world, MEMORY)
    assert ["low on disk"] == told(peer)
    well(world, DISK)
    assert [] == told(peer)
    assert ("blocked", False) == state(peer)
    well(world, MEMORY)
    assert ["unblocked"] == told(peer)


def test_e9_both_reasons_are_named(world, peer):
    short(world, MEMORY)
    short(world, DISK)
    peer.publish("", "q", b"1")
    assert ["low on memory & disk"] == told(peer)


def test_e9_only_who_declared_the_capability_is_told(world):
    deaf = world.connect(capabilities={})
    deaf.declare("q")
    blocked(world, deaf)
    assert [] == told(deaf)
    well(world)
    assert ("running", True) == state(deaf)
    assert [] == told(deaf)


def test_e9_flow_alone_tells_nobody(world, peer):
    peer.publish("", "q", b"1")
    peer.session.stop_reading(JOURNAL)
    world.run()
    assert ("flow", False) == state(peer)
    assert [] == told(peer)


# E8: both are told in one field.
def test_e6_an_alarm_wins_over_flow_and_reading_waits_for_both(world, peer):
    blocked(world, peer)
    peer.session.stop_reading(JOURNAL)
    assert ("blocked", False) == state(peer)
    well(world)
    assert ("flow", False) == state(peer)
    peer.session.resume_reading(JOURNAL)
    assert ("flow", True) == state(peer)


def test_e11_a_new_connection_opens_during_an_alarm(world):
    short(world)
    late = world.connect()
    assert ("blocking", True) == state(late)
    late.declare("q")
    late.publish("", "q", b"1")
    assert ("blocked", False) == state(late)
    assert ["low on memory"] == told(late)


def test_a12_b4_in_a_transaction_as_well(world, peer):
    peer.call(Tx.Select())
    short(world)
    peer.publish("", "q", b"1")
    assert ("blocked", False) == state(peer)


def test_what_came_with_the_publish_waits(world, peer):
    short(world)
    peer.send(*peer.publish_frames("", "q", b"1"), *peer.publish_frames("", "q", b"2"), Queue.Purge(queue="q"))
    assert not peer.inbox[1]
    assert ("blocked", False) == state(peer)
    well(world)
    assert isinstance(peer.next(), Queue.PurgeOk)


def test_e3_a_blocked_peer_may_be_silent_and_hears_our_heartbeats(world):
    peer = world.connect(heartbeat_s=10)
    peer.declare("q")
    blocked(world, peer)
    before = peer.heartbeats
    for _ in range(60):
        world.advance(1_000)
    assert ("blocked", False) == state(peer)
    assert peer.heartbeats > before
    well(world)
    world.advance(1_000)
    assert ("running", True) == state(peer)
    for _ in range(21):
        world.advance(1_000)
    assert peer.session.finished


def test_a_blocked_peer_that_is_gone_is_noticed(world, peer):
    class Link:
        def peer_alive(self):
            return False

        def flush(self):
            pass

    blocked(world, peer)
    peer.session.link = Link()
    world.advance(1_000)
    assert peer.session.close_now


def test_who_is_told_to_close_is_read_again_for_its_answer(world, peer):
    blocked(world, peer)
    peer.take(0)
    peer.session.close(320, "bye")
    world.run()
    assert peer.session.readable
    assert isinstance(peer.take(0)[0], Connection.Close)
    peer.send(Connection.CloseOk(), channel=0)
    assert "closed" == peer.session.state


def test_e12_without_files_left_nobody_who_is_here_is_blocked(world, peer):
    peer.publish("", "q", b"1")
    short(world, FILES)
    assert ("running", True) == state(peer)


def test_e7_what_it_was_is_remembered(world, peer):
    blocked(world, peer)
    world.clock.advance(2_000)
    well(world)
    world.clock.advance(3_000)
    throttle, now_ms = peer.session.throttle, world.clock.now_ms
    assert ("resource", "memory", 5.0, 2_000, 0) == (
        throttle.last_by,
        throttle.last_cause,
        throttle.last_age_s(now_ms),
        throttle.blocked_ms(now_ms),
        throttle.flow_ms(now_ms),
    )


def test_very_many_are_told_of_an_alarm_some_in_each_turn(world, monkeypatch):
    monkeypatch.setattr("pybroker.core.channel.session_sweeper.TURN_SESSIONS_MAX", 2)
    peers = [world.connect() for _ in range(7)]
    peers[0].declare("q")
    for each in peers:
        each.publish("", "q", b"1")

    def wary():
        return sum(each.session.portion_octets > 0 for each in peers)

    world.broker.alarms.set(MEMORY, "")
    assert 2 == wary()
    world.run()
    assert 7 == wary()
    for each in peers:
        each.publish("", "q", b"2")
    assert 7 == sum(not each.session.readable for each in peers)
    world.broker.alarms.clear(MEMORY)
    world.broker.alarms.set(DISK, "")
    world.run()
    # The first two had been released meanwhile, and what they had published was held again.
    assert 7 == sum(not each.session.readable for each in peers)
    world.broker.alarms.clear(DISK)
    world.run()
    assert 7 == sum(each.session.readable for each in peers)
    assert 0 == wary()


def test_who_has_published_is_read_in_small_portions_until_it_is_blocked(world, peer):
    reader = world.connect()
    peer.publish("", "q", b"1")
    short(world)
    assert (ALARM_READ_OCTETS, 0) == (peer.session.read_octets, reader.session.read_octets)
    peer.call(Basic.Qos())
    assert ALARM_READ_OCTETS == peer.session.read_octets
    well(world)
    peer.call(Basic.Qos())
    assert 0 == peer.session.read_octets


def test_a_large_message_is_held_up_in_the_middle(world, peer):
    # As in RabbitMQ, where any frame of a content blocks (rabbit_reader.erl, post_process_frame).
    frames = peer.publish_frames("", "q", bytes(1_000_000))
    peer.send(*frames[:3])
    short(world)
    assert ("blocking", True) == state(peer)
    peer.send(*frames[3:5])
    assert ("blocked", False) == state(peer)
    assert ["low on memory"] == told(peer)
    assert 0 == world.vhost.queues["q"].messages_ready
    well(world)
    peer.send(*frames[5:])
    assert 1 == world.vhost.queues["q"].messages_ready
