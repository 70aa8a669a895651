"""The disk that crashes: what it keeps, loses or tears of what was not synced, and how it fails on demand."""

import errno
import random
from itertools import pairwise

import pytest

from pybroker.store.disk import DiskError
from tests.store.faulty_disk import PAGE, FaultyDisk, PowerLoss


def seeds(count):
    return [random.Random(seed) for seed in range(count)]


def found(disk, count=64):
    """Return what all crashes leave, each as the octets of the files by name."""
    return [{name: crashed.read_file(name) for name in crashed.names()} for crashed in map(disk.crash, seeds(count))]


def test_a_crash_keeps_what_was_synced():
    disk = FaultyDisk()
    file = disk.create("a", 3 * PAGE)
    disk.write_at(file, 100, b"x" * PAGE)
    disk.sync(file)
    disk.sync_folder()
    expected = bytes(100) + b"x" * PAGE + bytes(2 * PAGE - 100)
    assert all(crashed == {"a": expected} for crashed in found(disk))


def test_a_crash_keeps_loses_or_tears_what_was_not():
    disk = FaultyDisk()
    file = disk.create("a", 2 * PAGE)
    disk.sync_folder()
    disk.write_at(file, 0, b"x" * 2 * PAGE)
    left = {crashed["a"] for crashed in found(disk, 300)}
    old, new = bytes(PAGE), b"x" * PAGE
    assert {old + old, old + new, new + old, new + new} <= left
    assert any(page not in (old, new) for crashed in left for page in (crashed[:PAGE], crashed[PAGE:]))


def test_writes_reach_the_disk_in_any_order():
    disk = FaultyDisk()
    file = disk.create("a", 2)
    disk.sync_folder()
    disk.write_at(file, 0, b"x")
    disk.write_at(file, 1, b"y")
    assert {crashed["a"] for crashed in found(disk, 300)} == {b"\0\0", b"x\0", b"\0y", b"xy"}


def test_a_name_is_kept_when_the_folder_was_synced():
    disk = FaultyDisk()
    file = disk.create("a")
    disk.write_at(file, 0, b"abc")
    disk.sync(file)
    assert {tuple(crashed.items()) for crashed in found(disk)} == {(), (("a", b"abc"),)}
    disk.sync_folder()
    assert all(crashed == {"a": b"abc"} for crashed in found(disk))


def test_unlinks_come_back_in_any_order():
    disk = FaultyDisk()
    disk.write_file("a", b"")
    disk.write_file("b", b"")
    disk.unlink("a")
    disk.unlink("b")
    assert {tuple(crashed) for crashed in found(disk)} == {(), ("a",), ("b",), ("a", "b")}
    disk.sync_folder()
    assert all(crashed == {} for crashed in found(disk))


def test_write_file_leaves_the_old_or_the_new():
    sizes = [0, 3 * PAGE + 5, 40]
    for old, new in pairwise([b"x" * sizes[0], b"y" * sizes[1], b"z" * sizes[2]]):
        operations = 0
        left = set()
        while True:
            disk = FaultyDisk()
            disk.write_file("a", old)
            operations += 1
            disk.crash_at(disk.power.operations + operations)
            try:
                disk.write_file("a", new)
            except PowerLoss:
                left |= {crashed["a"] for crashed in found(disk)}
                continue
            assert all(crashed["a"] == new for crashed in found(disk))
            break
        assert left == {old, new}
        assert operations == 6  # create, write, sync, rename, sync the folder


def test_a_dead_disk_stays_dead():
    disk = FaultyDisk()
    disk.crash_at(1)
    with pytest.raises(PowerLoss):
        disk.create("a")
    with pytest.raises(PowerLoss):
        disk.names()
    assert disk.crash(random.Random(1)).names() in ([], ["a"])


def test_operations_fail_on_demand():
    disk = FaultyDisk()
    disk.fail_at(2, errno.EIO)
    disk.fail_next("sync", errno.ENOSPC)
    file = disk.create("a")
    with pytest.raises(DiskError) as raised:
        disk.write_at(file, 0, b"x")
    assert (raised.value.operation, raised.value.errno) == ("write_at", errno.EIO)
    disk.write_at(file, 0, b"x")
    with pytest.raises(DiskError) as raised:
        disk.sync(file)
    assert raised.value.full
    disk.sync(file)


def test_what_a_failed_sync_left_is_not_made_durable_by_the_next_one():
    disk = FaultyDisk()
    file = disk.create("a", 2)
    disk.sync_folder()
    disk.write_at(file, 0, b"x")
    disk.fail_next("sync", errno.EIO)
    with pytest.raises(DiskError):
        disk.sync(file)
    disk.write_at(file, 1, b"y")
    disk.sync(file)
    assert disk.read_at(file, 0, 2) == b"xy"
    assert {crashed["a"] for crashed in found(disk)} == {b"\0y", b"xy"}


def test_a_disk_is_full():
    disk = FaultyDisk()
    disk.power.capacity = 10
    file = disk.create("a", 6)
    disk.write_at(file, 0, b"123456")
    with pytest.raises(DiskError) as raised:
        disk.write_at(file, 4, b"x" * 10)
    assert (raised.value.full, disk.read_file("a"), disk.free_octets()) == (True, b"1234xxxxxx", 0)
    with pytest.raises(DiskError) as raised:
        disk.create("b", 1)
    assert raised.value.full


def test_disks_that_lie_lose_what_they_say_they_keep():
    for lie in ("lying_sync", "lying_folder"):
        disk = FaultyDisk()
        setattr(disk.power, lie, True)
        disk.write_file("a", b"abc")
        assert any(crashed != {"a": b"abc"} for crashed in found(disk))


def test_a_flipped_bit_stays_flipped():
    disk = FaultyDisk()
    disk.write_file("a", b"abc")
    disk.flip("a", 9)
    assert (disk.read_file("a"), disk.crash(random.Random(1)).read_file("a")) == (b"a`c", b"a`c")
