"""Test 4, in the process: a bit flips, a file is cut or blanked between two lives of a log.

The next life begins all the same. Each missing message was then reported, or lay in the last batch of a log whose end
nobody had proved yet; each one found is as it was written; and each one published from then on is kept.
"""

import random
import time

import pytest

from pybroker.store import format as fmt
from pybroker.store.segments import scan
from tests.checker import Key, Verdict, compare
from tests.searches import share
from tests.store.faulty_disk import FaultyDisk, File
from tests.store.journals import Node

QUEUES = (1, 2)
SEGMENT_OCTETS = 6_000
SECTOR = 512


class Written:
    """A log that has ended: its files, what lives in it, and what its last batch did if nobody proved it."""

    def __init__(self, end: str) -> None:
        self.disk = FaultyDisk()
        self.rng = random.Random(7)
        self.node = Node(self.disk, largest=SEGMENT_OCTETS)
        self.bodies: dict[Key, bytes] = {}
        self.live: set[Key] = set()
        self.doubtful: set[Key] = set()
        runs = []
        for turn in range(60):
            runs.append(self._publish())
            if turn % 3 == 0:
                self._settle(*runs.pop(self.rng.randrange(len(runs))))
            self.node.commit()
            if turn % 20 == 19:
                self.node.tick(60_000)
        if end == "clean":
            self.node.close([(1, 1, 3, 1)])
        elif end == "proven":
            self.node.tick()
            self.node.tick()
        elif end == "killed":
            before = set(self.live)
            self._settle(*runs.pop())
            self._publish()
            self.node.commit()
            self.doubtful = before ^ self.live
        self.files = {name: bytes(file.seen) for name, file in self.disk.files.items()}

    def _publish(self):
        queues = self.rng.choice(((1,), (2,), (1, 2)))
        bodies = [self.rng.randbytes(self.rng.choice((3, 3, 40, 500))) for _ in range(self.rng.randrange(1, 5))]
        run = self.node.publish(bodies, queues)
        for queue in queues:
            for i, body in enumerate(bodies):
                self.bodies[Key(str(queue), 0, run.first_seq + i)] = body
                self.live.add(Key(str(queue), 0, run.first_seq + i))
        return run, queues

    def _settle(self, run, queues):
        for queue in queues:
            self.node.settle(run, queue=queue)
            self.live -= {Key(str(queue), 0, run.first_seq + i) for i in range(run.count)}

    def copy(self, **changed: bytes) -> FaultyDisk:
        """Return the disk, with other octets in a file."""
        disk = FaultyDisk()
        for name, octets in (self.files | changed).items():
            disk.files[name] = disk._durable[name] = File(octets)
        return disk


@pytest.fixture(scope="module", params=["clean", "proven", "killed"])
def written(request):
    return Written(request.param)


def damage(files, rng):
    """Return what was done to which file, and the file's octets now."""
    name = rng.choice(sorted(files))
    octets = bytearray(files[name])
    used = len(octets.rstrip(b"\0")) or 1
    at = rng.randrange(used) if rng.random() < 0.95 else rng.randrange(len(octets))
    how = rng.choice(("flip", "flip", "flip", "flip", "cut", "blank", "other"))
    if how == "flip":
        octets[at] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del octets[at:]
    else:
        part = octets[at : at + rng.randrange(1, SECTOR)]
        octets[at : at + len(part)] = bytes(len(part)) if how == "blank" else rng.randbytes(len(part))
    return f"{how} at {at} of {used} in {name}", {name: bytes(octets)}


def found(node):
    """Return all that a life of the log has, as it can be read back, and whether it said that something is wrong."""
    got = []
    for queue in QUEUES:
        seqs = node.live(queue)
        bodies = node.bodies(seqs, queue)
        got += [(Key(str(queue), 0, seq), body) for seq, body in bodies.items()]
        if len(bodies) < len(seqs):
            assert node.unreadable
    return got, bool(node.recovered.reports or node.unreadable)


