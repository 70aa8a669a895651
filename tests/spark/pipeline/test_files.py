"""Closed files are read once, open ones each time."""

from datetime import date

from pybroker.spark.pipeline import files

CLOSED = ("20260105T00.0001.ndjson", "20260105T01.0001.ndjson")


def put(folder, *names, octets=3):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"x" * octets)


def test_closed_files_are_read_once_and_open_ones_each_time(tmp_path):
    put(tmp_path / "t", *CLOSED, "20260106T00.0001.ndjson.open", "notes.txt", "2026.ndjson")
    found = files.find(tmp_path, "t", {CLOSED[0]: 3})
    assert [path.name for path in found.closed] == [CLOSED[1]]
    assert [path.name for path in found.open] == ["20260106T00.0001.ndjson.open"]
    assert found.dates == {date(2026, 1, 5), date(2026, 1, 6)}
    assert found.octets == 6


def test_a_file_that_grew_since_is_read_again(tmp_path):
    put(tmp_path / "t", CLOSED[0], octets=4)
    assert files.find(tmp_path, "t", {CLOSED[0]: 3}).closed
    assert files.find(tmp_path, "none", {}) == ([], [])


def test_what_waits_is_that_of_all_tables(tmp_path):
    put(tmp_path / "queue_sample", *CLOSED, octets=5)
    put(tmp_path / "alarm_event", CLOSED[0])
    put(tmp_path / "nobody_knows", CLOSED[0])
    assert files.octets_waiting(tmp_path, {}) == 13
    assert files.octets_waiting(tmp_path, {"files": {"queue_sample": {CLOSED[0]: 5}}}) == 8


def test_a_file_that_is_gone_is_nothing(tmp_path):
    put(tmp_path / "t", *CLOSED)
    found = files.find(tmp_path, "t", {})
    found.closed[0].unlink()
    assert found.octets == 3
