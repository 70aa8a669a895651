"""The rows that are kept of the files; test_day has the whole of it."""

from datetime import UTC, date, datetime

import pytest

pytest.importorskip("pyspark")

from pybroker.daemon.telemetry.telemetry import FOLDER, Telemetry
from pybroker.spark.pipeline.jobs import ingest
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import ALARM_EVENT, QUEUE_SAMPLE, RAW
from pybroker.spark.pipeline.tables import Warehouse
from tests.fakes import World
from tests.spark.pipeline.jobs.rows import rows_there

GOOD = '{"v":1,"ts":1767571200000,"node":"n","epoch":1,"resource":"memory","alarm_node":"n","action":"set","used":5}'


def test_a_row_that_came_twice_is_there_once_and_a_bad_line_is_kept(tmp_path):
    folder = tmp_path / "alarm_event"
    folder.mkdir()
    first, second = folder / "20260105T00.0001.ndjson", folder / "20260105T01.0001.ndjson.open"
    first.write_text(f"{GOOD}\n{GOOD}\nno line\n{GOOD}".replace('"used":5', '"used":7', 1))
    second.write_text(f"{GOOD.replace('1200000', '1200001')}\nhalf a li\n{GOOD[:20]}")
    warehouse = Warehouse(tmp_path / "w", datetime(2026, 1, 6, tzinfo=UTC))
    run = Run(None, warehouse, tmp_path, Window(datetime(2026, 1, 5, tzinfo=UTC), warehouse.now), quiet=True)
    assert ingest.run(run) == {"files": 2, "lines": 6, "new rows": 2, "bad lines": 2}
    assert warehouse.dates("alarm_event") == [date(2026, 1, 5)]
    assert [(row["resource"], row["why"]) for row in rows_there(warehouse, ALARM_EVENT)] == [("memory", None)] * 2
    bad = warehouse.folder / "_bad/alarm_event"
    assert [(path.name, path.read_text()) for path in sorted(bad.iterdir())] == [
        (first.name, "no line\n"),
        (second.stem, "half a li\n"),
    ]
    octets = second.stat().st_size - 20
    second.rename(second.with_suffix(""))
    assert ingest.run(run) == {"files": 1, "lines": 1, "new rows": 0, "bad lines": 1}
    assert (bad / f"{second.stem}.{octets}").read_text() == f"{GOOD[:20]}\n"
    assert (bad / second.stem).read_text() == "half a li\n"
    assert ingest.run(run)["files"] == 0


def test_what_a_node_writes_has_no_bad_lines(tmp_path):
    world = World()
    telemetry = Telemetry(world.broker, tmp_path, 10_000, 7)
    peer = world.connect()
    peer.declare("q")
    for _ in range(2):
        peer.publish("", "q", b"abc")
        peer.publish("", "nowhere", b"")
        telemetry.sample()
        world.advance(10_000)
    peer.publish("", "q", b"abc")
    world.broker.alarms.set("memory", "short")
    peer.publish("", "nowhere", b"")
    world.run()
    telemetry.check()
    telemetry.stop()
    now = datetime(2023, 11, 15, tzinfo=UTC)
    warehouse = Warehouse(tmp_path / "w", now)
    run = Run(None, warehouse, tmp_path / FOLDER, Window(datetime(2023, 11, 14, tzinfo=UTC), now), quiet=True)
    figures = ingest.run(run)
    assert figures["bad lines"] == 0
    assert figures["new rows"] == figures["lines"]
    assert [row["publish_total"] for row in rows_there(warehouse, QUEUE_SAMPLE)] == [1, 2, 3]
    counts = {name: len(rows_there(warehouse, table)) for name, table in RAW.items()}
    assert counts == {
        "queue_sample": 3,
        "connection_sample": 3,
        "node_sample": 3,
        "alarm_event": 1,
        "block_event": 1,
        "trace_event": 2,
        "gap": 0,
    }
