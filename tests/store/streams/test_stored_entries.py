"""Open segments: read at once, also when they are removed, and closed when nobody has them."""

import pytest

from pybroker.store.disk import Disk, DiskError
from pybroker.store.streams.format import ENTRIES, Front, segment_name
from pybroker.store.streams.stored_entries import OpenSegment, StoredEntries
from tests.store.faulty_disk import FaultyDisk


@pytest.fixture(params=["real", "faulty"])
def disk(request, tmp_path):
    disk = Disk(tmp_path) if request.param == "real" else FaultyDisk()
    disk.write_file(segment_name(5), b"0123456789")
    return disk


def read(segment, position, octets):
    buffer = memoryview(bytearray(octets))
    return bytes(buffer[: segment.read_now(position, buffer)])


def test_it_is_read_where_it_is_asked_for(disk):
    segment = OpenSegment(disk, 5)
    assert (segment.first_offset, read(segment, 2, 3), read(segment, 8, 3)) == (5, b"234", b"89")


def test_one_that_is_removed_can_be_read_and_sent_on(disk, tmp_path):
    segment = OpenSegment(disk, 5)
    disk.unlink(segment_name(5))
    assert read(segment, 0, 3) == b"012"
    with (tmp_path / "socket").open("w+b", buffering=0) as socket:
        assert segment.send_now(2, 3, socket.fileno()) == 3
        assert (tmp_path / "socket").read_bytes() == b"234"


def test_it_is_closed_when_nobody_has_it(disk):
    segment = OpenSegment(disk, 5)
    file = segment.file
    disk.size(file)
    del segment
    with pytest.raises((DiskError, KeyError)):
        disk.close(file)


def test_one_that_is_not_there_cannot_be_opened(disk):
    with pytest.raises(DiskError):
        OpenSegment(disk, 6)


def test_a_chunk_knows_all_but_its_data():
    bloom = bytes(range(16))
    chunk = StoredEntries.found(Front(1_080, ENTRIES, 1_000, 7, False, 0, 40, 20, 9, 10, bloom), 5, 64)
    assert (chunk.first_seq, chunk.count, chunk.entries, chunk.octets, chunk.crc) == (40, 20, 10, 1_000, 7)
    assert (chunk.timestamp_ms, chunk.arrived_ms, chunk.bloom) == (9, 9, bloom)
    assert (chunk.segment, chunk.position, chunk.blocks) == (5, 64, [])
