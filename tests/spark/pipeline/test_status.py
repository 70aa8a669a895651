import os
from datetime import UTC, datetime

from pybroker.spark.pipeline import status
from pybroker.spark.pipeline.tables import Warehouse

NOW = datetime(2026, 1, 10, tzinfo=UTC)


def test_before_the_first_run(tmp_path):
    document = status.status(tmp_path / "w", tmp_path / "t", NOW)
    assert "No job has run; run 'pybrokerctl pipeline run all'" in document["message"].splitlines()
    assert (document["tables"], document["lag_s"]) == ({}, None)


def test_how_the_runs_went_and_how_far_it_is_behind(tmp_path):
    warehouse = Warehouse(tmp_path / "w", NOW)
    figures = {"files": 2, "lines": 10}
    warehouse.note("jobs", "ingest", {"at": "2026-01-10 00:00:00", "seconds": 3.5, "figures": figures})
    warehouse.note("jobs", "alarms", {"at": "2026-01-10 00:00:00", "failed": "it broke"})
    read = {"20260109T22.0001.ndjson": 3, "20260109T23.0001.ndjson": 6}
    warehouse.note("read", str(tmp_path / "t"), {"node_sample": read})
    folder = tmp_path / "w/node_sample/date=2026-01-09"
    folder.mkdir(parents=True)
    (folder / "part-0.parquet").write_bytes(b"12345")
    journal = tmp_path / "t/node_sample"
    journal.mkdir(parents=True)
    # The first was read in part while it was open, the second whole; of the last nothing is new but half a line.
    for name in ("20260109T22.0001", "20260109T23.0001", "20260109T23.0002", "20260110T00.0001", "20260110T00.0002"):
        name += ".ndjson" + ".open" * name.startswith("20260110")
        (journal / name).write_text("half" if "0.0002" in name else "12345\n")
        os.utime(journal / name, (NOW.timestamp() + 60,) * 2)
    document = status.status(tmp_path / "w", tmp_path / "t", NOW)
    lines = document["message"].splitlines()
    assert "ingest: at 2026-01-10 00:00:00, 3.5 s: files 2, lines 10" in lines
    assert "alarms: failed at 2026-01-10 00:00:00: it broke" in lines
    assert "node_sample: 1 date, 2026-01-09, 0.0 MiB" in lines
    assert "backlog: never run" in lines
    assert lines[-1] == "Files waiting: 3, behind by 60 s"
    assert document["files_waiting"]["node_sample"] == 3
