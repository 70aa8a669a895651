"""A checkpoint is read as it was written, or not at all."""

from array import array

import pytest
from hypothesis import given, strategies as st

from pybroker.store.format import FormatError, VersionError
from pybroker.store.segments import checkpoint as checkpoints
from pybroker.store.segments.checkpoint import (
    Checkpoint,
    Listed,
    checkpoint_commit_position,
    checkpoint_name,
    newest,
    write_checkpoint,
)
from tests.store.faulty_disk import FaultyDisk
from tests.store.records import LOG_ID, rows_from

U64 = st.integers(0, (1 << 64) - 1)
PAIRS = st.lists(st.tuples(U64, U64), max_size=5).map(lambda pairs: array("Q", [seq for pair in pairs for seq in pair]))
ROWS = st.tuples(
    st.lists(st.tuples(U64, U64, U64, U64), max_size=5),
    st.lists(st.tuples(U64, U64, U64, U64, st.integers(1, (1 << 64) - 1)), max_size=5),
).map(lambda parts: rows_from([*parts[0], *parts[1]]))
SAMPLE = Checkpoint(
    LOG_ID,
    9,
    1_000,
    True,
    {1: {5: array("Q", [1, 7]), 6: array("Q", [2, 2, 5, 9])}, 3: {}},
    rows_from([(5, 8, 9, 2), (6, 20, 20, 1), (6, 21, 22, 1, 99)]),
    4,
    {1: Listed(1, 1, 5, 1, sealed=True, live={5: 3, 6: 1}), 3: Listed(3, 6, 9, 20, sealed=False, live={})},
)


@given(
    st.integers(0, (1 << 32) - 1),
    U64,
    U64,
    st.booleans(),
    st.dictionaries(U64, st.dictionaries(U64, PAIRS, max_size=3), max_size=3),
    ROWS,
    U64,
    st.lists(st.builds(Listed, U64, U64, U64, U64, st.booleans(), st.dictionaries(U64, U64, max_size=3)), max_size=3),
)
def test_a_checkpoint_is_read_as_it_was_written(
    log_id, commit_position, next_seq, clean, settled, returned, next_number, segments
):
    listed = {each.number: each for each in segments}
    checkpoint = Checkpoint(log_id, commit_position, next_seq, clean, settled, returned, next_number, listed)
    assert Checkpoint.decode(checkpoint.encode()) == checkpoint


def test_every_flipped_bit_is_found():
    octets = SAMPLE.encode()
    for bit in range(8 * len(octets)):
        flipped = bytearray(octets)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FormatError) as raised:
            Checkpoint.decode(bytes(flipped))
        assert raised.type is FormatError


def test_every_cut_is_found():
    octets = SAMPLE.encode()
    for end in range(len(octets)):
        with pytest.raises(FormatError):
            Checkpoint.decode(octets[:end])
    with pytest.raises(FormatError):
        Checkpoint.decode(octets + b"\0")


def test_a_newer_version_is_refused_and_not_left_out(monkeypatch):
    disk = FaultyDisk()
    monkeypatch.setattr(checkpoints, "VERSION", 3)
    write_checkpoint(disk, SAMPLE, [])
    monkeypatch.undo()
    with pytest.raises(VersionError) as raised:
        newest(disk)
    assert str(raised.value) == "the log has version 3, this program supports up to 2: start a newer one"


@given(U64)
def test_a_checkpoints_name_tells_its_ticket(commit_position):
    assert checkpoint_commit_position(checkpoint_name(commit_position)) == commit_position


@pytest.mark.parametrize("name", ["ckpt.", "ckpt.1", "ckpt.0000000000000001.new", "seg.0000000000000001"])
def test_other_names_are_no_checkpoints(name):
    assert checkpoint_commit_position(name) is None


def test_the_newest_comes_first():
    disk = FaultyDisk()
    for commit_position in (255, 256, 3):
        write_checkpoint(disk, Checkpoint(LOG_ID, commit_position), [255, 256])
    found, complaints = newest(disk)
    assert ([each.commit_position for each in found], complaints) == ([256, 255, 3], [])


def test_others_go_when_the_new_one_is_on_disk():
    disk = FaultyDisk()
    disk.write_file("seg.0000000000000001", b"")
    for commit_position in (1, 2, 3):
        write_checkpoint(disk, Checkpoint(LOG_ID, commit_position), [commit_position - 1])
    assert disk.names() == ["ckpt.0000000000000002", "ckpt.0000000000000003", "seg.0000000000000001"]


def test_a_damaged_one_is_left_out_and_told_of():
    disk = FaultyDisk()
    for commit_position in (1, 2):
        write_checkpoint(disk, Checkpoint(LOG_ID, commit_position), [1, 2])
    disk.flip("ckpt.0000000000000002", 100)
    found, complaints = newest(disk)
    assert [each.commit_position for each in found] == [1]
    assert complaints == ["checkpoint ckpt.0000000000000002 is ignored: the checkpoint is damaged"]


def test_one_under_the_name_of_another_is_left_out():
    disk = FaultyDisk()
    write_checkpoint(disk, Checkpoint(LOG_ID, 1), [])
    disk.rename("ckpt.0000000000000001", "ckpt.0000000000000009")
    assert newest(disk) == ([], ["checkpoint ckpt.0000000000000009 is ignored: it belongs to ticket 1"])


def test_one_that_cannot_be_read_is_left_out():
    disk = FaultyDisk()
    write_checkpoint(disk, Checkpoint(LOG_ID, 1), [])
    disk.fail_next("read_at", 5)
    found, complaints = newest(disk)
    assert found == []
    assert complaints[0].endswith("Input/output error")
