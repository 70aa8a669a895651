"""Publishers and consumers of streams by name, whose ids and offsets are in the log, on a disk that loses power."""

import random

import pytest

from pybroker.core.channel.receipt import Receipt
from tests.entries import entries_run
from tests.flows.test_streams_on_disk import StreamLife
from tests.store.faulty_disk import FaultyDisk, PowerLoss


@pytest.fixture
def life():
    return StreamLife(FaultyDisk())


def test_ids_come_back_with_what_was_published(life):
    tracking = life.stream.tracking
    tracking.note_publisher("p", 7)
    life.publish_entries(b"0")
    tracking.store_offset("c", 3)
    life.log.commit()
    life.answer()
    for _ in range(2):
        life = life.killed()
        ready = []
        life.stream.tracking.when_ready(lambda ready=ready: ready.append(1))
        assert [] == ready
        life.answer()
        tracking = life.stream.tracking
        assert ([1], 7, 3) == (ready, tracking.publisher_id("p"), tracking.offset("c"))
        tracking.note_publisher("p", 8)
    life = life.stopped()
    life.answer()
    assert 8 == life.stream.tracking.publisher_id("p")


@pytest.mark.parametrize("seed", range(40))
def test_kills_while_publishers_count(seed):
    """After a start a publisher's id is that of its last message that is there: it sends the others, nothing twice."""
    rng = random.Random(seed)
    life = StreamLife(FaultyDisk())
    sent, confirmed, stored = dict.fromkeys("abc", 0), dict.fromkeys("abc", 0), None
    for _ in range(8):
        receipts, offsets = [], [(0, stored)]
        for _ in range(rng.randrange(30)):
            what, name = rng.randrange(7), rng.choice("abc")
            if what < 3:
                numbers = range(sent[name] + 1, sent[name] + 1 + rng.randint(1, 3))
                sent[name] = numbers[-1]
                receipt = Receipt()
                with life.log.together():
                    bodies = [b"%s%d" % (name.encode(), number) for number in numbers]
                    life.stream.publish_entries(entries_run(0, *bodies), receipt)
                    life.stream.tracking.note_publisher(name, sent[name])
                receipts.append((receipt, name, sent[name]))
                if rng.random() < 0.7:
                    life.log.commit()
            elif what == 3:
                offset = rng.randrange(100)
                life.stream.tracking.store_offset("c", offset)
                offsets.append((life.log.commit_position, offset))
            elif what == 4:
                life.move()
            elif what == 5:
                worker = rng.choice(life.workers)
                if len(worker):
                    worker.run()
                    life.world.run()
            else:
                life.log.commit()
                life.answer()
        for receipt, name, number in receipts:
            if receipt.completed:
                confirmed[name] = max(confirmed[name], number)
        certain = [at for at, (position, _) in enumerate(offsets) if position <= life.log.completed]
        life = StreamLife(life.disk.crash(rng))
        life.answer()
        found = [body for _, body in life.chunks().values()]
        assert len(set(found)) == len(found)
        tracking = life.stream.tracking
        for name in "abc":
            mine = [int(body[1:]) for body in found if body[:1] == name.encode()]
            assert mine == list(range(1, len(mine) + 1))
            assert (tracking.publisher_id(name) or 0) == len(mine)
            assert confirmed[name] <= len(mine) <= sent[name]
            sent[name] = confirmed[name] = len(mine)
        stored = tracking.offset("c")
        assert stored in [offset for _, offset in offsets[certain[-1] :]]


class Publishers:
    """Two publishers that count, what each was confirmed, and the offset that a consumer stored and knows of."""

    def __init__(self, life):
        self.life = life
        self.sent = {"a": 0, "b": 0}
        self.receipts = []
        self.offsets = [(0, None)]

    def publish(self, name, count):
        first = self.sent[name] + 1
        self.sent[name] += count
        receipt = Receipt()
        stream = self.life.stream
        bodies = [b"%s%d" % (name.encode(), number) for number in range(first, first + count)]
        with self.life.log.together():
            stream.publish_entries(entries_run(0, *bodies), receipt)
            stream.tracking.note_publisher(name, self.sent[name])
        self.receipts.append((receipt, name, self.sent[name]))

    def store(self, offset):
        self.life.stream.tracking.store_offset("c", offset)
        self.offsets.append((self.life.log.commit_position, offset))

    def act(self):
        """Publish, store, move, roll over to a second segment, all with the disk at work."""
        for number in range(4):
            self.publish("a", 3)
            self.publish("b", 2)
            self.store(number)
            self.life.log.commit()
            self.publish("a", 1)
            self.life.answer()
            if number % 2:
                self.life.move()
                self.life.log.commit()
                self.life.answer()
        self.life.log.commit()
        self.life.answer()

    def check(self, disk):
        """See what the next life has of it."""
        completed = self.life.log.completed
        life = StreamLife(disk)
        life.answer()
        found = [body for _, body in life.chunks().values()]
        tracking = life.stream.tracking
        for name, sent in self.sent.items():
            mine = [body for body in found if body[:1] == name.encode()]
            assert mine == [b"%s%d" % (name.encode(), number) for number in range(1, len(mine) + 1)]
            assert (tracking.publisher_id(name) or 0) == len(mine)
            confirmed = [number for receipt, who, number in self.receipts if who == name and receipt.completed]
            assert max(confirmed, default=0) <= len(mine) <= sent
        certain = [at for at, (position, _) in enumerate(self.offsets) if position <= completed]
        assert tracking.offset("c") in [offset for _, offset in self.offsets[certain[-1] :]]


def test_the_power_may_go_at_any_call():
    at = done = 0
    while not done:
        at += 1
        disk = FaultyDisk()
        publishers = Publishers(StreamLife(disk))
        disk.crash_at(disk.power.operations + at)
        try:
            publishers.act()
            done = at
        except PowerLoss:
            pass
        for seed in range(3):
            publishers.check(disk.crash(random.Random(seed)))
    assert done > 40
