"""Sectors: a file is read as far as the disk can; a lost page is damage, a lost disk is an error."""

import errno

import pytest

from pybroker.store import sectors
from pybroker.store.disk import DiskError
from pybroker.store.sectors import PAGE_OCTETS, Sectors
from tests.store.faulty_disk import FaultyDisk


@pytest.fixture
def disk():
    disk = FaultyDisk()
    disk.write_file("a", b"x" * (3 * PAGE_OCTETS))
    return disk


def test_a_page_that_cannot_be_read_is_ones(disk):
    file = Sectors(disk, disk.open("a"))
    disk.fail_next("read_at", errno.EIO, 2)
    assert file.read(10, 2 * PAGE_OCTETS) == b"\xff" * (PAGE_OCTETS - 10) + b"x" * (PAGE_OCTETS + 10)


def test_an_error_that_passes_is_no_damage(disk):
    file = Sectors(disk, disk.open("a"))
    disk.fail_next("read_at", errno.EIO)
    assert file.read(10, 2 * PAGE_OCTETS) == b"x" * 2 * PAGE_OCTETS


def test_another_error_is_raised(disk):
    file = Sectors(disk, disk.open("a"))
    disk.fail_next("read_at", errno.ESTALE)
    with pytest.raises(DiskError):
        file.read(0, 10)


def test_a_disk_that_is_lost_is_no_damage(disk, monkeypatch):
    monkeypatch.setattr(sectors, "UNREADABLE_MAX", 2)
    file = Sectors(disk, disk.open("a"))
    disk.fail_next("read_at", errno.EIO, 9)
    with pytest.raises(DiskError):
        file.read(0, 3 * PAGE_OCTETS)
