"""A publisher that is ahead of the disk is not read until half of what it is ahead by is on disk (`flow`)."""

import pytest

from pybroker.core.channel.throttle import FLOW_SHOWN_MS, JOURNAL, PEER
from pybroker.core.peer.session import REPLY_OCTETS_MAX
from pybroker.wire.frame import HEARTBEAT_FRAME
from tests.fakes import Confirm, FakePeer, Tx, World
from tests.slow import GatheringLog

BODY = bytes(100_000)


@pytest.fixture
def log(world: World) -> GatheringLog:
    world.broker.log = GatheringLog()
    world.broker.log.uncommitted_octets_max = 1_000_000
    return world.broker.log


@pytest.fixture(autouse=True)
def limits(monkeypatch) -> None:
    monkeypatch.setattr("pybroker.core.channel.credit.PEER_OCTETS_MAX", 410_000)


@pytest.fixture
def peer(world: World, log: GatheringLog) -> FakePeer:
    peer = world.connect(heartbeat_s=5)
    peer.declare("q", durable=True)
    return peer


def publish(peer: FakePeer, count: int, log: GatheringLog) -> int:
    """Publish messages that are a batch of the log; return its commit position."""
    for _ in range(count):
        peer.publish("", "q", BODY, delivery_mode=2)
    return log.seal()


def complete(world: World, commit_position: int) -> None:
    world.broker.log_completed(commit_position)
    world.run()


@pytest.mark.parametrize("confirms", [True, False])
# E5: with the settings as they come.
def test_too_much_that_is_not_on_disk_stops_the_reading_until_half_of_it_is(world, peer, log, confirms):
    if confirms:
        peer.call(Confirm.Select())
    first = publish(peer, 3, log)
    assert ("running", True) == (peer.session.shown_state, peer.session.readable)
    second, third = publish(peer, 1, log), publish(peer, 1, log)
    assert ("flow", False) == (peer.session.shown_state, peer.session.readable)
    complete(world, first)
    assert (True, 200_062, {}) == (peer.session.readable, peer.session.credit.octets, world.broker.ahead)
    complete(world, second)
    complete(world, third)
    assert (True, {}, 0) == (peer.session.readable, world.broker.ahead, peer.session.credit.octets)


def test_flow_is_shown_for_some_seconds_after(world, peer, log):
    complete(world, publish(peer, 5, log))
    world.clock.advance(FLOW_SHOWN_MS - 1)
    assert "flow" == peer.session.shown_state
    world.clock.advance(1)
    assert "running" == peer.session.shown_state


def test_what_came_meanwhile_is_done_when_reading_resumes(world, peer, log):
    publish(peer, 5, log)
    peer.session.input_pending = True
    peer.session.rest = b"\x08\0\0\0\0\0\0\xce"
    world.run()
    assert peer.session.rest
    complete(world, 1)
    assert not peer.session.rest


def test_who_is_not_read_is_not_taken_for_silent(world, peer, log):
    commit_position = publish(peer, 5, log)
    for _ in range(30):
        world.advance(1_000)
    complete(world, commit_position)
    world.advance(1_000)
    assert not peer.session.finished
    for _ in range(11):
        world.advance(1_000)
    assert peer.session.finished


def test_transient_messages_need_no_credit(world, peer, log):
    for _ in range(10):
        peer.publish("", "q", BODY)
    assert (True, {}) == (peer.session.readable, world.broker.ahead)


def test_a_transaction_counts_when_it_is_committed(world, peer, log):
    peer.call(Tx.Select())
    for _ in range(5):
        peer.publish("", "q", BODY, delivery_mode=2)
    assert peer.session.readable
    peer.send(Tx.Commit())
    assert not peer.session.readable
    complete(world, log.seal())
    assert (True, ["Tx.CommitOk"]) == (peer.session.readable, [answer.name for answer in peer.take()])


def test_all_publishers_together_are_too_much_for_each_that_publishes(world, peer, log):
    other = world.connect()
    log.uncommitted_octets = 1_000_001
    commit_position = publish(peer, 1, log)
    assert (False, True) == (peer.session.readable, other.session.readable)
    complete(world, commit_position)  # its own, not yet the others'
    assert not peer.session.readable
    log.uncommitted_octets = 500_000
    complete(world, log.seal())
    assert (True, {}) == (peer.session.readable, world.broker.ahead)


def test_who_does_not_read_its_replies_either_is_read_when_both_are_over(world, peer, log):
    commit_position = publish(peer, 5, log)
    peer.session.reply_octets = REPLY_OCTETS_MAX
    peer.session.send(HEARTBEAT_FRAME)
    world.broker.log_completed(commit_position)
    assert ([PEER], False) == (list(peer.session.throttle.causes), peer.session.readable)
    world.run()
    assert peer.session.readable


def test_a_publisher_that_goes_is_forgotten(world, peer, log):
    commit_position = publish(peer, 5, log)
    assert [JOURNAL] == list(peer.session.throttle.causes)
    peer.disconnect()
    assert {} == world.broker.ahead
    complete(world, commit_position)
