"""A file is whole or as it was; a file system that cannot sync folders is no failure, a disk that fails is one."""

import errno
import os

import pytest

from pybroker.spark.disk import sync_folder, write_file


def failing(monkeypatch, code):
    def fail(_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)


def test_a_file_stays_as_it_was_until_the_new_one_is_on_disk(tmp_path, monkeypatch):
    path = tmp_path / "state"
    write_file(path, b"old")
    with monkeypatch.context() as patched:
        failing(patched, errno.EIO)
        with pytest.raises(OSError, match="Input/output"):
            write_file(path, b"new")
    assert path.read_bytes() == b"old"
    write_file(path, b"newer")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"state": b"newer"}


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_syncs_no_folders_is_served(tmp_path, monkeypatch, code):
    failing(monkeypatch, code)
    sync_folder(tmp_path)


def test_a_disk_that_fails_is_told(tmp_path, monkeypatch):
    failing(monkeypatch, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        sync_folder(tmp_path)
