"""A publish that reaches destinations with logs of their own, as streams have them: it is answered when all have it."""

import pytest
from pamqp import commands

from pybroker.core.queue.queue import Queue
from tests.fakes import Confirm, FakePeer, Tx, World
from tests.slow import GatheringLog

TEXT = "cannot sync: Input/output error"


@pytest.fixture
def node(world: World) -> GatheringLog:
    """The node's log."""
    log = world.broker.log = GatheringLog()
    return log


@pytest.fixture
def own(monkeypatch) -> GatheringLog:
    """The log of the queue `own`."""
    log, original = GatheringLog(), Queue.enqueue

    def enqueue(self, run, indexes, receipt):
        if self.name == "own":
            receipt.wait(log, log.append(run, indexes, (self.id,)))
        original(self, run, indexes, receipt)

    monkeypatch.setattr(Queue, "enqueue", enqueue)
    return log


@pytest.fixture
def publisher(world: World, node: GatheringLog, own: GatheringLog) -> FakePeer:
    """A peer, with the queues `q` in the node's log, `own` in its own, and both at amq.fanout."""
    peer = world.connect()
    peer.declare("q", durable=True)
    peer.declare("own")
    for name in ("q", "own"):
        peer.call(commands.Queue.Bind(queue=name, exchange="amq.fanout"))
    return peer


def confirms(peer: FakePeer) -> list[tuple[str, int, bool]]:
    return [(type(each).__name__, each.delivery_tag, each.multiple) for each in peer.take()]


def complete(world: World, log: GatheringLog) -> None:
    world.broker.log_completed(log.seal(), log)
    world.run()


def test_a_fan_out_is_confirmed_when_both_logs_have_it(world, publisher, node, own):
    publisher.call(Confirm.Select())
    publisher.publish("amq.fanout", "", b"1", delivery_mode=2)
    assert ([1], [1]) == (node.wanted, own.wanted)
    complete(world, own)
    assert [] == confirms(publisher)
    complete(world, node)
    assert ([("Ack", 1, False)], {}) == (confirms(publisher), world.broker.unconfirmed)


def test_confirms_keep_their_order_whichever_log_is_first(world, publisher, node, own):
    publisher.call(Confirm.Select())
    for key in ("q", "own", "q"):
        publisher.publish("", key, b"m", delivery_mode=2)
    complete(world, own)
    assert [] == confirms(publisher)
    complete(world, node)
    assert [("Ack", 3, True)] == confirms(publisher)


def test_a_log_that_fails_refuses_what_waits_for_it_and_nothing_else(world, publisher, node, own):
    publisher.call(Confirm.Select())
    for key in ("own", "q", "own", "q"):
        publisher.publish("", key, b"m", delivery_mode=2)
    world.broker.log_failed(TEXT, own)
    world.run()
    assert [("Nack", 1, False)] == confirms(publisher)
    complete(world, node)
    told = [("Ack", 2, False), ("Nack", 3, False), ("Ack", 4, False)]
    assert (told, {}) == (confirms(publisher), world.broker.unconfirmed)


def test_messages_that_are_routed_one_by_one_wait_for_all_that_their_batch_waits_for(world, publisher, node, own):
    publisher.call(Confirm.Select())
    frames = publisher.publish_frames("", "q", b"m", delivery_mode=2, headers={"CC": ["own"]})
    publisher.send(*frames, *frames)
    complete(world, node)
    assert [] == confirms(publisher)
    complete(world, own)
    assert [("Ack", 2, True)] == confirms(publisher)


@pytest.mark.parametrize("first", ["node", "own"])
def test_a_commit_waits_for_both_logs(world, publisher, node, own, first):
    publisher.call(Tx.Select())
    for key in ("q", "own"):
        publisher.publish("", key, b"m", delivery_mode=2)
    publisher.send(Tx.Commit())
    one, other = (node, own) if first == "node" else (own, node)
    complete(world, one)
    assert [] == publisher.take()
    complete(world, other)
    assert ["Tx.CommitOk"] == [answer.name for answer in publisher.take()]


def test_a_commit_closes_its_connection_when_one_of_the_logs_fails(world, publisher, node, own):
    publisher.call(Tx.Select())
    for key in ("q", "own"):
        publisher.publish("", key, b"m", delivery_mode=2)
    publisher.send(Tx.Commit())
    world.broker.log_failed(TEXT, own)
    world.run()
    assert 541 == publisher.next(0).reply_code


def test_both_logs_count_for_credit(world, publisher, node, own, monkeypatch):
    monkeypatch.setattr("pybroker.core.channel.credit.PEER_OCTETS_MAX", 1_000)
    publisher.publish("amq.fanout", "", bytes(600), delivery_mode=2)
    assert not publisher.session.readable
    complete(world, node)
    complete(world, own)
    assert (True, {}) == (publisher.session.readable, world.broker.ahead)


def test_a_receipt_that_was_used_up_says_nothing_about_the_next_publish(world, publisher, node, own):
    publisher.declare("full", {"x-max-length": 1, "x-overflow": "reject-publish"})
    publisher.call(Confirm.Select())
    for _ in range(2):
        publisher.publish("", "full", b"m")
    publisher.publish("", "q", b"m")
    assert [("Ack", 1, False), ("Nack", 2, False), ("Ack", 3, False)] == confirms(publisher)
