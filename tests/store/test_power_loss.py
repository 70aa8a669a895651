"""Test 1: the power goes at any operation of the disk, again and again, also while a start is reading the log.

Messages promised by a completed position are there, those it settled are gone, batches are there whole or not at all,
and in order; and since nothing is damaged, nothing is reported. A disk or a program that cheats is caught: see the
mutants.
"""

import random
import time

import pytest

from pybroker.store.journal import maintenance
from pybroker.store.journal.journal import Journal
from pybroker.store.journal.maintenance import Maintenance
from pybroker.store.segments import scan
from pybroker.store.segments.checkpoint import checkpoint_commit_position
from tests.checker import Key, Verdict, compare
from tests.store.faulty_disk import FaultyDisk, PowerLoss
from tests.store.journals import Node

QUEUES = (1, 2)
# The first of those that are there for a while only: what goes with one must take nothing of the others along.
GUEST = 100
SEGMENT_OCTETS = 5_000
LIVES = 3
STEPS = 40


class World:
    """The promises given to clients, over several lives of a log."""

    def __init__(self, seed: object) -> None:
        self.rng = random.Random(seed)
        self.disk = FaultyDisk()
        self.bodies: dict[Key, bytes] = {}
        self.commit_position_of: dict[Key, int] = {}
        self.settled_at: dict[Key, int] = {}
        self.alive: set[Key] = set()  # what the last recovery found
        self.completed = 0
        self.operations = 0
        self.guest = GUEST
        self.spoilt: set[str] = set()  # checkpoints that were damaged

    def live(self) -> None:
        """Live until the power goes, or for some steps and then lose it."""
        disk, rng = self.disk, self.rng
        self.commit_position_of, self.settled_at = {}, {}
        self.completed = 0
        disk.crash_at(disk.power.operations + rng.randrange(1, 120))
        node = None
        try:
            node = Node(disk, QUEUES, largest=SEGMENT_OCTETS)
            self.completed = node.log.completed
            runs = []
            for _ in range(STEPS):
                self._step(node, runs)
            if rng.random() < 0.3:
                node.log.close([], lambda error: None)
                self._work(node, 1.0)
        except PowerLoss:
            pass
        if node is not None:
            self.completed = node.log.completed
        self.operations += disk.power.operations
        self.disk = disk.crash(rng)

    def _step(self, node, runs) -> None:
        rng = self.rng
        what = rng.random()
        if what < 0.5:
            queues = rng.choice(((1,), (2,), (1, 2)))
            bodies = [rng.randbytes(rng.choice((2, 2, 30, 900))) for _ in range(rng.randrange(1, 4))]
            guest = self.guest if rng.random() < 0.3 else 0
            run = node.publish(bodies, (*queues, guest) if guest else queues)
            for queue in queues:
                for i, body in enumerate(bodies):
                    key = Key(str(queue), 0, run.first_seq + i)
                    assert key not in self.bodies, "a seq for the second time"
                    self.bodies[key] = body
                    self.commit_position_of[key] = node.commit_position
            runs.append((run, queues, guest))
        elif what < 0.75 and runs:
            run, queues, guest = runs.pop(rng.randrange(len(runs)))
            if guest == self.guest:
                node.settle(run, queue=guest)
            for queue in queues:
                node.settle(run, queue=queue)
                for i in range(run.count):
                    self.settled_at[Key(str(queue), 0, run.first_seq + i)] = node.log.commit_position
        elif what < 0.8 and self.alive:
            key = rng.choice(sorted(self.alive - self.settled_at.keys()) or [None])
            if key is not None:
                node.log.settle_seqs(int(key.queue), key.number, key.number)
                self.settled_at[key] = node.log.commit_position
        elif what < 0.83:
            node.log.forget_queue(self.guest)
            self.guest += 1
        elif what < 0.9:
            node.log.commit()
        else:
            node.clock.now_ms += rng.choice((100, 1_000, 60_000))
            node.log.tick()
        self._work(node, rng.choice((0.0, 0.5, 1.0)))

    def _work(self, node, chance) -> None:
        """Let the threads work, one job of either at a time."""
        workers = [node.journal_worker, node.files_worker]
        while any(len(worker) for worker in workers) and self.rng.random() <= chance:
            busy = [worker for worker in workers if len(worker)]
            self.rng.choice(busy).step()

    def look(self) -> Verdict:
        """Recover, perhaps losing power meanwhile; judge what is there, which the next life begins with."""
        disk, rng = self.disk, self.rng
        for _ in range(rng.choice((0, 0, 1, 2))):
            disk.crash_at(disk.power.operations + rng.randrange(1, 12))
            try:
                Node(disk, QUEUES, largest=SEGMENT_OCTETS)
            except PowerLoss:
                disk = disk.crash(rng)
            disk.crash_at(0)
        self.disk = disk
        self._spoil_checkpoint()
        node = Node(disk, QUEUES, largest=SEGMENT_OCTETS)
        got = []
        for queue in QUEUES:
            seqs = node.live(queue)
            bodies = node.bodies(seqs, queue) if seqs else {}
            got += [(Key(str(queue), 0, seq), body) for seq, body in bodies.items()]
        before = self.alive
        sure = {key for key, commit_position in self.settled_at.items() if commit_position <= self.completed}
        may = {key: self.bodies[key] for key in before | self.commit_position_of.keys() if key not in sure}
        kept = before | {
            key for key, commit_position in self.commit_position_of.items() if commit_position <= self.completed
        }
        verdict = compare(may, kept - self.settled_at.keys(), got, reported=False)
        self.alive = {key for key, _ in got}
        for report in node.recovered.reports + node.unreadable:
            if not any(name in report for name in self.spoilt):
                verdict.count("corrupt", report)
        self._whole(verdict)
        # A seq that never was on disk may come again.
        for key in self.commit_position_of.keys() - kept - self.alive:
            del self.bodies[key]
        return verdict

    def _spoil_checkpoint(self) -> None:
        """Damage the newest checkpoint now and then, if there is another one: all is to be the same without it."""
        names = [name for name in self.disk.names() if checkpoint_commit_position(name) is not None]
        if len(names) < 2 or self.spoilt & set(names) or self.rng.random() < 0.7:
            return
        bits = 8 * len(self.disk.read_file(names[-1]))
        assert bits, "an empty checkpoint"
        self.spoilt.add(names[-1])
        self.disk.flip(names[-1], self.rng.randrange(bits))

    def _whole(self, verdict: Verdict) -> None:
        """Look whether batches that nobody was told of are there whole or not, and no more than the first of them."""
        there: dict[int, set[bool]] = {}
        for key, commit_position in self.commit_position_of.items():
            if commit_position > self.completed and key not in self.settled_at:
                there.setdefault(commit_position, set()).add(key in self.alive)
        for key, commit_position in self.settled_at.items():
            if commit_position > self.completed and self.commit_position_of.get(key, 0) <= self.completed:
                there.setdefault(commit_position, set()).add(key not in self.alive)
        for commit_position, seen in there.items():
            if len(seen) > 1 or (True in seen and commit_position > self.completed + 1):
                verdict.count("reordered", f"batch {commit_position} of {self.completed} completed: {seen}")


