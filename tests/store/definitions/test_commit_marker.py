"""The last transaction that returned is known after a kill; a marker that cannot be read says nothing."""

from pybroker.store.definitions.commit_marker import NAME, CommitMarker, read_commit_marker
from pybroker.store.disk import Disk, DiskError


def test_the_last_number_counts(tmp_path):
    disk = Disk(tmp_path)
    assert 0 == read_commit_marker(disk)
    marker = CommitMarker(disk)
    marker.write(7)
    marker.write(123)
    assert 123 == read_commit_marker(disk)
    marker.close()
    again = CommitMarker(disk)
    again.write(124)
    again.close()
    assert 124 == read_commit_marker(disk)


def test_every_flipped_bit_leaves_no_proof(tmp_path):
    disk = Disk(tmp_path)
    marker = CommitMarker(disk)
    marker.write(123)
    marker.close()
    octets = (tmp_path / NAME).read_bytes()
    for bit in range((len(octets) - 1) * 8):
        flipped = bytearray(octets)
        flipped[bit // 8] ^= 1 << bit % 8
        (tmp_path / NAME).write_bytes(flipped)
        assert read_commit_marker(disk) in {0, 123}


def test_a_full_disk_is_no_fault(tmp_path):
    class FullDisk(Disk):
        def create(self, name, octets=0):
            raise DiskError("create", name, 28)

    marker = CommitMarker(FullDisk(tmp_path))
    marker.write(1)
    marker.close()
    assert 0 == read_commit_marker(Disk(tmp_path))


def test_a_proof_that_cannot_be_read_is_none(tmp_path):
    class Unreadable(Disk):
        def read_file(self, name):
            raise DiskError("read", name, 5)

    (tmp_path / NAME).write_bytes(b"x")
    assert 0 == read_commit_marker(Unreadable(tmp_path))
