"""Files of rows: by table and hour, given their names when they are done, never in the way of anybody."""

import json
import os

import pytest

from pybroker.daemon.telemetry import files as telemetry_files
from pybroker.daemon.telemetry.files import TelemetryFiles, encode_rows
from pybroker.daemon.telemetry.reserve import RESERVE, Reserve

# 2026-01-01T00:00:00Z
NEW_YEAR_MS = 1_767_225_600_000
HOUR_MS = 3_600_000
HEAD = '{"v":1'


RESERVE_OCTETS = 20_000


class Disk:
    """`spare` octets are above what is short; as the files are written, nothing else is at work."""

    def __init__(self):
        self.spare = 10 * RESERVE_OCTETS

    def __call__(self):
        return self.spare


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def reserve(tmp_path, disk):
    reserve = Reserve(tmp_path / RESERVE, disk, RESERVE_OCTETS)
    reserve.open()
    return reserve


@pytest.fixture
def files(tmp_path, reserve):
    return TelemetryFiles(tmp_path, "n@h", reserve, retention_days=7)


def lines(rows):
    return encode_rows(HEAD, rows)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/*"))


def test_rows_are_lines_behind_what_all_of_them_have(files, tmp_path):
    files.write("queue_sample", NEW_YEAR_MS, lines([{"queue": "ä"}, {"queue": 'b"\n'}]))
    files.close()
    (path,) = tmp_path.glob("queue_sample/*")
    assert path.name == "20260101T00.0001.n@h.ndjson"
    assert path.stat().st_mode & 0o777 == 0o600
    written = path.read_text().splitlines()
    assert [json.loads(line) for line in written] == [{"v": 1, "queue": "ä"}, {"v": 1, "queue": 'b"\n'}]
    assert files.octets == path.stat().st_size


def test_a_node_of_any_name_has_files(tmp_path, reserve):
    files = TelemetryFiles(tmp_path, "../rabbit@h\u00f6st", reserve, retention_days=7)
    files.write("a", NEW_YEAR_MS, lines([{}]))
    assert names(tmp_path) == ["a/20260101T00.0001..._rabbit@h_st.ndjson.open"]


def test_a_file_is_open_until_its_hour_is_over(files, tmp_path):
    files.write("a", NEW_YEAR_MS, lines([{"n": 1}]))
    assert names(tmp_path) == ["a/20260101T00.0001.n@h.ndjson.open"]
    files.tick(NEW_YEAR_MS + HOUR_MS - 1)
    assert names(tmp_path) == ["a/20260101T00.0001.n@h.ndjson.open"]
    files.tick(NEW_YEAR_MS + HOUR_MS)
    assert names(tmp_path) == ["a/20260101T00.0001.n@h.ndjson"]
    files.write("a", NEW_YEAR_MS + HOUR_MS, lines([{"n": 2}]))
    assert names(tmp_path) == ["a/20260101T00.0001.n@h.ndjson", "a/20260101T01.0001.n@h.ndjson.open"]


def test_a_file_that_is_large_enough_is_followed_by_another_one(tmp_path, reserve):
    files = TelemetryFiles(tmp_path, "n@h", reserve, retention_days=7, octets_max=20)
    for n in range(3):
        files.write("a", NEW_YEAR_MS, lines([{"n": n, "more": "octets"}]))
    assert names(tmp_path) == [f"a/20260101T00.{n:04d}.n@h.ndjson" for n in (1, 2, 3)]


def test_what_a_kill_left_open_gets_its_name_and_is_not_written_to(files, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/20260101T00.0004.ndjson.open").write_text('{"v":1,"cut')
    files.adopt()
    files.write("a", NEW_YEAR_MS, lines([{}]))
    assert names(tmp_path) == ["a/20260101T00.0004.ndjson", "a/20260101T00.0005.n@h.ndjson.open"]


def test_what_is_written_while_the_disk_is_short_comes_out_of_the_reserve(files, tmp_path, disk, reserve, caplog):
    files.write("a", NEW_YEAR_MS, lines([{}]))
    disk.spare = -1
    before = used(tmp_path)
    for _ in range(60):
        files.write("a", NEW_YEAR_MS, lines([{"n": "x" * 100}]))
    files.write("b", NEW_YEAR_MS, lines([{}]))
    assert files.is_short
    assert used(tmp_path) <= before
    assert (tmp_path / RESERVE).stat().st_size == reserve.octets < RESERVE_OCTETS // 2
    assert files.is_scant
    disk.spare = RESERVE_OCTETS - 1  # so much as would make it short again
    files.write("a", NEW_YEAR_MS, lines([{}]))
    assert files.is_short
    disk.spare = RESERVE_OCTETS
    files.write("a", NEW_YEAR_MS, lines([{}]))
    assert (files.is_short, files.is_scant, reserve.octets) == (False, False, RESERVE_OCTETS)
    told = [record.message for record in caplog.records]
    assert told == ["telemetry writes less: free disk space is near its limit", "telemetry resumes"]
    assert names(tmp_path) == ["a/20260101T00.0001.n@h.ndjson.open", "b/20260101T00.0001.n@h.ndjson.open"]


def used(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_when_the_reserve_is_used_up_nothing_is_written(files, tmp_path, disk):
    disk.spare = -1
    for _ in range(100):
        files.write("a", NEW_YEAR_MS, lines([{"n": "x" * 100}]))
    with pytest.raises(OSError, match="the reserve is used up"):
        files.write("a", NEW_YEAR_MS, lines([{"n": "x" * 10_000}]))
    assert used(tmp_path) <= RESERVE_OCTETS


def test_of_rows_that_a_disk_refuses_no_part_is_written(files, tmp_path, monkeypatch):
    files.write("a", NEW_YEAR_MS, lines([{"n": 1}]))
    real, asked = os.write, []

    def write_little(descriptor, octets):
        asked.append(0)
        if len(asked) > 1:
            raise OSError(28, "No space left on device")
        return real(descriptor, octets[:3])

    with monkeypatch.context() as patch:
        patch.setattr(telemetry_files.os, "write", write_little)
        with pytest.raises(OSError, match="No space"):
            files.write("a", NEW_YEAR_MS, lines([{"n": 2}]))
    files.write("a", NEW_YEAR_MS, lines([{"n": 3}]))
    files.close()
    (path,) = tmp_path.glob("a/*")
    assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == [1, 3]


def test_after_an_error_of_a_file_another_one_is_tried(files, tmp_path, monkeypatch):
    files.write("a", NEW_YEAR_MS, lines([{"n": 1}]))
    with monkeypatch.context() as patch:
        patch.setattr(telemetry_files.os, "write", refuse)
        with pytest.raises(OSError, match="Input/output"):
            files.write("a", NEW_YEAR_MS, lines([{"n": 2}]))
    files.write("a", NEW_YEAR_MS, lines([{"n": 2}]))
    assert names(tmp_path) == ["a/20260101T00.0001.n@h.ndjson", "a/20260101T00.0002.n@h.ndjson.open"]


def refuse(*_):
    raise OSError(5, "Input/output error")


def test_files_older_than_they_are_kept_go(files, tmp_path):
    (tmp_path / "a").mkdir()
    for name, days in (("20251224T00.0001.n@h.ndjson", 8), ("20251226T00.0001.n@h.ndjson", 6)):
        path = tmp_path / "a" / name
        path.write_text("")
        os.utime(path, (NEW_YEAR_MS / 1000 - days * 86_400,) * 2)
    files.expire(NEW_YEAR_MS)
    assert names(tmp_path) == ["a/20251226T00.0001.n@h.ndjson"]