def losses(seed, worlds) -> Verdict:
    """Return the verdict on several lives of each world."""
    total = Verdict()
    for number in range(worlds):
        world = World(f"{seed} {number}")
        for life in range(LIVES):
            world.live()
            verdict = world.look()
            assert verdict.bad == {}, (seed, number, life, verdict)
            total.add(verdict)
    return total


@pytest.fixture(autouse=True)
def eager_compaction(monkeypatch):
    """Have small segments written anew, also those in which much is live."""
    monkeypatch.setattr(maintenance, "COMPACT_OCTETS", 1_000)
    monkeypatch.setattr(maintenance, "COMPACT_PARTS", 0.9)


def test_what_a_ticket_promised_survives_the_loss_of_power():
    assert losses(1, 150).bad == {}


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_a_hundred_thousand_losses_of_power():
    seed, began = random.Random().getrandbits(32), time.monotonic()
    total = losses(seed, 34_000)
    print(total.line("power loss, simulated", seed, began))
    assert total.bad == {}


class Equal:
    """Equals everything: what a crc is to a program that does not check it."""

    __hash__ = None

    def __eq__(self, other):
        return True


def no_sync(monkeypatch):
    monkeypatch.setattr(FaultyDisk, "sync", lambda self, file: None)


def no_folder_sync(monkeypatch):
    monkeypatch.setattr(FaultyDisk, "sync_folder", lambda self: None)


def no_crc(monkeypatch):
    monkeypatch.setattr(scan, "extend", lambda seed, octets: Equal())


def confirms_first(monkeypatch):
    write_next = Journal._write_next

    def write_and_confirm(log):
        write_next(log)
        if log._sealed:
            log.completed = log._sealed[-1].commit_position

    monkeypatch.setattr(Journal, "_write_next", write_and_confirm)


def one_checkpoint(monkeypatch):
    unlink = Maintenance.unlink

    def unlink_behind_the_newest(keeper):
        kept = keeper.checkpoints
        keeper.checkpoints = kept[:1] * 2
        unlink(keeper)
        keeper.checkpoints = kept

    monkeypatch.setattr(Maintenance, "unlink", unlink_behind_the_newest)


@pytest.mark.parametrize("mutant", [no_sync, no_folder_sync, no_crc, confirms_first, one_checkpoint])
def test_a_disk_or_a_program_that_cheats_is_caught(mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        losses(2, 2_000)
