"""Disk and its faulty twin: the same promises, so that what holds on the twin holds on the real one."""

import errno
import os

import pytest

from pybroker.store.disk import FILL_OCTETS, PARTS_MAX, Disk, DiskError
from tests.store.faulty_disk import FaultyDisk


@pytest.fixture(params=["real", "faulty"])
def disk(request, tmp_path):
    return Disk(tmp_path) if request.param == "real" else FaultyDisk()


# -- what both keep ----------------------------------------------------------------------------------------------------


def test_a_created_file_is_zeros(disk):
    file = disk.create("a", 3_000_000)
    assert (disk.size(file), disk.names()) == (3_000_000, ["a"])
    assert disk.read_at(file, 0, 3_000_000) == bytes(3_000_000)
    disk.close(file)


def test_what_the_system_has_in_memory_can_be_read_at_once(disk):
    disk.write_file("a", b"0123456789")
    file, buffer = disk.open("a"), memoryview(bytearray(4))
    assert (disk.read_now(file, 3, buffer), bytes(buffer)) == (4, b"3456")
    assert (disk.read_now(file, 8, buffer), bytes(buffer[:2])) == (2, b"89")
    assert disk.read_now(file, 10, buffer) == 0
    disk.close(file)


def test_what_the_system_has_not_in_memory_is_not_waited_for(monkeypatch, tmp_path):
    disk = Disk(tmp_path)
    disk.write_file("a", b"0123456789")

    def absent(*_arguments):
        raise BlockingIOError

    monkeypatch.setattr(os, "preadv", absent)
    assert disk.read_now(disk.open("a"), 0, memoryview(bytearray(4))) == 0


def test_a_created_file_is_empty_without_a_size(disk):
    assert disk.size(disk.create("a")) == 0


def test_creating_a_file_that_is_there_fails(disk):
    disk.close(disk.create("a", 5))
    with pytest.raises(DiskError) as raised:
        disk.create("a", 7)
    assert (raised.value.errno, raised.value.full) == (errno.EEXIST, False)
    assert disk.read_file("a") == bytes(5)


@pytest.mark.parametrize("operation", ["open", "unlink", "read_file", "size_of"])
def test_what_is_not_there_cannot_be_used(disk, operation):
    with pytest.raises(DiskError) as raised:
        getattr(disk, operation)("a")
    assert raised.value.errno == errno.ENOENT


def test_renaming_what_is_not_there_fails(disk):
    with pytest.raises(DiskError) as raised:
        disk.rename("a", "b")
    assert raised.value.errno == errno.ENOENT


def test_what_was_written_is_read(disk):
    file = disk.create("a", 10)
    disk.write_at(file, 2, b"xyz")
    assert disk.read_at(file, 0, 6) == b"\0\0xyz\0"
    disk.write_at(file, 9, b"longer")
    assert disk.size(file) == 15


def test_writing_beyond_the_end_leaves_zeros_between(disk):
    file = disk.create("a")
    disk.write_at(file, 4, b"x")
    assert disk.read_file("a") == b"\0\0\0\0x"


def test_reading_beyond_the_end_is_short(disk):
    file = disk.create("a", 10)
    assert disk.read_at(file, 8, 5) == b"\0\0"
    assert disk.read_at(file, 10, 5) == b""


def test_parts_are_written_one_behind_the_other(disk):
    file = disk.create("a")
    parts = [b"%d," % number for number in range(2 * PARTS_MAX + 1)]
    disk.write_parts(file, 3, [memoryview(parts[0]), *parts[1:]])
    assert disk.read_file("a") == b"\0\0\0" + b"".join(parts)


def test_a_file_opened_for_reading_cannot_be_written(disk):
    disk.close(disk.create("a", 10))
    file = disk.open("a")
    with pytest.raises(DiskError) as raised:
        disk.write_at(file, 0, b"x")
    assert raised.value.errno == errno.EBADF


def test_truncate_cuts_off_and_lengthens(disk):
    file = disk.create("a")
    disk.write_at(file, 0, b"abcdef")
    disk.truncate(file, 2)
    assert disk.read_file("a") == b"ab"
    disk.truncate(file, 4)
    disk.sync(file)
    assert disk.read_file("a") == b"ab\0\0"


