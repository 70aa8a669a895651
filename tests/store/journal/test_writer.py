"""Batches reach their segment, and a segment has its name only when its head is on disk."""

import errno
import random

import pytest

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.journal.writer import PREPARED, Batch, Writer
from pybroker.store.segments.newest import NAME as NEWEST, Newest
from pybroker.store.segments.segment import SegmentFile
from tests.store.faulty_disk import FaultyDisk, PowerLoss
from tests.store.records import LOG_ID

FIRST, SECOND = fmt.segment_name(1), fmt.segment_name(2)
AT = fmt.HEADER_OCTETS


@pytest.fixture
def disk():
    return FaultyDisk()


def test_a_batch_makes_its_segment_and_is_on_disk(disk):
    writer = Writer(disk, LOG_ID, Newest(disk))
    writer.write(Batch(1, 10_000, AT, b"first"))
    writer.write(Batch(1, 0, AT + 5, b"second"))
    for seed in range(20):
        crashed = disk.crash(random.Random(seed))
        octets = crashed.read_file(FIRST)
        assert (len(octets), octets[AT : AT + 12]) == (10_000, b"firstsecond\0")
        assert SegmentFile(crashed, 1, LOG_ID).header == fmt.SegmentHeader(LOG_ID, 1, 10_000, 0)


def test_the_next_segment_is_another_file(disk):
    writer = Writer(disk, LOG_ID, Newest(disk))
    writer.write(Batch(1, 10_000, AT, b"first"))
    writer.write(Batch(2, 20_000, AT, b"second"))
    assert disk.names() == [NEWEST, FIRST, SECOND]
    assert Newest(disk).read() == 2
    assert disk.read_file(SECOND)[AT : AT + 6] == b"second"
    writer.close()
    writer.close()


def test_a_prepared_file_that_is_large_enough_is_taken(disk):
    disk.close(disk.create(PREPARED, 20_000))
    Writer(disk, LOG_ID, Newest(disk)).write(Batch(1, 10_000, AT, b"first"))
    assert disk.names() == [NEWEST, FIRST]
    assert SegmentFile(disk, 1, LOG_ID).header.size == len(disk.read_file(FIRST)) == 20_000


def test_a_prepared_file_that_is_too_small_makes_room(disk):
    disk.close(disk.create(PREPARED, 5_000))
    Writer(disk, LOG_ID, Newest(disk)).write(Batch(1, 10_000, AT, b"first"))
    assert disk.names() == [NEWEST, FIRST]
    assert len(disk.read_file(FIRST)) == 10_000


def test_a_prepared_file_that_goes_meanwhile_is_none(disk, monkeypatch):
    # a full disk has the other thread remove it
    names = disk.names
    disk.close(disk.create(PREPARED, 20_000))

    def seen_and_gone():
        there = names()
        if PREPARED in there:
            disk.unlink(PREPARED)
        return there

    monkeypatch.setattr(disk, "names", seen_and_gone)
    Writer(disk, LOG_ID, Newest(disk)).write(Batch(1, 10_000, AT, b"first"))
    assert disk.names() == [NEWEST, FIRST]


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("operation", ["create", "write_at", "sync", "rename", "sync_folder"])
def test_a_full_disk_lets_the_same_batch_be_tried_again(disk, prepared, operation):
    if prepared:
        disk.close(disk.create(PREPARED, 20_000))
    writer = Writer(disk, LOG_ID, Newest(disk))
    batch = Batch(1, 10_000, AT, b"first")
    if not (prepared and operation == "create"):
        disk.fail_next(operation, errno.ENOSPC, times=3)
        for _ in range(3):
            with pytest.raises(DiskError) as raised:
                writer.write(batch)
            assert raised.value.full
    writer.write(batch)
    assert len(disk._open) == 1  # that of the segment
    for seed in range(20):
        crashed = disk.crash(random.Random(seed))
        assert crashed.read_file(FIRST)[AT : AT + 5] == b"first"
        assert SegmentFile(crashed, 1, LOG_ID).complaint == ""


def test_a_file_that_could_not_be_made_whole_leaves_no_segment(disk):
    disk.power.capacity = 5_000
    with pytest.raises(DiskError) as raised:
        Writer(disk, LOG_ID, Newest(disk)).write(Batch(1, 10_000, AT, b"first"))
    assert raised.value.full
    assert [name for name in disk.names() if fmt.segment_number(name) is not None] == []


def test_a_segment_that_has_its_name_has_its_head():
    for prepared in (False, True):
        operation = 0
        while True:
            operation += 1
            disk = FaultyDisk()
            if prepared:
                disk.close(disk.create(PREPARED, 20_000))
                disk.sync_folder()
            disk.crash_at(disk.power.operations + operation)
            try:
                Writer(disk, LOG_ID, Newest(disk)).write(Batch(1, 10_000, AT, b"first"))
            except PowerLoss:
                for seed in range(20):
                    crashed = disk.crash(random.Random(seed))
                    if FIRST in crashed.names():
                        assert SegmentFile(crashed, 1, LOG_ID).complaint == ""
                continue
            break
        assert operation > 5
