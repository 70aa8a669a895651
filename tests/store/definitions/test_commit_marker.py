"""The last transaction that returned is known after a kill; a proof that cannot be read proves nothing."""

from pybroker.store.definitions.commit_marker import NAME, CommitMarker, read_proof
from pybroker.store.disk import Disk, DiskError


def test_the_last_number_counts(tmp_path):
    disk = Disk(tmp_path)
    assert 0 == read_proof(disk)
    proof = CommitMarker(disk)
    proof.write(7)
    proof.write(123)
    assert 123 == read_proof(disk)
    proof.close()
    again = CommitMarker(disk)
    again.write(124)
    again.close()
    assert 124 == read_proof(disk)


def test_every_flipped_bit_leaves_no_proof(tmp_path):
    disk = Disk(tmp_path)
    proof = CommitMarker(disk)
    proof.write(123)
    proof.close()
    octets = (tmp_path / NAME).read_bytes()
    for bit in range((len(octets) - 1) * 8):
        flipped = bytearray(octets)
        flipped[bit // 8] ^= 1 << bit % 8
        (tmp_path / NAME).write_bytes(flipped)
        assert read_proof(disk) in {0, 123}


def test_a_full_disk_is_no_fault(tmp_path):
    class FullDisk(Disk):
        def create(self, name, octets=0):
            raise DiskError("create", name, 28)

    proof = CommitMarker(FullDisk(tmp_path))
    proof.write(1)
    proof.close()
    assert 0 == read_proof(Disk(tmp_path))


def test_a_proof_that_cannot_be_read_is_none(tmp_path):
    class Unreadable(Disk):
        def read_file(self, name):
            raise DiskError("read", name, 5)

    (tmp_path / NAME).write_bytes(b"x")
    assert 0 == read_proof(Unreadable(tmp_path))
