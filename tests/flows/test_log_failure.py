"""A log that fails: nobody is told that something is safe which is not, and nobody waits for ever."""

import pytest

from pybroker.amqp.channel import AmqpChannel
from tests.fakes import Confirm, Connection, FakePeer, Tx, World
from tests.slow import GatheringLog

TEXT = "cannot sync seg.01: Input/output error"


@pytest.fixture
def log(world: World) -> GatheringLog:
    world.broker.log = GatheringLog()
    return world.broker.log


@pytest.fixture
def publisher(world: World, log: GatheringLog) -> FakePeer:
    """A channel in confirm mode, and a durable queue `q`."""
    peer = world.connect()
    peer.declare("q", durable=True)
    peer.call(Confirm.Select())
    return peer


def fail(world: World) -> None:
    world.broker.log_failed(TEXT)
    world.run()


def confirms(peer: FakePeer) -> list[tuple[str, int, bool]]:
    return [(type(each).__name__, each.delivery_tag, each.multiple) for each in peer.take()]


def test_what_was_not_on_disk_is_refused_at_once_and_what_was_is_not(world, publisher, log):
    for body in (b"1", b"2"):
        publisher.publish("", "q", body, delivery_mode=2)
    done = log.seal()
    for body in (b"3", b"4", b"5"):
        publisher.publish("", "q", body, delivery_mode=2)
    log.completed = done
    fail(world)
    assert [("Ack", 2, True), ("Nack", 5, True)] == confirms(publisher)
    assert {} == world.broker.unconfirmed


def test_a_single_one_is_refused_alone(world, publisher):
    publisher.publish("", "q", b"1", delivery_mode=2)
    fail(world)
    assert [("Nack", 1, False)] == confirms(publisher)


def test_what_comes_later_is_refused_too_if_it_was_to_last(world, publisher):
    fail(world)
    publisher.publish("", "q", b"1", delivery_mode=2)
    publisher.publish("", "q", b"2")
    publisher.publish("", "nosuch", b"3", delivery_mode=2)
    assert [("Nack", 1, False), ("Ack", 2, False), ("Ack", 3, False)] == confirms(publisher)


def test_a_commit_that_waits_closes_its_connection_and_others_live_on(world, publisher):
    tx = world.connect()
    tx.call(Tx.Select())
    tx.publish("", "q", b"1", delivery_mode=2)
    tx.send(Tx.Commit())
    fail(world)
    close = tx.next(0)
    assert (541, f"INTERNAL_ERROR - {TEXT}") == (close.reply_code, close.reply_text)
    tx.send(Connection.CloseOk(), channel=0)
    assert (True, "running", {}) == (tx.session.finished, publisher.session.state, world.broker.waiting)


def test_refusals_leave_before_their_connection_is_closed(world, publisher):
    publisher.open(2)
    publisher.call(Tx.Select(), 2)
    publisher.publish("", "q", b"1", delivery_mode=2)
    publisher.publish("", "q", b"2", delivery_mode=2, channel=2)
    publisher.send(Tx.Commit(), channel=2)
    fail(world)
    assert [("Nack", 1, False)] == confirms(publisher)
    assert 541 == publisher.next(0).reply_code


def test_a_commit_after_the_failure_is_refused(world, publisher):
    tx = world.connect()
    fail(world)
    tx.call(Tx.Select())
    assert isinstance(tx.call(Tx.Commit()), Tx.CommitOk)  # of nothing
    tx.publish("", "q", b"1", delivery_mode=2)
    tx.send(Tx.Commit())
    close = tx.next(0)
    assert (541, 90, 20) == (close.reply_code, close.class_id, close.method_id)


def test_a_publisher_that_was_ahead_of_the_disk_is_read_again(world, publisher, log, monkeypatch):
    monkeypatch.setattr("pybroker.core.channel.credit.PEER_OCTETS_MAX", 1_000)
    log.uncommitted_octets = 100_000_000
    publisher.publish("", "q", bytes(2_000), delivery_mode=2)
    assert not publisher.session.readable
    fail(world)
    assert (True, {}) == (publisher.session.readable, world.broker.ahead)


@pytest.mark.parametrize("what", ["send_confirms", "advance"])
def test_a_bug_in_one_channel_costs_its_peer_the_connection_and_nobody_else_anything(world, log, monkeypatch, what):
    peers = [world.connect() for _ in range(3)]
    peers[0].declare("q", durable=True)
    for peer in peers:
        peer.call(Confirm.Select() if what == "send_confirms" else Tx.Select())
        peer.publish("", "q", b"m", delivery_mode=2)
        if what == "advance":
            peer.send(Tx.Commit())
    broken = peers[1].session.channels[1]
    original = getattr(AmqpChannel, what)
    monkeypatch.setattr(AmqpChannel, what, lambda self: 1 // 0 if self is broken else original(self))
    world.broker.log_completed(log.seal())
    world.run()
    assert [1, 0, 1] == [len(peer.take()) for peer in peers]
    assert ([False, True, False], {}, {}) == (
        [peer.session.finished for peer in peers],
        world.broker.unconfirmed,
        world.broker.waiting,
    )
