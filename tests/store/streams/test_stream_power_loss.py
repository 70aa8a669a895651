"""The power goes at any operation of the disk, and any operation fails.

All that `done` promised is there, contiguous and in order, nothing is twice, and nothing is reported, since nothing
is damaged.
"""

import errno
import random

import pytest

from pybroker.store.disk import DiskError
from tests.store.faulty_disk import FaultyDisk, PowerLoss
from tests.store.streams import lives
from tests.store.streams.lives import Life, chunks, contents, expected, timestamp

# Of what is done so much is a write that goes straight into the files.
STRAIGHT = 0.3
SEGMENT_OCTETS = (1_500, 1_500, 20_000)


class World:
    """The promises of several lives."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.disk = FaultyDisk()
        self.confirmed = 0  # offset behind the last message that was
        self.sent = 0  # and behind the last one that was given
        self.floor = 0  # as it was confirmed
        self.floor_max = 0  # as it was asked for
        self.deleted = False
        self.marked = 0  # up to this seq the log has committed straight writes
        self.straight = []  # the chunks of one that is on disk and not committed
        self.writes = 0
        self.refused = 0

    def live(self):
        """Do a few things until the power goes."""
        rng = self.rng
        self.disk.crash_at(self.disk.power.operations + rng.randrange(1, 80))
        try:
            life = self.start()
            for _ in range(rng.randrange(5, 25)):
                self.step(life)
        except PowerLoss:
            pass
        self.disk = self.disk.crash(rng)

    def start(self):
        """Start, and judge what is there."""
        life = Life(self.disk, committed_seq=self.marked)
        self.straight = []
        log = life.log
        assert (log.reports, self.confirmed <= log.next_offset <= self.sent) == ([], True)
        assert self.floor <= log.first_offset <= self.floor_max
        life.check()
        assert life.damages == []
        # Known to a reader: no later start may take it back.
        self.confirmed, self.floor = log.next_offset, log.first_offset
        self.sent = self.confirmed
        return life

    def step(self, life):
        """Do something, with readers at work at any moment."""
        rng, log = self.rng, life.log
        reads = []
        for _ in range(rng.choice((0, 1, 2))):
            at = rng.randrange(log.next_offset + 1)
            end = log.next_offset
            log.read(at, rng.choice((100, 1_000, 10_000)), lambda found, at=at, end=end: reads.append((at, end, found)))
            if rng.random() < 0.5:
                self.work(life)
        what = rng.random()
        if what < 0.6 and self.straight:
            self.commit(log)
        elif what < STRAIGHT:
            self.write_straight(log)
            if rng.random() < 0.3:
                self.retain(life)
        elif what < 0.6:
            counts = [rng.randrange(1, 6) for _ in range(rng.choice((1, 2, 6, 9)))]
            given = chunks(log.next_offset, *counts)
            self.sent = max(self.sent, given[-1].next_offset)
            log.append(given, rng.choice(SEGMENT_OCTETS), self.appended(log, given[-1].next_offset))
            if rng.random() < 0.3:
                # While it is written: the newest segment must not go.
                self.retain(life)
        elif what < 0.8:
            self.retain(life)
        elif what < 0.9:
            floor = rng.randrange(log.next_offset + 1)
            self.floor_max = max(self.floor_max, floor)
            log.truncate(floor, self.truncated(log, floor))
        else:
            answers = []
            log.find_timestamp(timestamp(rng.randrange(log.next_offset + 1)), answers.append)
        self.work(life)
        life.run()
        for at, end, found in reads:
            self.judge(log, at, end, found)

    def write_straight(self, log):
        rng = self.rng
        given = chunks(log.next_offset, *[rng.randrange(1, 6) for _ in range(rng.choice((1, 2, 6)))])
        self.sent = max(self.sent, given[-1].next_offset)

        def done(error):
            if error is None:
                self.straight = given
            else:
                self.refused += 1

        assert log.write_straight(given, rng.choice(SEGMENT_OCTETS), done, synced=True)

    def commit(self, log):
        """Have the log commit what was written; the files may learn of it or not."""
        self.marked = self.straight[-1].last_seq
        self.confirmed, self.straight = self.straight[-1].next_offset, []
        log.commit()
        self.writes += 1

    def retain(self, life):
        log, rng = life.log, self.rng
        self.floor_max = log.next_offset
        oldest = timestamp(rng.randrange(log.next_offset + 1)) + rng.choice((0, 0, 100))
        log.retain(*rng.choice(((4_000, None), (None, oldest), (2_000, oldest))), self.retained(log))

    def work(self, life):
        """Let the threads work, one job of either at a time."""
        while (workers := [each for each in (life.writer, life.reader) if len(each)]) and self.rng.random() < 0.8:
            self.rng.choice(workers).step()

    def appended(self, log, stop):
        before = log.next_offset

        def done(error):
            if error is None:
                assert log.next_offset == stop
                self.confirmed = stop
            else:
                self.refused += 1
                assert log.next_offset == before

        return done

    def retained(self, log):
        def done(count):
            if isinstance(count, int) and count:
                self.floor = max(self.floor, log.first_offset)

        return done

    def truncated(self, log, floor):
        def done(error):
            if error is None:
                assert log.first_offset >= floor
                self.floor = max(self.floor, floor)

        return done

    def judge(self, log, at, end, found):
        if isinstance(found, BaseException):
            assert isinstance(found, DiskError)
            return
        messages = contents(found, at)
        if messages:
            first, stop = min(messages), max(messages) + 1
            assert first >= at
            assert first == lives.kept(at) or first <= lives.kept(log.first_offset)
            assert messages == expected(first, stop)
        else:
            assert lives.kept(max(at, log.first_offset)) >= end


def test_offsets_that_were_lost_before_stay_lost(monkeypatch):
    monkeypatch.setattr(lives, "GAP_EVERY", 7)
    monkeypatch.setattr(lives, "LARGE_FROM", 0)
    losses(60)


def losses(worlds):
    """Let several worlds live."""
    for seed in range(worlds):
        world = World(seed)
        for _ in range(4):
            world.live()
        world.start()


def test_what_was_promised_survives_the_loss_of_power():
    losses(80)


def test_what_was_promised_survives_failures_and_a_loss_of_power_behind_them():
    refused = 0
    for seed in range(120):
        world = World(seed)
        rng = random.Random(seed)
        for _ in range(4):
            for at in rng.sample(range(1, 80), 4):
                world.disk.fail_at(world.disk.power.operations + at, rng.choice((errno.EIO, errno.ENOSPC)))
            try:
                world.live()
            except DiskError:  # of a start
                world.disk = world.disk.crash(rng)
            world.disk.power.failures.clear()
        world.start()
        refused += world.refused
    assert refused > 20


def no_sync(monkeypatch):
    monkeypatch.setattr(FaultyDisk, "sync", lambda self, file: None)


def no_folder_sync(monkeypatch):
    monkeypatch.setattr(FaultyDisk, "sync_folder", lambda self: None)


def no_crc(monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.cursor.crc32", lambda data: Equal())


class Equal:
    __hash__ = None

    def __eq__(self, other):
        return True


@pytest.mark.parametrize("mutant", [no_sync, no_folder_sync, no_crc])
def test_a_disk_or_a_program_that_cheats_is_caught(mutant, monkeypatch):
    mutant(monkeypatch)
    monkeypatch.setattr(lives, "LARGE_FROM", 0)
    monkeypatch.setattr(f"{__name__}.STRAIGHT", 0)
    with pytest.raises(Exception):  # noqa: B017 - whatever shows it
        losses(400)
