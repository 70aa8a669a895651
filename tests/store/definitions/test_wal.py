"""Records behind a flipped bit of a WAL, whichever it is, can be read; those of an earlier run stay unread."""

import random

import pytest

from pybroker.store.definitions.row_file import Batch, RowFile, State, checked
from pybroker.store.definitions.wal import PAGE_OCTETS, mended
from tests.store.definitions_folder import changed_row

CHANGES = 12
FRAME_OCTETS = 24 + PAGE_OCTETS


@pytest.fixture
def file(tmp_path):
    """A database whose changes are all in its WAL."""
    file = RowFile.create(tmp_path / "d.sqlite")
    for number in range(1, CHANGES + 1):
        kind, key, value = changed_row(number)
        file.apply(Batch({(kind, key): value}, number))
    yield file
    file.close()


def wal_of(file):
    return file.path.with_name("d.sqlite-wal").read_bytes()


def ids(file, octets, folder):
    """Return the ids of the queues that SQLite finds with this WAL."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    (folder / "d.sqlite").write_bytes(file.path.read_bytes())
    (folder / "d.sqlite-wal").write_bytes(octets)
    read = RowFile(folder / "d.sqlite", State())
    found = [checked(*each) for each in read.rows()]
    read.close()
    return sorted(row.value["id"] for row in found if row is not None)


def test_an_intact_one_says_the_same(file, tmp_path):
    assert list(range(1, CHANGES + 1)) == ids(file, mended(wal_of(file)), tmp_path / "other")


def test_behind_a_flipped_bit_everything_is_read_again(file, tmp_path):
    octets = wal_of(file)
    rng = random.Random(6)
    # The last page of each is the only place where its newest row stands; all but those can be spared.
    heads = [32 + FRAME_OCTETS * frame + at for frame in range(len(octets) // FRAME_OCTETS) for at in (0, 9, 17)]
    for at in [*range(32), *rng.sample(heads, 20)]:
        flipped = octets[:at] + bytes([octets[at] ^ 1 << rng.randrange(8)]) + octets[at + 1 :]
        assert len(ids(file, mended(flipped), tmp_path / "other")) >= CHANGES - 1, at


def test_without_mending_it_would_be_lost(file, tmp_path):
    octets = wal_of(file)
    flipped = octets[:40] + bytes([octets[40] ^ 1]) + octets[41:]
    assert [] == ids(file, flipped, tmp_path / "other")


def test_frames_of_an_earlier_run_are_left_alone(file, tmp_path):
    before = wal_of(file)
    file._connection.execute("PRAGMA wal_checkpoint(RESTART)")
    file.apply(Batch({changed_row(99)[:2]: {"id": 99}}, 99))
    octets = wal_of(file)
    assert len(before) == len(octets)
    assert len(mended(octets)) < len(octets)
    assert [*range(1, CHANGES + 1), 99] == ids(file, mended(octets), tmp_path / "other")


def test_a_log_of_which_only_the_header_was_written_has_nothing(file):
    octets = wal_of(file)
    assert b"" == mended(b"")
    assert b"" == mended(octets[:32])
    assert b"" == mended(octets[:16] + bytes(8) + octets[24:])
