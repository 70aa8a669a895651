"""A bit flips anywhere in a small stream: it starts, what is missing is reported, and everything else is as it was."""

import random

import pytest

from tests.store.faulty_disk import FaultyDisk, File
from tests.store.streams.lives import Life, expected

MESSAGES = 48


def copy(disk):
    """Return a disk with the same files."""
    made = FaultyDisk()
    for name, file in disk.files.items():
        made.files[name] = made._durable[name] = File(bytes(file.seen))
    for name, folder in disk.folders.items():
        made.folders[name] = copy(folder)
        made.folders[name].power = made.power
    return made


@pytest.fixture(scope="module")
def written():
    """Return a disk with a stream of three segments, the newest of two writes."""
    life = Life(FaultyDisk())
    life.fill(MESSAGES, 2, segment_octets=3_000)
    assert life.log.segment_count == 3, life.log.octets
    assert life.log.next_offset == MESSAGES
    return life.disk


def flipped(written, name, at, rng):
    """Return a life after a bit of this octet flipped."""
    disk = copy(written)
    life = Life.__new__(Life)
    life.disk = disk
    life.folder.flip(name, 8 * at + rng.randrange(8))
    return Life(disk)


def names(written, suffix):
    life = Life.__new__(Life)
    life.disk = written
    return [(name, life.folder.size_of(name)) for name in life.folder.names() if name.endswith(suffix)]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_bit_of_a_segment(written, number):
    rng = random.Random(number)
    name, size = names(written, ".log")[number]
    for at in range(0, size, 3):
        life = flipped(written, name, at, rng)
        log = life.log
        assert (log.first_offset, log.next_offset) == (0, MESSAGES)
        found = life.read()
        reports = log.reports + life.damages
        everything = expected(0, MESSAGES)
        assert found.items() <= everything.items()
        missing = sorted(everything.keys() - found.keys())
        assert len(missing) <= 2, (at, missing)
        assert bool(missing) <= bool(reports), (at, missing)
        for offset in missing:
            assert any(f"messages {offset}" in text or f"to {offset} are" in text for text in reports)
        # The stream goes on.
        assert life.append(1) is None
        assert life.read(MESSAGES) == expected(MESSAGES, MESSAGES + 1)
        assert Life(life.disk).log.next_offset == MESSAGES + 1


@pytest.mark.parametrize("suffix", [".idx", "meta"])
def test_a_bit_of_another_file(written, suffix):
    rng = random.Random(suffix)
    for name, size in names(written, suffix):
        for at in range(size):
            life = flipped(written, name, at, rng)
            assert life.read() == expected(0, MESSAGES)
            assert (len(life.log.reports), life.damages) == (suffix == "meta", [])
            assert life.log.last_seq == 1_000 + MESSAGES - 1
            assert life.append(1) is None
            again = Life(life.disk)
            assert (again.log.reports, again.log.next_offset) == ([], MESSAGES + 1)


@pytest.mark.parametrize("octets", [0, 63, 64, 100, 700])
def test_a_segment_that_lost_its_end(written, octets):
    for name, _ in names(written, ".log"):
        disk = copy(written)
        life = Life.__new__(Life)
        life.disk = disk
        file = life.folder.open(name, write=True)
        life.folder.truncate(file, octets)
        life.folder.close(file)
        life = Life(disk)
        assert life.log.next_offset == MESSAGES
        assert life.append(3) is None
        found = life.read()
        missing = expected(0, MESSAGES + 3).keys() - found.keys()
        assert missing
        assert life.log.reports + life.damages != []
        assert found.items() <= expected(0, MESSAGES + 3).items()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_segment_that_is_missing(written, number):
    disk = copy(written)
    life = Life.__new__(Life)
    life.disk = disk
    name, _ = names(written, ".log")[number]
    life.folder.unlink(name)
    life = Life(disk)
    found = life.read()
    assert found
    assert found.items() <= expected(0, MESSAGES).items()
    assert life.append(3) is None
