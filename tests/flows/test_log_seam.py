"""The group seam: confirms wait for the log's positions, in publish order; what a queue has done with is settled."""

import pytest

from pybroker.store.log import Log
from tests.fakes import Basic, Confirm
from tests.slow import GatheringLog


class SlowLog(Log):
    """Gives each append a commit position of its own and completes none by itself."""

    def __init__(self):
        super().__init__()
        self.appended = []
        self.settled = []

    def append(self, run, indexes, queue_ids):
        self.appended.append((run.first_seq + indexes.start, len(indexes), queue_ids))
        return len(self.appended)

    def settle(self, queue_id, run, indexes):
        self.settled += [(queue_id, run.first_seq + i) for i in indexes]


@pytest.fixture
def log(world):
    world.broker.log = SlowLog()
    return world.broker.log


def acks(peer):
    return [(m.delivery_tag, m.multiple) for m in peer.take() if isinstance(m, Basic.Ack)]


def test_a_persistent_message_in_a_durable_queue_is_confirmed_when_the_log_has_it(world, peer, log):
    peer.declare("q", durable=True)
    peer.call(Confirm.Select())
    peer.publish("", "q", b"one", delivery_mode=2)
    assert [] == acks(peer)
    world.broker.log_completed(1)
    world.run()
    assert [(1, False)] == acks(peer)


def test_a_transient_message_does_not_overtake_a_persistent_one_of_its_channel(world, peer, log):
    peer.declare("q", durable=True)
    peer.call(Confirm.Select())
    peer.publish("", "q", b"one", delivery_mode=2)
    peer.publish("", "q", b"two")
    assert [] == acks(peer)
    world.broker.log_completed(1)
    world.run()
    assert [(2, True)] == acks(peer)


def test_transient_messages_and_queues_are_not_for_the_log(peer, log):
    peer.declare("q", durable=True)
    peer.declare("t")
    peer.call(Confirm.Select())
    peer.publish("", "q", b"transient")
    peer.publish("", "t", b"persistent", delivery_mode=2)
    assert [(1, False), (2, False)] == acks(peer)
    assert [] == log.appended


def test_a_fan_out_is_appended_once_with_all_its_durable_queues(world, peer, log):
    from pamqp.commands import Queue

    ids = []
    for name in ("a", "b"):
        peer.declare(name, durable=True)
        peer.call(Queue.Bind(queue=name, exchange="amq.fanout"))
        ids.append(world.vhost.queues[name].id)
    peer.publish("amq.fanout", "", b"x", delivery_mode=2)
    assert [(1, 1, tuple(sorted(ids)))] == [(seq, n, tuple(sorted(found))) for seq, n, found in log.appended]


def test_acked_rejected_got_and_purged_messages_are_settled(world, peer, log):
    from pamqp.commands import Queue

    peer.declare("q", durable=True)
    queue = world.vhost.queues["q"].id
    for body in (b"1", b"2", b"3", b"4"):
        peer.publish("", "q", body, delivery_mode=2)
    acked = peer.get("q", no_ack=False)
    peer.send(Basic.Ack(acked.method.delivery_tag))
    rejected = peer.get("q", no_ack=False)
    peer.send(Basic.Reject(rejected.method.delivery_tag, requeue=False))
    peer.get("q", no_ack=True)
    peer.call(Queue.Purge(queue="q"))
    assert [(queue, seq) for seq in (1, 2, 3, 4)] == log.settled


def test_a_dead_letter_settles_the_original_after_its_copy_is_in_the_log(world, peer, log):
    peer.declare("dlq", durable=True)
    peer.declare("q", {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dlq"}, durable=True)
    peer.publish("", "q", b"x", delivery_mode=2)
    got = peer.get("q", no_ack=False)
    peer.send(Basic.Reject(got.method.delivery_tag, requeue=False))
    world.run()
    assert [(world.vhost.queues["q"].id, 1)] == log.settled
    assert 2 == len(log.appended)


def test_a_message_that_a_queue_rejects_is_settled_there(world, peer, log):
    peer.declare("q", {"x-max-length": 1, "x-overflow": "reject-publish"}, durable=True)
    for body in (b"kept", b"refused"):
        peer.publish("", "q", body, delivery_mode=2)
    assert [(world.vhost.queues["q"].id, 2)] == log.settled


def test_an_immediate_message_is_confirmed_when_the_log_has_it(world, peer, log):
    peer.declare("q", durable=True)
    peer.consume("q", no_ack=True)
    peer.call(Confirm.Select())
    peer.publish("", "q", b"now", delivery_mode=2, immediate=True)
    assert [] == acks(peer)
    world.broker.log_completed(1)
    world.run()
    assert [(1, False)] == acks(peer)


def test_the_copy_of_a_dead_letter_and_the_settling_of_the_original_are_in_one_batch(world, peer):
    log = world.broker.log = GatheringLog()
    peer.declare("dlq", durable=True)
    peer.declare("q", {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dlq"}, durable=True)
    for body in (b"1", b"2"):
        peer.publish("", "q", body, delivery_mode=2)
    for _ in range(2):
        got = peer.get("q", no_ack=False)
        log.seal()
        peer.send(Basic.Reject(got.method.delivery_tag, requeue=False))
        world.run()
        records = log.batches[max(log.batches)]
        assert ["publish", "settle"] == [record[0] for record in records]


def test_who_waits_for_a_confirm_has_the_log_commit_at_the_end_of_the_turn(world, peer):
    log = world.broker.log = GatheringLog()
    peer.declare("q", durable=True)
    peer.publish("", "q", b"nobody waits", delivery_mode=2)
    assert [] == log.wanted
    peer.call(Confirm.Select())
    peer.publish("", "q", b"transient")
    assert [] == log.wanted
    many = [frame for _ in range(20) for frame in peer.publish_frames("", "q", b"m", delivery_mode=2)]
    peer.send(*many)
    assert [1] == log.wanted
