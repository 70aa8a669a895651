"""The warehouse: dates are replaced whole, one process at a time, and what is old goes."""

import os
from datetime import UTC, date, datetime

import pytest

from pybroker.spark.pipeline.failure import FailureError
from pybroker.spark.pipeline.schemas import NODE_1M, NODE_SAMPLE, QUEUE_SAMPLE
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.pipeline.jobs.rows import put as add, rows_there

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def warehouse(tmp_path):
    return Warehouse(tmp_path / "w", NOW)


def put(warehouse, table, *days):
    for day in days:
        folder = warehouse.folder / table / f"date={day}"
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_bytes(b"")


def test_there_is_nothing_at_first(warehouse):
    assert warehouse.dates("queue_sample") == []
    assert warehouse.state() == {}
    assert warehouse.stamp("queue_sample", date(2026, 1, 1)) == 0


def test_what_is_noted_stays(warehouse):
    warehouse.note("jobs", "ingest", {"rows": 1})
    warehouse.note("jobs", "rollup", {"rows": 2})
    again = Warehouse(warehouse.folder)
    assert again.state() == {"jobs": {"ingest": {"rows": 1}, "rollup": {"rows": 2}}}
    assert sorted(path.name for path in warehouse.folder.iterdir()) == ["_state.json"]


def test_a_state_that_is_damaged_is_told_of(warehouse):
    warehouse.write_json("_state.json", {})
    (warehouse.folder / "_state.json").write_text("{")
    with pytest.raises(FailureError, match="is damaged") as caught:
        warehouse.state()
    assert caught.value.code == 65


def test_dates_that_are_too_old_go_each_table_by_its_own(warehouse):
    put(warehouse, "queue_sample", "2026-01-29", "2026-01-30", "2026-02-28")
    put(warehouse, "node_1m", "2025-01-28", "2025-01-29", "2026-01-01")
    warehouse.note("made", "queue_sample", {"2026-01-29": 1, "2026-02-28": 2})
    assert warehouse.expire() == {"queue_sample": 1, "node_1m": 1}
    assert [str(day) for day in warehouse.dates("queue_sample")] == ["2026-01-30", "2026-02-28"]
    assert [str(day) for day in warehouse.dates("node_1m")] == ["2025-01-29", "2026-01-01"]
    assert warehouse.state()["made"]["queue_sample"] == {"2026-02-28": 2}
    assert (QUEUE_SAMPLE.days_kept, NODE_1M.days_kept) == (30, 396)


def test_what_a_kill_left_behind_is_swept(warehouse):
    (warehouse.folder / ".staging/x.1").mkdir(parents=True)
    assert warehouse.add_bad("queue_sample", [("a.ndjson", "b"), ("a.ndjson", "a")]) == 2
    bad = warehouse.folder / "_bad/queue_sample/a.ndjson"
    assert bad.read_text() == "a\nb\n"
    assert warehouse.sweep() == {"unfinished": 1, "bad files": 0}
    os.utime(bad, (NOW.timestamp() - 31 * 86_400,) * 2)
    assert warehouse.sweep() == {"unfinished": 0, "bad files": 1}


def test_scratch_of_spark_and_unnamed_files_go(warehouse):
    for name in ("_log/scratch/blockmgr-1/0f", "_reports"):
        (warehouse.folder / name).mkdir(parents=True)
    for name in ("_log/scratch/blockmgr-1/0f/data", "._state.json.17", "_reports/.alarms.json.17", "_reports/a.json"):
        (warehouse.folder / name).write_text("{}")
    assert warehouse.sweep() == {"unfinished": 3, "bad files": 0}
    left = {path.relative_to(warehouse.folder).as_posix() for path in warehouse.folder.rglob("*") if path.is_file()}
    assert left == {"_reports/a.json"}


def test_one_process_has_it(warehouse):
    with warehouse.lock():
        with pytest.raises(FailureError) as caught, Warehouse(warehouse.folder).lock():
            pass
        assert caught.value.code == 75
        assert caught.value.text == f"the pipeline already runs on {warehouse.folder}: process {os.getpid()}"
    with warehouse.lock():
        pass


def test_a_date_is_replaced_whole(warehouse):
    first, second = date(2026, 2, 1), date(2026, 2, 2)
    add(warehouse, NODE_SAMPLE, *({"ts": datetime(2026, 2, day, tzinfo=UTC), "epoch": 1, "fds": day} for day in (1, 2)))
    assert warehouse.dates("node_sample") == [first, second]
    add(warehouse, NODE_SAMPLE, {"ts": datetime(2026, 2, 1, 1, tzinfo=UTC), "epoch": 1, "fds": 5})
    assert [row["fds"] for row in rows_there(warehouse, NODE_SAMPLE)] == [1, 5, 2]
    assert [*(warehouse.folder / ".staging").iterdir()] == []
    assert warehouse.stamp("node_sample", first) == NOW.timestamp() * 1000 + 1
    warehouse.change(NODE_SAMPLE, lambda _staging, _number: {second: NOW})
    assert warehouse.dates("node_sample") == [first]
