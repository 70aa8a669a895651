"""The number of the newest segment is there whole, or not at all."""

from pybroker.store.segments.newest import NAME, Newest
from tests.store.faulty_disk import FaultyDisk


def test_it_is_read_as_it_was_written():
    disk = FaultyDisk()
    newest = Newest(disk)
    assert newest.read() is None
    for number in (0, 1, 0xFFFF_FFFF_FFFF_FFFF):
        newest.write(number)
        assert Newest(disk).read() == number


def test_every_flipped_bit_is_found():
    disk = FaultyDisk()
    Newest(disk).write(5)
    for bit in range(8 * (16 + 1 + 8)):
        disk.flip(NAME, bit)
        assert Newest(disk).read() in {None, 5}, bit
        disk.flip(NAME, bit)
