"""The part of a process that is in memory."""

import os
import resource
from pathlib import Path

import psutil
import pytest

from pybroker.daemon.resources import rss
from pybroker.daemon.resources.rss import ResidentSet, ResidentSetReader


class Spare:
    def __init__(self, octets):
        self.octets = octets

    def free_octets(self):
        return self.octets


@pytest.fixture
def proc(tmp_path, monkeypatch):
    """A /proc of our own: 12,500 pages are resident, 5,000 of them of files."""
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    folder = tmp_path / str(rss.PROCESS.pid)
    folder.mkdir()
    (folder / "statm").write_text("75000 12500 5000 1 0 9000 0\n")
    # psutil reads that of a process which it was asked for before
    monkeypatch.setattr(rss.PROCESS._proc, "_procfs_path", str(tmp_path))
    return folder


PAGE = resource.getpagesize()


def test_files_and_shared_memory_are_code(proc):
    assert rss.measure(Spare(5)) == ResidentSet(12_500 * PAGE, 5_000 * PAGE, 5)


def test_more_spare_memory_than_there_is_lies_not_in_memory(proc):
    assert rss.measure(Spare(10**12)).unused == 7_500 * PAGE


def test_without_proc_nothing_is_known(proc):
    (proc / "statm").unlink()
    assert (rss.measure(Spare(5)), rss.open_files()) == (ResidentSet(0, 0, 0), None)


def test_without_its_file_the_resident_set_is_asked_for_otherwise(proc, monkeypatch):
    def missing(*_):
        raise FileNotFoundError

    monkeypatch.setattr(os, "open", missing)
    reader = ResidentSetReader()
    assert reader.octets() == 12_500 * PAGE
    (proc / "statm").unlink()
    assert reader.octets() == 0


def test_the_file_of_the_resident_set_is_closed_with_its_reader():
    before = rss.open_files()
    reader = ResidentSetReader()
    assert rss.open_files() == before + 1
    del reader
    assert rss.open_files() == before


def test_this_process_has_code():
    total, code, _ = rss.measure(Spare(0))
    assert 0 < code < total


def test_what_is_used_is_the_resident_set():
    assert 0.5 < ResidentSetReader().octets() / rss.measure(Spare(0)).total < 2


def test_open_files_are_counted():
    before = rss.open_files()
    with Path(os.devnull).open():
        assert rss.open_files() == before + 1
