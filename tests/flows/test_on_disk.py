"""Peers of a broker whose log is the journal, on a disk that can fail, fill up and lose power."""

import errno
import random
from dataclasses import replace

import pytest
from pamqp import frame

from pybroker.core.metadata.recovery import delivered, durable_queues, restore
from pybroker.core.peer.session import OUTBOX_OCTETS_MAX
from pybroker.core.policy.limits import REJECT_PUBLISH
from pybroker.store.journal.journal import Journal
from pybroker.store.recovery.recovery import Recovery
from tests.fakes import Basic, Confirm, Content, FakePeer, Queue, Tx, World
from tests.inline_worker import InlineWorker
from tests.store.faulty_disk import FaultyDisk


class Life:
    """A broker from its start to its end; `q` is durable, and `dead` takes what it rejects."""

    def __init__(self, disk: FaultyDisk, wall_ms: int = 0) -> None:
        self.disk = disk
        self.world = World()
        # Of each life both clocks begin anew; the wall's may be another one.
        self.world.clock.timestamp_ms += wall_ms
        self.peer = self.world.connect()
        self.declare()
        broker = self.world.broker
        queues = durable_queues(broker)
        found = self.found = Recovery(disk, set(queues), lambda done, of: None).run()
        self.workers = InlineWorker(), InlineWorker()
        self.log = Journal(disk, *self.workers, broker.clock, broker.turn, broker.definitions, found)
        self.log.maintenance.largest_octets = self.log.maintenance.segment_octets = 65_536
        self.log.on_closing = broker.streams.straight.log_closing
        self.log.on_completed = broker.log_completed
        self.log.on_failed = broker.log_failed
        broker.log = self.log
        self.open_streams(queues)
        restore(queues, found, self.log.steady_ms, broker.clock.now_ms)

    def declare(self) -> None:
        """Declare the queues, which get the same ids in each life."""
        self.peer.declare("dead", durable=True)
        dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
        self.peer.declare("q", dead, durable=True)
        self.peer.declare("limited", {"x-queue-type": "quorum", "x-delivery-limit": 3}, durable=True)

    def open_streams(self, queues) -> None:
        """Give streams their files."""

    def turn(self) -> None:
        """End the turn: what somebody waits for is handed to the disk, which does not answer yet."""
        self.log.turn_ended()

    def answer(self) -> None:
        """Have the disk do what it was asked for, and what follows from that."""
        while any(map(len, self.workers)):
            for worker in self.workers:
                worker.run()
            self.world.run()

    def killed(self, wall_ms: int = 0) -> "Life":
        """Return the next life, after a loss of power, whose clock on the wall is so far ahead of the others'."""
        return type(self)(self.disk.crash(random.Random(4)), wall_ms)

    def stopped(self, wall_ms: int = 0) -> "Life":
        """Return the next life, after a stop in order."""
        self.log.commit()
        self.answer()
        self.log.close(delivered(self.world.broker, self.log.steady_ms), lambda _: None)
        self.answer()
        return type(self)(self.disk, wall_ms)


@pytest.fixture
def life() -> Life:
    return Life(FaultyDisk())


def bodies(life: Life, queue: str) -> list[bytes]:
    """Take everything out of a queue; what is on disk has to be waited for."""
    found = []
    while True:
        life.peer.send(Basic.Get(queue=queue, no_ack=True))
        life.answer()
        (reply,) = life.peer.take()
        if isinstance(reply, Basic.GetEmpty):
            return found
        found.append(reply.body)


def names(peer: FakePeer) -> list[str]:
    return [(each.method if isinstance(each, Content) else each).name for each in peer.take()]


def test_a_confirm_follows_the_sync_and_what_is_confirmed_survives(life):
    peer = life.peer
    peer.call(Confirm.Select())
    peer.publish("", "q", b"1", delivery_mode=2)
    peer.publish("", "q", b"2", delivery_mode=2)
    life.turn()
    peer.publish("", "q", b"3", delivery_mode=2)
    assert [] == peer.take()
    life.answer()
    assert [(2, True), (3, False)] == [(ack.delivery_tag, ack.multiple) for ack in peer.take()]
    assert [b"1", b"2", b"3"] == bodies(life.killed(), "q")


