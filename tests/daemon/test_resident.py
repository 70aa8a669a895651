"""What of a process is in memory."""

from pybroker.daemon import resident
from pybroker.daemon.resident import Resident


class Spare:
    def __init__(self, octets):
        self.octets = octets

    def free_octets(self):
        return self.octets


STATUS = """\
Name:\tpybroker
VmPeak:\t  300000 kB
VmRSS:\t   50000 kB
RssAnon:\t   30000 kB
RssFile:\t   19000 kB
RssShmem:\t    1000 kB
Threads:\t1
"""


def test_files_and_shared_memory_are_code(tmp_path, monkeypatch):
    monkeypatch.setattr(resident, "_STATUS", tmp_path / "status")
    (tmp_path / "status").write_text(STATUS)
    assert resident.measure(Spare(5)) == Resident(50_000 * 1024, 20_000 * 1024, 5)


def test_more_spare_memory_than_there_is_lies_not_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(resident, "_STATUS", tmp_path / "status")
    (tmp_path / "status").write_text(STATUS)
    assert resident.measure(Spare(10**12)).unused == 30_000 * 1024


def test_without_proc_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(resident, "_STATUS", tmp_path / "status")
    assert resident.measure(Spare(5)) == Resident(0, 0, 0)


def test_this_process_has_code():
    total, code, _ = resident.measure(Spare(0))
    assert 0 < code < total


def test_what_is_used_is_the_resident_set(tmp_path, monkeypatch):
    assert 0.5 < resident.used_octets() / resident.measure(Spare(0)).total < 2
    monkeypatch.setattr(resident, "_STATM", tmp_path / "statm")
    assert 0 == resident.used_octets()