def test_an_error_calls_a_renamed_file_by_its_name(tmp_path, monkeypatch):
    disk = Disk(tmp_path)
    file = disk.create("a", 5)
    disk.rename("a", "b")
    monkeypatch.setattr(os, "pwrite", lambda *given: os.close(-1))
    with pytest.raises(DiskError, match=f"^cannot write {tmp_path}/b: "):
        disk.write_at(file, 0, b"x")


def test_rename_replaces(disk):
    disk.write_file("a", b"old")
    disk.write_file("b", b"new")
    disk.rename("b", "a")
    disk.sync_folder()
    assert (disk.names(), disk.read_file("a")) == (["a"], b"new")


def test_an_unlinked_file_is_read_on_by_who_has_it(disk):
    disk.write_file("a", b"abc")
    file = disk.open("a")
    disk.unlink("a")
    assert (disk.names(), disk.read_at(file, 0, 3)) == ([], b"abc")


def test_write_file_replaces_all_of_it(disk):
    disk.write_file("a", b"a long text")
    disk.write_file("a", b"short")
    assert (disk.names(), disk.size_of("a"), disk.read_file("a")) == (["a"], 5, b"short")


def test_write_file_takes_no_notice_of_what_a_crash_left(disk):
    disk.close(disk.create("a.new", 100))
    disk.write_file("a", b"abc")
    assert (disk.names(), disk.read_file("a")) == (["a"], b"abc")


def test_a_folder_below_is_a_disk_and_no_file(disk):
    disk.below("q").write_file("a", b"abc")
    disk.below("q").write_file("b", b"")
    assert (disk.names(), disk.below("q").names()) == ([], ["a", "b"])


def test_free_octets_is_what_is_left(disk):
    assert disk.free_octets() > 0


# -- the real one ------------------------------------------------------------------------------------------------------


def test_errors_are_sentences(tmp_path):
    with pytest.raises(DiskError) as raised:
        Disk(tmp_path).open("seg.1")
    assert str(raised.value) == f"cannot open {tmp_path}/seg.1: No such file or directory"
    with pytest.raises(DiskError) as raised:
        Disk(tmp_path).rename("a", "b")
    assert str(raised.value) == f"cannot rename {tmp_path}/a to b: No such file or directory"


@pytest.mark.parametrize(
    ("number", "full"),
    [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EFBIG, True), (errno.EMFILE, False), (errno.EIO, False)],
)
def test_full_is_told_from_broken(number, full):
    assert DiskError("write", "a", number).full is full


def test_errors_of_every_call_are_told(tmp_path, monkeypatch):
    disk = Disk(tmp_path)
    file = disk.create("a", 10)

    def fail(*_, **__):
        raise OSError(errno.EIO, "no matter")

    operations = (
        lambda: disk.write_at(file, 0, b"x"),
        lambda: disk.write_parts(file, 0, [b"x"]),
        lambda: disk.read_at(file, 0, 1),
        lambda: disk.sync(file),
        lambda: disk.truncate(file, 1),
        lambda: disk.size(file),
        disk.sync_folder,
        disk.free_octets,
        disk.names,
        lambda: disk.create("b"),
        lambda: disk.write_file("c", b"x"),
    )
    with monkeypatch.context() as patched:
        for call in ("pwrite", "pwritev", "pread", "fdatasync", "ftruncate", "fstat", "fsync", "statvfs", "scandir"):
            patched.setattr(os, call, fail)
        for operation in operations:
            with pytest.raises(DiskError) as raised:
                operation()
            assert raised.value.errno == errno.EIO


def test_a_file_that_cannot_be_filled_is_not_left_behind(tmp_path, monkeypatch):
    disk = Disk(tmp_path)

    def full(*_):
        raise OSError(errno.ENOSPC, "no matter")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DiskError) as raised:
        disk.create("a", 4096)
    assert raised.value.full
    assert str(raised.value) == f"cannot reserve 4096 octets for {tmp_path}/a: No space left on device"
    assert disk.names() == []


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL])
def test_a_file_system_that_reserves_nothing_will_do(tmp_path, monkeypatch, number):
    def cannot(*_):
        raise OSError(number, "no matter")

    monkeypatch.setattr(os, "posix_fallocate", cannot)
    disk = Disk(tmp_path)
    assert disk.size(disk.create("a", 5_000_000)) == 5_000_000