def test_gets_of_a_peer_that_does_not_read_are_answered_as_it_reads(life):
    for i in range(40):
        life.peer.publish("", "q", b"%02d" % i + bytes(100_000), delivery_mode=2)
    life.log.commit()
    life.answer()
    life = life.killed()
    session = life.peer.session
    life.peer.send_octets(b"".join(frame.marshal(Basic.Get(queue="q", no_ack=True), 1) for _ in range(40)))
    for _ in range(20):  # nothing is flushed
        life.world.broker.pump()
        life.turn()
        for worker in life.workers:
            worker.run()
    assert OUTBOX_OCTETS_MAX < session.queued_octets < 2 * OUTBOX_OCTETS_MAX
    found = []
    while len(found) < 40:
        life.answer()
        life.world.run()
        found += [reply.body[:2] for reply in life.peer.take()]
    assert [b"%02d" % i for i in range(40)] == found
    assert (None, {}) == (session.channels[1].reply_queue, life.world.broker.waiting)


def test_gets_of_what_is_on_disk_are_answered_in_order_when_it_is_read(life):
    for i in range(5):
        life.peer.publish("", "q", b"%d" % i, delivery_mode=2)
    life.log.commit()
    life.answer()
    life = life.killed()
    life.peer.send(*[Basic.Get(queue="q", no_ack=True)] * 3, Basic.Qos(), Basic.Get(queue="dead"))
    assert [] == life.peer.take()
    life.answer()
    found = life.peer.take()
    assert [b"0", b"1", b"2"] == [each.body for each in found[:3]]
    assert ["Basic.QosOk", "Basic.GetEmpty"] == [each.name for each in found[3:]]
    assert [b"3", b"4"] == bodies(life, "q")


def test_a_consumer_and_a_get_of_another_channel_share_what_is_read_back(life):
    for i in range(5):
        life.peer.publish("", "q", b"%d" % i, delivery_mode=2)
    life.log.commit()
    life.answer()
    life = life.killed()
    life.peer.open(2)
    life.peer.send(Basic.Get(queue="q", no_ack=True))
    life.peer.consume("q", no_ack=True, channel=2)
    life.answer()
    assert [[b"0"], [b"1", b"2", b"3", b"4"]] == [life.peer.bodies(channel) for channel in (1, 2)]


def test_a_purge_answers_the_gets_that_wait(life):
    life.peer.publish("", "q", b"1", delivery_mode=2)
    life.log.commit()
    life.answer()
    life = life.killed()
    life.peer.send(Basic.Get(queue="q"))
    life.world.connect().call(Queue.Purge(queue="q"))
    assert ["Basic.GetEmpty"] == names(life.peer)
    life.answer()
    assert [] == life.peer.take()


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_survives_whole_or_not_at_all(life, committed):
    peer = life.peer
    peer.publish("", "q", b"old", delivery_mode=2)
    life.log.commit()
    life.answer()
    peer.call(Tx.Select())
    got = peer.get("q", no_ack=False)
    peer.publish("", "q", b"new 1", delivery_mode=2)
    peer.publish("", "dead", b"new 2", delivery_mode=2)
    peer.send(Basic.Ack(got.method.delivery_tag), Tx.Commit())
    life.turn()
    assert [] == peer.take()
    if committed:
        life.answer()
        assert ["Tx.CommitOk"] == names(peer)
    life = life.killed()
    found = bodies(life, "q"), bodies(life, "dead")
    assert (([b"new 1"], [b"new 2"]) if committed else ([b"old"], [])) == found


def test_a_dead_letter_is_in_one_place_after_any_loss_of_power(life):
    peer = life.peer
    peer.publish("", "q", b"m", delivery_mode=2)
    life.log.commit()
    life.answer()
    got = peer.get("q", no_ack=False)
    peer.send(Basic.Reject(got.method.delivery_tag, requeue=False))
    life.log.commit()
    for seed in range(20):
        after = Life(life.disk.crash(random.Random(seed)))
        assert [b"m"] == bodies(after, "q") + bodies(after, "dead")
    life.answer()
    after = life.killed()
    assert ([], [b"m"]) == (bodies(after, "q"), bodies(after, "dead"))


class Forwarding(Life):
    """`q` forwards its dead letters at least once, to `dead` and to `limited`, which has room for one."""

    def __init__(self, disk: FaultyDisk) -> None:
        super().__init__(disk)
        peer, queue = self.peer, self.world.vhost.queues["q"]
        queue.set_limits(
            replace(queue.limits, dead_letter_exchange="amq.fanout", overflow=REJECT_PUBLISH, at_least_once=True)
        )
        full = self.world.vhost.queues["limited"]
        full.set_limits(replace(full.limits, delivery_limit=None, length_max=1, overflow=REJECT_PUBLISH))
        for name in ("dead", "limited"):
            peer.call(Queue.Bind(queue=name, exchange="amq.fanout"))

    def places(self) -> tuple[list[bytes], list[bytes], list[bytes]]:
        return bodies(self, "q"), bodies(self, "dead"), bodies(self, "limited")


