"""The thread that writes rows: never in the way of anybody, and what a disk refuses comes late."""

import json
import os

import pytest

from pybroker.daemon.telemetry import files as telemetry_files, writer as telemetry_writer
from pybroker.daemon.telemetry.files import TelemetryFiles
from pybroker.daemon.telemetry.reserve import RESERVE, Reserve
from pybroker.daemon.telemetry.writer import Writer
from tests.waiting import wait_until

# 2026-01-01T00:00:00Z
NEW_YEAR_MS = 1_767_225_600_000
HOUR_MS = 3_600_000
HEAD = '{"v":1'


@pytest.fixture
def files(tmp_path):
    return TelemetryFiles(tmp_path, "n@h", Reserve(tmp_path / RESERVE, lambda: 1 << 30, 4096), retention_days=7)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/*"))


def numbers(folder, table):
    paths = sorted(folder.glob(f"{table}/*.ndjson"))
    return [json.loads(line)["n"] for path in paths for line in path.read_text().splitlines()]


def test_how_long_files_are_kept_may_change(files, tmp_path):
    (tmp_path / "a").mkdir()
    path = tmp_path / "a/20251224T00.0001.n@h.ndjson"
    path.write_text("")
    os.utime(path, (NEW_YEAR_MS / 1000 - 8 * 86_400,) * 2)
    writer = Writer(files)
    writer.retain(9)
    files.expire(NEW_YEAR_MS)
    assert path.exists()
    writer.retain(7)
    files.expire(NEW_YEAR_MS)
    assert not path.exists()
    writer.stop()


def test_the_thread_writes_what_it_is_given_and_closes_at_a_stop(files, tmp_path):
    writer = Writer(files)
    for n in range(100):
        writer.write("a", NEW_YEAR_MS, HEAD, [{"n": n}])
    writer.tick(NEW_YEAR_MS)
    writer.stop()
    (path,) = tmp_path.glob("a/*.ndjson")
    assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == [*range(100)]
    assert (writer.rows_given, writer.rows_dropped, writer.octets) == (100, 0, path.stat().st_size)


@pytest.mark.parametrize(("most", "is_calm"), [(2, True), (1, False)])
def test_with_many_rows_the_thread_does_not_rest(files, tmp_path, monkeypatch, most, is_calm):
    rests = []
    monkeypatch.setattr(telemetry_writer, "CALM_ROWS_MAX", most)
    monkeypatch.setattr(telemetry_writer, "in_short_turns", lambda rows: rests.append(rows) or rows)
    writer = Writer(files)
    writer.write("a", NEW_YEAR_MS, HEAD, [{"n": 0}, {"n": 1}])
    writer.stop()
    assert bool(rests) == is_calm
    assert numbers(tmp_path, "a") == [0, 1]


def test_the_thread_goes_on_after_a_file_that_could_not_even_be_closed(files, tmp_path, monkeypatch, caplog):
    real, failing = telemetry_files._File.close, [True]

    def close(file):
        real(file)
        if failing:
            failing.pop()
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(telemetry_files._File, "close", close)
    writer = Writer(files)
    writer.write("a", NEW_YEAR_MS, HEAD, [{"n": 1}])
    writer.tick(NEW_YEAR_MS + HOUR_MS)
    writer.write("a", NEW_YEAR_MS + HOUR_MS, HEAD, [{"n": 2}])
    writer.stop()
    assert "a/20260101T01.0001.n@h.ndjson" in names(tmp_path)
    assert "the telemetry's files failed" in caplog.text


def test_what_the_disk_cannot_follow_is_dropped_and_counted(files, monkeypatch):
    monkeypatch.setattr(telemetry_writer, "WAITING_ROWS_MAX", 10)
    monkeypatch.setattr(telemetry_writer, "BRIEF_ROWS_MAX", 3)
    monkeypatch.setattr(Writer, "_work", lambda _: None)
    writer = Writer(files)
    assert [writer.write("a", NEW_YEAR_MS, HEAD, [{}] * 4) for _ in range(3)] == [True, True, False]
    assert writer.write("alarm", NEW_YEAR_MS, HEAD, [{}] * 4, brief=True)
    assert not writer.write("alarm", NEW_YEAR_MS, HEAD, [{}] * 2, brief=True)
    assert (writer.rows_given, writer.rows_dropped, writer.rows_waiting, writer.has_room) == (12, 6, 12, False)


def test_rows_that_a_disk_refuses_are_written_when_it_takes_them(files, tmp_path, monkeypatch, caplog):
    refused = [True]
    write = TelemetryFiles.write

    def refuse(self, table, *rest):
        if refused and table == "a":
            raise OSError(28, "No space left on device")
        write(self, table, *rest)

    monkeypatch.setattr(TelemetryFiles, "write", refuse)
    writer = Writer(files)
    for n in range(3):
        writer.write("a", NEW_YEAR_MS, HEAD, [{"n": n}])
        writer.write("b", NEW_YEAR_MS, HEAD, [{"n": n}])
    writer.tick(NEW_YEAR_MS)
    wait_until(lambda: writer.rows_waiting <= 3)
    assert not writer.has_room
    refused.clear()
    writer.tick(NEW_YEAR_MS)
    writer.write("a", NEW_YEAR_MS, HEAD, [{"n": 3}])
    writer.stop()
    assert (numbers(tmp_path, "a"), numbers(tmp_path, "b")) == ([0, 1, 2, 3], [0, 1, 2])
    assert (writer.has_room, writer.rows_dropped) == (True, 0)
    assert [record.message for record in caplog.records] == [
        "telemetry of a could not be written: No space left on device",
        "telemetry of a is written again",
    ]


def test_a_row_that_is_no_json_holds_up_nobody(files, tmp_path, caplog):
    writer = Writer(files)
    writer.write("a", NEW_YEAR_MS, HEAD, [{"n": object()}])
    writer.write("a", NEW_YEAR_MS, HEAD, [{"n": 1}])
    writer.stop()
    assert numbers(tmp_path, "a") == [1]
    assert "the telemetry's files failed" in caplog.text