def judge(written, done, disk):
    """Live on a damaged disk, publish there, live once more; return the verdict and whether damage was reported."""
    node = Node(disk, largest=SEGMENT_OCTETS)
    got, reported = found(node)
    gone = written.bodies.keys() - written.live
    # A settled message may come again only if that is reported, or in the last batch.
    may = {key: body for key, body in written.bodies.items() if reported or key not in gone - written.doubtful}
    verdict = compare(may, written.live - written.doubtful, got, reported=reported)
    doubtful = {key for key, _ in got} & written.doubtful
    whole = doubtful in (written.doubtful & written.live, written.doubtful - written.live)
    assert verdict.bad == {}, (done, verdict, node.recovered.reports)
    assert whole or reported, (done, "half a batch")
    more = node.publish([b"after"] * 30, QUEUES)
    node.commit()
    assert node.completed, done
    again = Node(disk, largest=SEGMENT_OCTETS)
    then, _ = found(again)
    fresh = [(Key(str(queue), 0, more.first_seq + i), b"after") for queue in QUEUES for i in range(30)]
    assert sorted(then) == sorted(got + fresh), (done, "the second life has something else")
    return verdict, reported


def test_without_damage_all_is_there_and_nothing_is_reported(written):
    verdict, reported = judge(written, "nothing", written.copy())
    assert (verdict.bad, reported, verdict.confirmed) == ({}, False, len(written.live - written.doubtful))


def flips(written, number, seed):
    total, told = Verdict(), 0
    for case in range(number):
        done, changed = damage(written.files, random.Random(f"{seed} {case}"))
        try:
            verdict, reported = judge(written, f"{seed} {case}: {done}", written.copy(**changed))
        except Exception as error:
            error.add_note(f"{seed} {case}: {done}")
            raise
        total.add(verdict)
        told += reported
    return total, told


def test_damage_is_reported_or_harmless(written):
    total, told = flips(written, 40, 1)
    assert total.bad == {}
    assert told


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_twenty_thousand_times(written):
    seed, began = random.SystemRandom().randrange(1 << 32), time.monotonic()
    total, told = flips(written, 7_000, seed)
    assert total.bad == {}
    print(total.line("flips in the process", seed, began, reported=told))


class Equal:
    """Equals everything: what a crc is to a program that does not check it."""

    __hash__ = None

    def __eq__(self, other):
        return True


def test_a_scan_that_checks_no_crc_would_be_caught(written, monkeypatch):
    monkeypatch.setattr(scan, "extend", lambda seed, octets: Equal())
    with pytest.raises(AssertionError):
        flips(written, 100, 1)


def test_a_seq_whose_record_is_damaged_is_not_taken_again():
    disk = FaultyDisk()
    node = Node(disk)
    node.publish([b"kept"])
    gone = node.publish([b"damaged" * 10])
    node.commit()
    node.settle(gone)
    node.commit()
    for _ in range(2):
        node.tick()
    name = next(name for name in disk.names() if name.startswith("seg."))
    disk.damage(name, bytes(disk.files[name].seen).index(b"damaged"), b"D")
    node = Node(disk)
    assert node.recovered.reports
    fresh = node.publish([b"fresh"])
    node.commit()
    # Else what settled the damaged one would settle this one too.
    assert Node(disk).live() == [1, fresh.first_seq]


@pytest.mark.search
@pytest.mark.parametrize("end", ["clean", "proven"])
def test_a_segment_that_lost_its_end_between_two_records_is_reported(end, seed):
    written, rng = Written(end), random.Random(seed)
    for name, octets in written.files.items():
        if name.startswith("seg."):
            records = list(scan.scan(octets, 64, fmt.seed(written.node.log.log_id, int(name[4:], 16))))
            for record in rng.sample(records, share(-(-len(records) // 4), len(records))):
                done = f"{name} cut at {record.offset}"
                _, reported = judge(written, done, written.copy(**{name: octets[: record.offset]}))
                assert reported or record.type in {fmt.PROVEN, fmt.FOOTER}, done
