"""Which files are read, and which lines are rows; the whole of it is in test_day."""

from datetime import UTC, date, datetime

import pytest
from fakes import World

from pybroker.daemon.telemetry import FOLDER, Telemetry
from pybroker.spark.pipeline.jobs import ingest
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import ALARM_EVENT, QUEUE_SAMPLE, RAW
from pybroker.spark.pipeline.tables import Warehouse

GOOD = '{"v":1,"ts":1767571200000,"node":"n","epoch":1,"resource":"memory","alarm_node":"n","action":"set","used":5}'


def put(folder, *names, octets=3):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"x" * octets)


def test_closed_files_are_read_once_and_open_ones_each_time(tmp_path):
    closed = ("20260105T00.0001.ndjson", "20260105T01.0001.ndjson")
    put(tmp_path / "t", *closed, "20260106T00.0001.ndjson.open", "notes.txt", "2026.ndjson")
    files = ingest.find(tmp_path, "t", {closed[0]: 3})
    assert [path.name for path in files.closed] == [closed[1]]
    assert [path.name for path in files.open] == ["20260106T00.0001.ndjson.open"]
    assert files.dates == {date(2026, 1, 5), date(2026, 1, 6)}


def test_a_file_that_grew_since_is_read_again(tmp_path):
    put(tmp_path / "t", "20260105T00.0001.ndjson", octets=4)
    assert ingest.find(tmp_path, "t", {"20260105T00.0001.ndjson": 3}).closed
    assert ingest.find(tmp_path, "none", {}) == ([], [])


@pytest.mark.spark
def test_a_line_is_a_row_or_bad(spark):
    pytest.importorskip("pyspark")
    bad = {
        "cut": GOOD[:50],
        "no JSON": "hello",
        "another version": GOOD.replace('"v":1', '"v":2'),
        "no time": GOOD.replace('"ts":1767571200000,', ""),
        "no key": GOOD.replace('"action":"set",', ""),
        "another type": GOOD.replace('"used":5', '"used":"many"'),
        "another day than its file": GOOD.replace("1767571200000", "1767657600000"),
    }
    lines = spark.createDataFrame(
        [(line, "20260105T00.0001.ndjson") for line in (GOOD, *bad.values())], ["value", "file"]
    )
    parsed = ingest.judge(ingest.parse(lines, ALARM_EVENT), ALARM_EVENT)
    found = {row.value: row.bad for row in parsed.select("value", "bad").collect()}
    assert found == {GOOD: False, **dict.fromkeys(bad.values(), True)}
    rows = ingest.rows(parsed, ALARM_EVENT)
    (row,) = rows.collect()
    assert (row.used, row.resource, row.why, row.date) == (5, "memory", None, date(2026, 1, 5))
    assert ingest.merge(rows, rows, ALARM_EVENT).count() == 1


@pytest.mark.spark
def test_what_a_node_writes_has_no_bad_lines(spark, tmp_path):
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
    world.run()
    telemetry.look()
    telemetry.stop()
    now = datetime(2023, 11, 15, tzinfo=UTC)
    warehouse = Warehouse(tmp_path / "w", now)
    run = Run(spark, warehouse, tmp_path / FOLDER, Window(datetime(2023, 11, 14, tzinfo=UTC), now), quiet=True)
    figures = ingest.run(run)
    assert figures["bad lines"] == 0
    assert figures["new rows"] == figures["lines"]
    totals = warehouse.read(spark, QUEUE_SAMPLE, warehouse.dates("queue_sample")).orderBy("ts").select("publish_total")
    assert [row.publish_total for row in totals.collect()] == [1, 2, 3]
    counts = {table: warehouse.count(table, warehouse.dates(table)) for table in RAW}
    assert counts == {
        "queue_sample": 3,
        "connection_sample": 3,
        "node_sample": 3,
        "alarm_event": 1,
        "block_event": 1,
        "trace_event": 2,
    }