def test_a_letter_forwarded_at_least_once_is_at_its_source_or_at_all_its_targets_after_any_loss_of_power():
    life = Forwarding(FaultyDisk())
    peer = life.peer
    peer.publish("", "limited", b"in the way", delivery_mode=2)
    peer.publish("", "q", b"m", delivery_mode=2)
    life.log.commit()
    life.answer()
    got = peer.get("q", no_ack=False)
    peer.send(Basic.Reject(got.method.delivery_tag, requeue=False))
    stays, goes = ([b"m"], [], [b"in the way"]), ([], [b"m"], [b"m"])
    for _ in range(3):
        life.log.commit()
        for seed in range(5):
            assert stays == Forwarding(life.disk.crash(random.Random(seed))).places()
        life.answer()
        life.world.advance(1_000)
    assert 1 == life.world.vhost.queues["q"].messages
    (in_the_way,) = bodies(life, "limited")
    life.log.commit()
    life.answer()
    life.world.advance(60_000)
    assert (0, b"in the way") == (life.world.vhost.queues["q"].messages, in_the_way)
    life.log.commit()
    found = [Forwarding(life.disk.crash(random.Random(seed))).places() for seed in range(20)]
    assert all(places in (([b"m"], [], []), goes) for places in found)
    life.answer()
    for seed in range(5):
        assert goes == Forwarding(life.disk.crash(random.Random(seed))).places()


def test_a_sync_that_fails_refuses_what_waits_and_what_comes(life):
    peer, tx = life.peer, life.world.connect()
    peer.call(Confirm.Select())
    peer.publish("", "q", b"kept", delivery_mode=2)
    life.turn()
    life.answer()
    tx.call(Tx.Select())
    tx.publish("", "q", b"lost", delivery_mode=2)
    tx.send(Tx.Commit())
    peer.publish("", "q", b"lost", delivery_mode=2)
    life.disk.fail_next("sync", errno.EIO)
    life.turn()
    life.answer()
    assert ["Basic.Ack", "Basic.Nack"] == names(peer)
    assert 541 == tx.next(0).reply_code
    peer.publish("", "q", b"lost", delivery_mode=2)
    life.turn()
    life.answer()
    assert ["Basic.Nack"] == names(peer)
    assert life.log.failed
    assert [b"kept"] == bodies(life.killed(), "q")[:1]


def test_a_full_disk_is_waited_for(life):
    peer = life.peer
    peer.call(Confirm.Select())
    peer.publish("", "q", b"1", delivery_mode=2)
    life.disk.fail_next("write_at", errno.ENOSPC)
    life.turn()
    life.answer()
    assert ([], "") == (peer.take(), life.log.failed)
    life.world.clock.advance(1_000)
    life.log.tick()
    life.answer()
    assert ["Basic.Ack"] == names(peer)


def deliver_and_return(life: Life, times: int) -> int:
    """Get the message and give it back so often; return how often there was one."""
    for count in range(times):
        life.peer.send(Basic.Get(queue="limited"))
        life.answer()
        (reply,) = life.peer.take()
        if isinstance(reply, Basic.GetEmpty):
            return count
        life.peer.send(Basic.Nack(reply.method.delivery_tag, requeue=True))
        life.log.commit()
        life.answer()
    return times


def test_a_kill_does_not_give_a_message_new_chances_in_a_queue_that_limits_them(life):
    life.peer.publish("", "limited", b"poison", delivery_mode=2)
    assert 2 == deliver_and_return(life, 2)
    life = life.killed()
    assert 1 == deliver_and_return(life, 1)
    life = life.killed()
    assert 1 == deliver_and_return(life, 5)
    assert [] == bodies(life.killed(), "limited")


def test_a_purge_that_a_clean_stop_interrupts_is_finished_first(life, monkeypatch):
    monkeypatch.setattr("pybroker.core.queue.purge_task.TURN_ENTRIES_MAX", 1)
    for _ in range(5):
        life.peer.publish("", "q", b"x", delivery_mode=2)
        life.peer.publish("", "dead", b"x", delivery_mode=2)
    life.log.commit()
    life.answer()
    broker = life.world.broker
    assert 5 == broker.vhosts["/"].queues["q"].purge()
    assert len(broker.purge_task)
    broker.purge_task.finish()
    ended: list[object] = []
    life.log.close([], ended.append)
    while not ended:
        for worker in life.workers:
            worker.run()
    again = Life(life.disk).world.broker.vhosts["/"].queues
    assert (0, 5) == (again["q"].messages_ready, again["dead"].messages_ready)