def test_a_file_that_need_not_last_is_not_synced(tmp_path, monkeypatch):
    calls = []
    for call in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, call, calls.append)
    disk = Disk(tmp_path)
    disk.create("a", 5_000_000, lasting=False)
    assert calls == []
    disk.create("b", 5_000_000)
    assert len(calls) == 6


def test_a_write_in_parts_is_ended(tmp_path, monkeypatch):
    disk = Disk(tmp_path)
    file = disk.create("a")
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, octets, offset: pwrite(file, octets[:3], offset))
    disk.write_at(file, 1, b"abcdefgh")
    assert disk.read_file("a") == b"\0abcdefgh"


@pytest.mark.parametrize("octets", [0, 3, 8])
def test_a_short_write_of_parts_is_ended(tmp_path, monkeypatch, octets):
    disk = Disk(tmp_path)
    file = disk.create("a")

    def short(file, parts, offset):
        return os.pwrite(file, b"".join(parts)[:octets], offset)

    monkeypatch.setattr(os, "pwritev", short)
    monkeypatch.setattr("pybroker.store.disk.PARTS_MAX", 3)
    disk.write_parts(file, 1, [b"ab", b"cdef", b"ghi", b"jk", memoryview(b"lm")])
    assert disk.read_file("a") == b"\0abcdefghijklm"


def test_a_read_in_parts_is_ended(tmp_path, monkeypatch):
    disk = Disk(tmp_path)
    disk.write_file("a", b"abcdefgh")
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda file, octets, offset: pread(file, min(octets, 3), offset))
    assert disk.read_file("a") == b"abcdefgh"
    assert disk.read_at(disk.open("a"), 6, 100) == b"gh"


def test_nobody_else_may_read_the_files(tmp_path):
    disk = Disk(tmp_path)
    disk.create("a")
    disk.write_file("b", b"")
    disk.below("c")
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        "a": 0o600,
        "b": 0o600,
        "c": 0o700,
    }


# -- folders -----------------------------------------------------------------------------------------------------------


def test_a_folder_is_there_when_it_was_made(disk):
    assert disk.folder("a") is None
    disk.below("a").write_file("x", b"1")
    assert disk.folder("a").read_file("x") == b"1"
    disk.below("b")
    assert (disk.folder_names(), disk.names()) == (["a", "b"], [])


def test_only_an_empty_folder_is_removed(disk):
    disk.below("a").write_file("x", b"1")
    for name, number in (("a", errno.ENOTEMPTY), ("b", errno.ENOENT)):
        with pytest.raises(DiskError) as raised:
            disk.remove_folder(name)
        assert raised.value.errno == number
    disk.folder("a").unlink("x")
    disk.remove_folder("a")
    assert (disk.folder("a"), disk.folder_names()) == (None, [])


def test_the_system_forgets_what_is_on_disk_but_for_a_page_that_is_not_full(tmp_path):
    disk, buffer = Disk(tmp_path), memoryview(bytearray(1))
    disk.write_file("a", bytes(1 << 20) + b"more")
    file = disk.open("a", write=True)
    disk.drop_cached(file, 100)
    assert disk.read_now(file, 0, buffer) == 1
    disk.drop_cached(file, (1 << 20) + 4)
    assert disk.read_now(file, 1 << 20, buffer) == 1
    if disk.read_now(file, 0, buffer):
        pytest.skip("this file system is memory")
    assert disk.read_at(file, 0, 2) == bytes(2)
    disk.close(file)
    disk.drop_cached(file, 1 << 20)  # it never fails


def test_zeros_are_written_as_long_as_they_are_wanted(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("os.fdatasync", synced.append)
    disk = Disk(tmp_path)
    with pytest.raises(DiskError) as caught:
        disk.create("a", 10 * FILL_OCTETS, wanted=lambda: len(synced) < 3)
    assert (caught.value.errno, len(synced), disk.names()) == (errno.ECANCELED, 3, [])
