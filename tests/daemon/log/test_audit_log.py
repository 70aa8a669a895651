import json
import os
import threading

import pytest

from pybroker.core.events.cause import Cause
from pybroker.daemon.log import audit_log
from pybroker.daemon.log.audit_log import AuditLog
from pybroker.daemon.start_error import StartError
from tests.clock import FakeClock
from tests.waiting import wait_until

CAUSE = Cause("client", "guest", "a:1 -> b:2")


def no_pause(_seconds: float) -> None:
    threading.Event().wait(0.001)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log" / "test@here-audit.log"


@pytest.fixture
def log(path):
    log = AuditLog(path, FakeClock())
    yield log
    log.close()


def record(log: AuditLog, *names: str) -> None:
    for name in names:
        log.record("user.created", {"name": name}, CAUSE, {})


def read(log: AuditLog) -> list[str]:
    return [json.loads(line).get("name", "") for line in log.lines(no_pause)]


def test_entries_are_lines_and_are_read_from_the_last_one_back(log, path):
    record(log, "1", "2", "3")
    assert ["3", "2", "1"] == read(log)
    assert 3 == len(path.read_text().splitlines())


def test_a_line_that_cannot_be_made_costs_nothing_else(log, monkeypatch, caplog):
    with monkeypatch.context() as patch:
        patch.setattr(audit_log, "line", lambda _: 1 // 0)
        record(log, "0")
    record(log, "1")
    assert ["1"] == read(log)
    assert "the audit log failed" in caplog.text


def test_only_the_daemons_user_and_group_may_read_it(log, path):
    assert 0 == path.stat().st_mode & 0o027


def test_what_is_no_event_of_the_log_is_not_taken(log):
    log.record("channel.created", {}, CAUSE, {})
    assert 0 == log.taken
    assert [] == read(log)


def test_a_start_goes_on_with_the_same_file(log, path):
    record(log, "1")
    log.close()
    again = AuditLog(path, FakeClock())
    record(again, "2")
    assert ["2", "1"] == read(again)
    again.close()


def test_a_file_of_many_blocks_is_read_back_line_by_line(log, monkeypatch):
    monkeypatch.setattr(audit_log, "BLOCK_OCTETS", 100)
    names = [f"user {n}" for n in range(200)]
    record(log, *names)
    assert names[::-1] == read(log)


def test_sockets_have_their_turn_between_the_blocks_of_a_file(log, monkeypatch):
    monkeypatch.setattr(audit_log, "BLOCK_OCTETS", 1_000)
    record(log, *(f"user {n}" for n in range(40)))
    read(log)
    pauses = []
    assert 40 == len(list(log.lines(pauses.append)))
    # gevent.sleep(0) only goes to the end of the callbacks' line, which is served many times before a socket is.
    assert len(pauses) > 4
    assert all(seconds > 0 for seconds in pauses)


def test_of_a_long_file_the_end_is_read(log, monkeypatch):
    names = [f"user {n:03}" for n in range(200)]
    record(log, *names)
    assert 200 == len(read(log))
    monkeypatch.setattr(audit_log, "READ_OCTETS_MAX", 2_000)
    monkeypatch.setattr(audit_log, "BLOCK_OCTETS", 300)
    found = read(log)
    assert found == names[::-1][: len(found)]
    assert 5 < len(found) < 20


def test_after_a_rotation_the_new_file_is_written(log, path):
    record(log, "1")
    assert ["1"] == read(log)
    path.rename(path.with_name("old"))
    log.reopen()
    record(log, "2")
    assert ["2"] == read(log)


def test_a_file_that_cannot_be_opened_anew_is_kept(log, path, caplog):
    record(log, "1")
    assert ["1"] == read(log)
    old = path.rename(path.with_name("old"))
    path.mkdir()
    log.reopen()
    record(log, "2")
    wait_until(lambda: log.written == log.taken)
    assert 2 == len(old.read_text().splitlines())
    assert "cannot reopen the audit log" in caplog.text


def test_what_is_too_much_is_dropped_and_told(log, path, monkeypatch):
    monkeypatch.setattr(audit_log, "WAITING_MAX", 10)
    monkeypatch.setattr(audit_log, "GATHER_S", 0.05)
    record(log, *map(str, range(25)))
    log.close()
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    told = [entry["count"] for entry in entries if entry["event"] == "audit.dropped"]
    assert 25 == sum(told) + len([entry for entry in entries if entry["event"] == "user.created"])
    assert sum(told) >= 10


class FullDisk:
    """Takes so many octets more, as a real one does: a part first, then an error."""

    def __init__(self, monkeypatch, left):
        self.left = left
        self._write = os.write
        monkeypatch.setattr(audit_log.os, "write", self.write)

    def write(self, file, octets):
        if not self.left:
            raise OSError(28, "No space left on device")
        taken = self._write(file, octets[: self.left])
        self.left -= taken
        return taken


def write_all(log, *names):
    record(log, *names)
    wait_until(lambda: log.written == log.taken)


def test_a_full_disk_costs_entries_and_one_warning(log, path, monkeypatch, caplog):
    disk = FullDisk(monkeypatch, 5)
    write_all(log, "1")
    write_all(log, "2")
    disk.left = 100_000
    write_all(log, "3")
    assert 1 == caplog.text.count("the audit log cannot be written")
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert ["3", None] == [entry.get("name") for entry in told]
    assert ("audit.dropped", 2) == (told[1]["event"], told[1]["count"])


def test_lines_that_a_full_disk_took_are_not_counted_as_lost(log, path, monkeypatch):
    write_all(log, "a")
    disk = FullDisk(monkeypatch, 2 * path.stat().st_size + 7)
    write_all(log, *"bcdef")
    disk.left = 100_000
    write_all(log, "g")
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [*"abcg", None] == [entry.get("name") for entry in told]
    assert 3 == told[-1]["count"]


def test_a_line_that_cannot_be_taken_off_is_ended(log, path, monkeypatch):
    def refuse(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(audit_log.os, "ftruncate", refuse)
    disk = FullDisk(monkeypatch, 7)
    write_all(log, "a")
    disk.left = 3
    write_all(log, "b")
    disk.left = 100_000
    write_all(log, "c")
    lines = path.read_text().splitlines()
    assert ["c", None] == [json.loads(line).get("name") for line in lines[2:]]
    assert 2 == json.loads(lines[-1])["count"]


def test_a_log_that_is_no_file_cannot_be_read_back(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    reading = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    log = AuditLog(tmp_path / "fifo", FakeClock())
    with pytest.raises(OSError, match="only a regular file can be read back"):
        read(log)
    log.close()
    os.close(reading)


def test_a_disk_that_does_not_answer_holds_up_no_stop(log, monkeypatch, caplog):
    answers = threading.Event()
    real = os.write

    def write(file: int, octets: bytes) -> int:
        answers.wait()
        return real(file, octets)

    monkeypatch.setattr(audit_log.os, "write", write)
    monkeypatch.setattr(audit_log, "STOP_S_MAX", 0.01)
    record(log, "1")
    log.close()
    assert "the disk of the audit log does not respond" in caplog.text
    answers.set()
    monkeypatch.setattr(audit_log, "STOP_S_MAX", 60.0)
    log.close()
    assert ["1"] == read(log)


def test_a_folder_that_cannot_be_made_ends_the_start(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StartError) as refused:
        AuditLog(tmp_path / "file" / "audit.log", FakeClock())
    assert "cannot write the audit log" in refused.value.text
