"""A model of a stream whose entries go straight into its files: what was published, confirmed and read.

After each end the confirmed is there, in order and once, what was read is there still, nothing else than what was
published is, and the last id of the publisher that is known is that of the last message that is there: neither without
the other.
"""

import contextlib
import errno
import random

from pybroker.core.channel.receipt import Receipt
from pybroker.store.disk import DiskError
from pybroker.store.streams.straight import committed_seqs
from tests.amqp10 import parts_of
from tests.entries import bodies_of, entries_run
from tests.flows.test_streams_on_disk import StreamLife
from tests.store.faulty_disk import PowerLoss
from tests.store.simulator.disk import SimulatedDisk, SimulatedPower, of_faulty

LARGE = 400


def publish(life, *bodies, number=None):
    """Publish entries, and the id of the last one as a named publisher has it; return what a confirm waits for."""
    receipt = Receipt()
    life.stream.publish_entries(entries_run(0, *bodies), receipt)
    if number is not None:
        life.stream.tracking.note_publisher("p", number)
    return receipt


def live_of(log, queue_id):
    """Return how many messages live of a queue, or of what a stream has beside its messages."""
    return sum(segment.pairs.get(queue_id, 0) for segment in log.live_index.segments)


def large(number):
    return b"%d " % number + b"x" * LARGE


class Model:
    """Several lives of a broker with one stream and one publisher that goes on after each."""

    def __init__(self, seed, *, failures):
        self.rng = random.Random(seed)
        self.failures = failures
        self.disk = SimulatedDisk(SimulatedPower())
        self.sent = {}  # by number: the body
        self.number = 0
        self.confirmed = set()
        self.seen = {}  # by offset: the body
        self.floor = 0
        self.straight = 0

    def live(self):
        """Do some things until the power goes, or somebody ends the process; then see what is there."""
        rng, power = self.rng, self.disk.power
        how = rng.choice(("power", "kill", "work"))
        if how == "power":
            power.crash_at = power.operations + rng.randrange(1, 150)
        for at in rng.sample(range(1, 200), 3 if self.failures else 0):
            power.failures[power.operations + at] = rng.choice((errno.EIO, errno.ENOSPC, errno.ENOSPC, errno.EMFILE))
        self.receipts = []
        with contextlib.suppress(PowerLoss, DiskError):
            self.work()
        if how == "kill" and not self.disk.doubtful:
            self.disk = self.disk.killed(SimulatedPower())
        else:
            self.disk = of_faulty(self.disk.crash(rng), SimulatedPower())

    def work(self):
        rng = self.rng
        life = StreamLife(self.disk)
        # Now and then there is more to do before all is read back.
        for _ in range(rng.choice((0, 0, 10))):
            self.step(life, 0.56 * rng.random())
            life.workers[rng.choice((0, 1, 2))].run()
        for _ in range(50):
            life.log.commit()
            life.answer()
            if not life.log.commit_position and life.log.completed == life.log.last_commit_position:
                self.check(life)
                break
            life.world.clock.advance(1_000)
            life.log.tick()
        for _ in range(rng.randrange(10, 60)):
            if life.log.failed:
                return
            self.step(life, rng.random())
            self.learn(life)

    def step(self, life, what):
        rng = self.rng
        if what < 0.35:
            bodies = [self.body() for _ in range(rng.randrange(1, 4))]
            self.receipts.append((publish(life, *bodies, number=self.number), bodies))
        elif what < 0.4:
            body = self.body()
            life.peer.publish("", "s", body, delivery_mode=2)
        elif what < 0.5:
            life.log.commit()
        elif what < 0.55:
            life.move()
        elif what < 0.58:
            life.world.advance(rng.choice((1_000, 20_000)))
            life.log.tick()
        elif what < 0.6 and not self.failures:
            offset = rng.randrange(life.stream.next_offset + 1)
            life.stream.truncate(offset, lambda error: None)
            self.floor = max(self.floor, offset)
        elif what < 0.7:
            life.stream.read(self.floor, 1 << 20, self.was_read)
            life.workers[3].run()
        elif what < 0.92:
            workers = [worker for worker in life.workers if len(worker)]
            if workers:
                rng.choice(workers).step()
                life.world.run()
        elif what < 0.97 or self.failures:
            life.log.commit()
            life.answer()
        else:
            self.seen.update({offset: body for offset, (_, body) in life.chunks(self.floor).items()})
            assert len(self.seen) <= life.stream.next_offset

    def was_read(self, found):
        """Note what a reader got, which knows it for ever; the thread that writes does nothing meanwhile."""
        if not isinstance(found, BaseException):
            self.seen.update({run.first_seq + at: body for run in found for at, body in enumerate(bodies_of(run))})

    def body(self):
        self.number += 1
        body = self.sent[self.number] = b"%d " % self.number + bytes(self.rng.choice((1, 1, 10, 300, 1_000)))
        return body

    def learn(self, life):
        self.straight += life.world.broker.streams.straight.writes_total
        life.world.broker.streams.straight.writes_total = 0
        for receipt, bodies in self.receipts:
            if receipt.completed:
                self.confirmed.update(bodies)

    def check(self, life):
        """See that all that was promised is there."""
        stream = life.stream
        assert [] == stream.files.reports
        for _ in range(100):
            if stream.files.next_offset >= stream.recovered_offset:
                break
            life.world.advance(1_000)
            life.answer()
        found = {offset: body for offset, (_, body) in life.chunks().items()}
        if not self.failures and not life.log.commit_position and stream.tracking.is_ready:
            known = sum(map(len, stream.tracking._values.values()))
            assert live_of(life.log, stream.tracking.id) == known
        first = min(found, default=stream.next_offset)
        assert list(found) == list(range(first, stream.next_offset))
        assert first <= self.floor
        bodies = [parts(body) for body in found.values()]
        numbers = [int(body.split()[0]) for body in bodies]
        assert numbers == sorted(set(numbers))
        assert bodies == [self.sent[number] for number in numbers]
        lowest = numbers[0] if numbers else self.number + 1
        missing = {body for body in self.confirmed.difference(bodies) if int(body.split()[0]) >= lowest}
        assert not missing or self.floor
        assert {offset: parts(body) for offset, body in self.seen.items() if offset >= first}.items() <= {
            offset: parts(body) for offset, body in found.items()
        }.items()
        known = stream.tracking.publisher_id("p") or 0
        entries = [int(body.split()[0]) for body in found.values() if body[:1].isdigit()]
        # With damage in the log the mark may be lost: messages of which nobody was told may stay, without the id.
        is_known = committed_seqs(life.found).of(stream.id) is not None
        if entries and first == 0 and is_known:
            assert known == entries[-1], (known, entries[-1])
        self.seen.update(found)
        self.number = max([self.number, *numbers])


def parts(body):
    """Return what was published, also of a content that became a message of AMQP 1.0."""
    return body if body[:1].isdigit() else parts_of(body)[1]
