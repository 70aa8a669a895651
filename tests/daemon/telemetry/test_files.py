"""Files of rows: by table and hour, given their names when they are done, never in the way of anybody."""

import json
import os

import pytest

from pybroker.daemon.telemetry import files as telemetry_files
from pybroker.daemon.telemetry.files import TelemetryFiles, Writer

# 2026-01-01T00:00:00Z
NEW_YEAR_MS = 1_767_225_600_000
HOUR_MS = 3_600_000
HEAD = '{"v":1'


class Room:
    def __init__(self):
        self.there = True

    def __call__(self):
        return self.there


@pytest.fixture
def room():
    return Room()


@pytest.fixture
def files(tmp_path, room):
    return TelemetryFiles(tmp_path, room, retention_days=7)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/*"))


def test_rows_are_lines_behind_what_all_of_them_have(files, tmp_path):
    files.write("queue_sample", NEW_YEAR_MS, HEAD, [{"queue": "ä"}, {"queue": 'b"\n'}])
    files.close()
    (path,) = tmp_path.glob("queue_sample/*")
    assert path.name == "20260101T00.0001.ndjson"
    assert path.stat().st_mode & 0o777 == 0o600
    lines = path.read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"v": 1, "queue": "ä"}, {"v": 1, "queue": 'b"\n'}]
    assert files.octets == path.stat().st_size


def test_a_file_is_open_until_its_hour_is_over(files, tmp_path):
    files.write("a", NEW_YEAR_MS, HEAD, [{"n": 1}])
    assert names(tmp_path) == ["a/20260101T00.0001.ndjson.open"]
    files.tick(NEW_YEAR_MS + HOUR_MS - 1)
    assert names(tmp_path) == ["a/20260101T00.0001.ndjson.open"]
    files.tick(NEW_YEAR_MS + HOUR_MS)
    assert names(tmp_path) == ["a/20260101T00.0001.ndjson"]
    files.write("a", NEW_YEAR_MS + HOUR_MS, HEAD, [{"n": 2}])
    assert names(tmp_path) == ["a/20260101T00.0001.ndjson", "a/20260101T01.0001.ndjson.open"]


def test_a_file_that_is_large_enough_is_followed_by_another_one(tmp_path, room):
    files = TelemetryFiles(tmp_path, room, retention_days=7, octets_max=20)
    for n in range(3):
        files.write("a", NEW_YEAR_MS, HEAD, [{"n": n, "more": "octets"}])
    assert names(tmp_path) == [f"a/20260101T00.{n:04d}.ndjson" for n in (1, 2, 3)]


def test_what_a_kill_left_open_gets_its_name_and_is_not_written_to(files, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/20260101T00.0004.ndjson.open").write_text('{"v":1,"cut')
    files.adopt()
    files.write("a", NEW_YEAR_MS, HEAD, [{}])
    assert names(tmp_path) == ["a/20260101T00.0004.ndjson", "a/20260101T00.0005.ndjson.open"]


def test_nothing_is_written_where_the_disk_is_near_its_limit(files, tmp_path, room, caplog):
    files.write("a", NEW_YEAR_MS, HEAD, [{}])
    room.there = False
    for _ in range(3):
        files.write("a", NEW_YEAR_MS, HEAD, [{}, {}])
    assert (files.rows_dropped, names(tmp_path)) == (6, ["a/20260101T00.0001.ndjson"])
    room.there = True
    files.write("a", NEW_YEAR_MS, HEAD, [{}])
    assert names(tmp_path) == ["a/20260101T00.0001.ndjson", "a/20260101T00.0002.ndjson.open"]
    told = [record.message for record in caplog.records]
    assert told == ["telemetry stops: free disk space is near its limit", "telemetry resumes"]


def test_a_disk_that_refuses_costs_rows_and_a_line_of_the_log(files, tmp_path, caplog, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(telemetry_files.os, "write", refuse)
    files.write("a", NEW_YEAR_MS, HEAD, [{}])
    assert files.rows_dropped == 1
    assert "No space left on device" in caplog.text


def test_files_older_than_they_are_kept_go(files, tmp_path):
    (tmp_path / "a").mkdir()
    for name, days in (("20251224T00.0001.ndjson", 8), ("20251226T00.0001.ndjson", 6)):
        path = tmp_path / "a" / name
        path.write_text("")
        os.utime(path, (NEW_YEAR_MS / 1000 - days * 86_400,) * 2)
    files.expire(NEW_YEAR_MS)
    assert names(tmp_path) == ["a/20251226T00.0001.ndjson"]


def test_how_long_files_are_kept_may_change(files, tmp_path):
    (tmp_path / "a").mkdir()
    path = tmp_path / "a/20251224T00.0001.ndjson"
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
    assert (writer.rows_given, writer.dropped, writer.octets) == (100, 0, path.stat().st_size)


def test_the_thread_goes_on_after_a_file_that_could_not_even_be_closed(files, tmp_path, monkeypatch, caplog):
    real, failing = os.close, [True]

    def close(descriptor):
        real(descriptor)
        if failing:
            failing.pop()
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(telemetry_files.os, "close", close)
    writer = Writer(files)
    writer.write("a", NEW_YEAR_MS, HEAD, [{"n": 1}])
    writer.tick(NEW_YEAR_MS + HOUR_MS)
    writer.write("a", NEW_YEAR_MS + HOUR_MS, HEAD, [{"n": 2}])
    writer.stop()
    assert "a/20260101T01.0001.ndjson" in names(tmp_path)
    assert "the telemetry's files failed" in caplog.text


def test_what_the_disk_cannot_follow_is_dropped_and_counted(files, monkeypatch):
    monkeypatch.setattr(telemetry_files, "WAITING_ROWS_MAX", 10)
    monkeypatch.setattr(Writer, "_work", lambda _: None)
    writer = Writer(files)
    for _ in range(5):
        writer.write("a", NEW_YEAR_MS, HEAD, [{}] * 4)
    assert (writer.rows_given, writer.dropped) == (8, 12)
