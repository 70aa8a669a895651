"""x-delayed-message over the journal, on a disk that loses power: what was confirmed is there once, here or there."""

import random

import pytest

from pybroker.core.delayed import cache, load, schedule as schedules
from pybroker.core.metadata.recovery import durable_queues, restore
from pybroker.store.journal.journal import Journal
from pybroker.store.recovery.recovery import Recovery
from tests.fakes import Basic, Confirm, Exchange, Queue, World
from tests.inline_worker import InlineWorker
from tests.store.faulty_disk import FaultyDisk, PowerLoss


class Life:
    """A broker from its start to its end, with a durable delayed exchange `x` and the queue `q`."""

    def __init__(self, disk, before=None) -> None:
        self.disk = disk
        self.world = World()
        if before is not None:
            self.world.clock.timestamp_ms = before.world.clock.timestamp_ms
        self.peer = self.world.connect()
        declared = {"x-delayed-type": "direct"}
        self.peer.call(
            Exchange.Declare(exchange="x", exchange_type="x-delayed-message", durable=True, arguments=declared)
        )
        self.peer.declare("q", durable=True)
        self.peer.call(Queue.Bind(queue="q", exchange="x", routing_key="k"))
        broker = self.world.broker
        (self.schedule,) = self.world.vhost.schedules
        queues = durable_queues(broker)
        assert {self.schedule.id, self.world.vhost.queues["q"].id} == set(queues)
        found = Recovery(disk, set(queues), lambda done, of: None).run()
        self.workers = InlineWorker(), InlineWorker()
        self.log = Journal(disk, *self.workers, broker.clock, broker.turn, broker.definitions, found)
        self.log.maintenance.largest_octets = self.log.maintenance.segment_octets = 65_536
        self.log.on_completed = broker.log_completed
        self.log.on_failed = broker.log_failed
        broker.log = self.log
        self.found = found
        restore(queues, found)

    def answer(self) -> None:
        """Have the disk do what it was asked for, and what follows from that."""
        self.log.turn_ended()
        while any(map(len, self.workers)):
            for worker in self.workers:
                worker.run()
            self.world.run()
            self.log.turn_ended()

    def on_disk(self) -> None:
        self.log.commit()
        self.answer()

    def advance(self, ms: int) -> None:
        self.world.advance(ms)
        self.answer()
        self.world.run()

    def send(self, body, delivery_mode=2, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.peer.publish("x", "k", body, delivery_mode=delivery_mode, headers=headers)

    def killed(self, seed=4) -> "Life":
        """Return the next life, after a loss of power."""
        life = Life(self.disk.crash(random.Random(seed)), self)
        life.answer()
        return life

    def bodies(self):
        found = []
        while True:
            self.peer.send(Basic.Get(queue="q", no_ack=True))
            self.answer()
            (reply,) = self.peer.take()
            if isinstance(reply, Basic.GetEmpty):
                return found
            found.append(reply.body)


def shrink(monkeypatch) -> None:
    """Make all windows and shares tiny."""
    tiny = {
        cache: {"KEPT_MESSAGES": 1, "FETCH_MESSAGES": 3, "SHARE_MESSAGES": 2, "SOON_MS": 3, "AHEAD_MS": 3},
        schedules: {"TURN_MESSAGES": 2, "LOOK_MS": 2},
        load: {"READ_MESSAGES": 3, "SHARE_MESSAGES": 2},
    }
    for module, constants in tiny.items():
        for name, value in constants.items():
            monkeypatch.setattr(module, name, value)


@pytest.fixture
def life() -> Life:
    return Life(FaultyDisk())


def test_a_confirm_waits_for_the_disk_and_what_is_confirmed_waits_after_a_kill(life):
    life.peer.call(Confirm.Select())
    life.send(b"m", x_delay=10_000)
    assert [] == life.peer.take()
    life.answer()
    assert isinstance(life.peer.next(), Basic.Ack)
    life = life.killed()
    assert 1 == life.schedule.messages
    life.advance(9_999)
    assert [] == life.bodies()
    life.advance(1)
    assert [b"m"] == life.bodies()


def test_time_goes_on_while_nobody_is_there(life):
    now = life.world.clock.timestamp_ms
    life.send(b"delay", x_delay=10_000)
    life.send(b"time", x_deliver_at=now + 20_000)
    life.on_disk()
    life.world.clock.timestamp_ms += 9_000
    life = life.killed()
    life.advance(999)
    assert [] == life.bodies()
    life.advance(1)
    assert [b"delay"] == life.bodies()
    life.on_disk()
    life.world.clock.timestamp_ms += 60_000
    life = life.killed()
    life.advance(1)
    assert [b"time"] == life.bodies()


def test_what_came_during_the_start_keeps_its_place_behind_what_is_read(life):
    for number in range(3):
        life.send(b"%d" % number, x_delay=10_000)
    life.on_disk()
    life.world.clock.timestamp_ms += 20_000
    again = Life(life.disk.crash(random.Random(1)), life)
    assert again.schedule.reading
    again.send(b"new", x_delay=1)
    again.world.advance(10)
    assert 0 == again.world.vhost.queues["q"].messages_ready
    again.answer()
    again.advance(1)
    assert not again.schedule.reading
    assert [b"0", b"1", b"2", b"new"] == again.bodies()


def test_what_is_published_on_comes_once_whatever_is_on_disk(life):
    for number in range(20):
        life.send(b"%d" % number, x_delay=1_000 + number)
    life.on_disk()
    life.world.advance(1_010)  # the copies are gathered, not written
    for seed in range(8):
        after = life.killed(seed)
        after.advance(10_000)
        assert sorted(b"%d" % number for number in range(20)) == sorted(after.bodies())


def test_transient_messages_and_those_of_a_transient_exchange_do_not_survive(life):
    life.send(b"transient", delivery_mode=1, x_delay=1_000)
    life.send(b"persistent", x_delay=1_000)
    life.on_disk()
    life = life.killed()
    life.advance(1_000)
    assert [b"persistent"] == life.bodies()


def test_what_the_log_has_leaves_the_memory_and_is_back_in_time(life, monkeypatch):
    monkeypatch.setattr(cache, "KEPT_MESSAGES", 2)
    monkeypatch.setattr(cache, "FETCH_MESSAGES", 3)
    order = list(range(12))
    random.Random(5).shuffle(order)
    for number in order:
        life.send(b"%d" % number, x_delay=10_000 + number)
        life.on_disk()
    life.advance(1_500)
    schedule = life.schedule
    assert (12, 10) == (schedule.messages, schedule.messages_evicted)
    assert 2 == len(schedule.cache.runs)
    life.advance(8_500)
    for _ in range(12):
        life.advance(1)
    assert [b"%d" % number for number in range(12)] == life.bodies()
    assert (0, 0, 0) == (schedule.messages, schedule.messages_evicted, schedule.cache.octets)
    life.on_disk()
    assert 0 == sum(segment.live for segment in life.log.live_index.segments)


def test_what_is_cancelled_stays_cancelled(life):
    for number in range(3):
        life.send(b"%d" % number, x_delay=10_000)
    life.on_disk()
    life = life.killed()
    second = life.schedule.delays.first(3)[1]
    waiting = schedules.Waiting(*second, life.schedule.delays)
    assert life.schedule.cancel(waiting)
    assert not life.schedule.cancel(waiting)
    life.on_disk()
    life = life.killed()
    assert 2 == life.schedule.messages
    life.advance(10_000)
    assert [b"0", b"2"] == life.bodies()


def test_what_is_cancelled_while_it_is_read_does_not_come_back(life, monkeypatch):
    monkeypatch.setattr(cache, "KEPT_MESSAGES", 0)
    life.send(b"m", x_delay=10_000)
    life.on_disk()
    life.world.advance(1_000)
    life.world.advance(7_500)
    assert life.schedule.cache.fetching
    (item,) = life.schedule.delays.first(1)
    assert life.schedule.cancel(schedules.Waiting(*item, life.schedule.delays))
    life.answer()
    assert ({}, 0) == (life.schedule.cache.runs, life.schedule.cache.octets)
    life.advance(5_000)
    assert [] == life.bodies()


def test_a_deleted_exchange_takes_its_messages_out_of_the_log(life):
    life.send(b"m", x_delay=10_000)
    life.on_disk()
    life.peer.call(Exchange.Delete(exchange="x"))
    life.on_disk()
    assert 0 == sum(segment.live for segment in life.log.live_index.segments)


def test_what_cannot_be_read_is_told_of_and_the_others_go_on(life, monkeypatch):
    monkeypatch.setattr(cache, "KEPT_MESSAGES", 0)
    for number in range(3):
        life.send(b"%d" % number, x_delay=10_000)
        life.on_disk()
        life.advance(1)
    life.advance(1_000)
    lost = life.schedule.delays.first(2)[1].seq
    fetch = life.log.fetch

    def without(queue_id, part, done):
        fetch(queue_id, part, lambda found: done([each for each in found if each[0].first_seq + each[1].start != lost]))

    monkeypatch.setattr(Journal, "fetch", lambda self, *arguments: without(*arguments))
    life.advance(9_000)
    life.advance(1)
    assert (1, 0) == (life.schedule.unreadable, life.schedule.messages)
    assert [b"0", b"2"] == life.bodies()


# Power goes at any operation of the disk, before, while and after messages are published on.
@pytest.mark.parametrize("seed", range(8))
def test_whenever_the_power_goes_nothing_is_lost_and_nothing_doubled(seed, monkeypatch):
    if seed % 2:
        shrink(monkeypatch)
    rng = random.Random(seed)
    disk = FaultyDisk()
    for round_ in range(6):
        life = Life(disk)
        life.peer.call(Confirm.Select())
        disk.crash_at(disk.power.operations + rng.randrange(1, 30))
        sent, acks = [], set()
        try:
            for number in range(12):
                sent.append(b"%d.%d" % (round_, number))
                life.send(sent[-1], x_delay=rng.choice((5, 10, 10, 5_000)))
                life.advance(rng.choice((0, 0, 5)))
                confirmed(life, acks)
        except PowerLoss:
            confirmed(life, acks)
        disk = disk.crash(rng)
        life = Life(disk, life)
        life.answer()
        life.advance(5_000)
        found = life.bodies()
        assert len(set(found)) == len(found)
        assert {sent[index] for index in acks} <= set(found) <= set(sent)
        schedule = life.schedule
        assert (0, 0, 0) == (schedule.messages, schedule.messages_evicted, len(schedule.cache))
        life.on_disk()


def confirmed(life, acks):
    """Learn which publishes are confirmed so far."""
    for each in life.peer.take():
        assert isinstance(each, Basic.Ack)
        acks.update(range(each.delivery_tag) if each.multiple else [each.delivery_tag - 1])
