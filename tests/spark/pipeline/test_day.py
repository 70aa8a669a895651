"""A day with known incidents: every report finds them with the right figures, and the same ones again.

A small day, and a full one of 500 queues every ten seconds; test_planted.py has incidents in the quick run.
"""

import json
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest

from pybroker.spark.pipeline.jobs import JOBS, REPORTS
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import QUEUE_1H, QUEUE_1M, QUEUE_SAMPLE
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.conftest import spark_environment
from tests.spark.pipeline.day import BAD_LINES, MIB, START, Day
from tests.spark.pipeline.jobs.rows import rows_there

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# Four hours in minutes: what is an hour of the day is a quarter of it.
SMALL = (20, 60, 240)
FULL = (500, 10, 8_640)


class Story:
    """A day, run through the pipeline as often as wanted."""

    def __init__(self, spark, folder, size):
        self.spark = spark
        self.day = Day(folder / "telemetry", *size).write()
        self.folder = folder / "warehouse"
        self.figures = {}

    def run(self, *names, minute=0):
        from pybroker.spark.pipeline.runner import perform

        warehouse = Warehouse(self.folder, datetime(2026, 1, 7, 0, minute, tzinfo=UTC))
        window = Window(START, self.day.until)
        with warehouse.lock():
            return perform(Run(lambda: self.spark, warehouse, self.day.folder, window, quiet=True), [*names])

    def count(self, table):
        return len(rows_there(Warehouse(self.folder), table))

    def sums(self, table, queue):
        """Return what was published to a queue and acknowledged, as any tool reads it."""
        from pyarrow import compute, dataset

        wanted = dataset.field("queue") == queue
        rows = dataset.dataset(self.folder / table.name).to_table(columns=["publish", "ack"], filter=wanted)
        return tuple(compute.sum(rows[name]).as_py() for name in ("publish", "ack"))

    def report(self, name):
        document = json.loads((self.folder / "_reports" / f"{name}.json").read_text())
        columns = [column["name"] for column in document["columns"]]
        document["rows"] = [dict(zip(columns, row, strict=True)) for row in document["rows"]]
        return document

    def reports(self):
        found = {name: self.report(name) for name in REPORTS}
        for document in found.values():
            del document["made_at"]
        return found


@pytest.fixture(scope="module")
def story(spark, tmp_path_factory):
    story = Story(spark, tmp_path_factory.mktemp("day"), SMALL)
    story.figures = story.run(*JOBS)["jobs"]
    return story


def check_ingest(story):
    day, figures = story.day, story.figures["ingest"]
    again = 3_600_000 // day.interval_ms  # the file that is there twice
    # Without the last line of the file that is still written to: it is cut.
    assert figures["lines"] == day.rows + len(BAD_LINES) + again
    assert figures["new rows"] == day.rows
    assert figures["bad lines"] == len(BAD_LINES)
    kept = story.folder / "_bad/queue_sample/20260105T00.0001.ndjson"
    assert kept.read_text().splitlines() == sorted(BAD_LINES)


def check_rollup(story):
    day = story.day
    for table in (QUEUE_1M, QUEUE_1H):
        # A restart in between neither loses nor invents a message.
        assert story.sums(table, "q000") == (10 * day.intervals, 10 * day.intervals)
        assert story.sums(table, "q006") == (16 * day.intervals, 16 * day.intervals)
        grown = day.intervals - day.grows_at
        assert story.sums(table, "growing") == (10 * day.intervals + 20 * grown, 10 * day.intervals)


def check_backlog(story):
    day, report = story.day, story.report("backlog")
    first = report["rows"][0]
    grown = 20 * (day.intervals - day.grows_at)
    assert (first["queue"], first["verdict"]) == ("growing", "grows")
    assert (first["ready"], first["peak"], first["peak_at"]) == (grown, grown, day.at(day.intervals - 1)[:17] + "00")
    assert first["published"] == 10 * day.intervals + grown
    assert first["drain_ratio"] == round(10 * day.intervals / first["published"], 3)
    assert [row["queue"] for row in report["rows"] if row["verdict"] == "grows"] == ["growing"]
    assert report["advice"][0].startswith("queue 'growing' in vhost '/' grows by ")
    assert [len(plot["series"]) for plot in report["plots"]] == [10]
    assert dict(report["summary"])["that grow"] == 1


def check_blocked(story):
    day, report = story.day, story.report("blocked")
    rows = {row["client_name"]: row for row in report["rows"]}
    assert set(rows) == {"shop-7", "shop-9", "shop-3"}
    held = rows["shop-7"]
    assert (held["memory_ms"], held["disk_ms"], held["flow_ms"], held["blocks"]) == (day.held_ms, 0, 0, 1)
    assert (held["longest_ms"], held["first_at"]) == (day.held_ms, day.at(day.alarm_at, 120))
    # It is not known when the disk alarm let shop-9 go: at the latest when the node ended.
    assert (rows["shop-9"]["disk_ms"], rows["shop-9"]["memory_ms"]) == (day.interval_ms, 0)
    assert (rows["shop-3"]["flow_ms"], rows["shop-3"]["flow_cause"], rows["shop-3"]["blocks"]) == (10_000, "journal", 0)
    assert dict(report["summary"])["alarms"] == 2


def check_alarms(story):
    day, report = story.day, story.report("alarms")
    memory, disk = report["rows"]
    assert (memory["resource"], memory["ended_by"], memory["set_at"]) == ("memory", "clear", day.at(day.alarm_at))
    assert memory["duration_s"] == day.alarm_intervals * day.interval_ms / 1000
    assert (memory["used"], memory["limit"], memory["worst"]) == (1_000 * MIB, 960 * MIB, 1_050 * MIB)
    assert (memory["blocked_connections"], memory["blocked_s"]) == (1, day.held_ms / 1000)
    assert memory["growers"] == "burst +600.0 MiB"
    assert (disk["resource"], disk["ended_by"], disk["set_at"]) == ("disk", "restart", day.at(day.restart_at - 2))
    assert (disk["duration_s"], disk["worst"], disk["blocked_connections"]) == (day.interval_ms / 1000, 40_000_000, 1)
    assert [plot["title"] for plot in report["plots"]] == ["Memory used", "Disk space free"]


def check_capacity(story):
    report = story.report("capacity")
    memory = {row["candidate"]: row for row in report["rows"] if row["resource"] == "memory"}
    assert [memory[one]["fired"] for one in ("0.3", "0.4", "0.5")] == [1, 1, 0]
    (force,) = (row for row in memory.values() if row["in_force"])
    assert force["candidate"] == "0.4"
    (chosen,) = (row for row in memory.values() if row["recommended"])
    # All but the highest sample had no more than 1,000 MiB, and 650 came in ten minutes: of 2,400 that is 0.69.
    assert (chosen["candidate"], chosen["command"]) == ("0.7", "pybrokerctl set_vm_memory_high_watermark 0.7")
    disk = {row["candidate"]: row for row in report["rows"] if row["resource"] == "disk"}
    assert (disk["50MB"]["fired"], disk["50MB"]["in_force"], disk["5GB"]["recommended"]) == (1, True, True)
    what = f"which set the alarm once, for {2 * story.day.interval_ms // 1000} s"
    assert f"disk: raise the limit, {what}: pybrokerctl set_disk_free_limit 5GB" in report["advice"]
    assert any("held publishers" in line for line in report["advice"])


def check_unroutable(story):
    day, report = story.day, story.report("unroutable")
    first, second, third = report["rows"]
    assert (first["exchange"], first["routing_key"], first["messages"], first["returned"]) == (
        "orders",
        "new.eu",
        3_000,
        0,
    )
    assert (first["first_at"], first["last_at"], first["octets"]) == (
        day.at(day.lost_at),
        day.at(day.lost_at + 2),
        192_000,
    )
    assert (second["routing_key"], second["messages"], second["returned"]) == ("missing", 5, 5)
    assert (third["kind"], third["reason"], third["queue"], third["messages"]) == ("dead_letter", "expired", "q001", 42)
    assert dict(report["summary"])["messages that went nowhere"] == 3_005
    assert "routing_key='new.eu'" in report["advice"][0]


def check_consumers(story):
    report = story.report("consumers")
    assert {row["verdict"] for row in report["rows"]} == {"fine"}
    assert len(report["rows"]) == min(200, story.day.queues + 2)


CHECKS = (check_ingest, check_rollup, check_backlog, check_blocked, check_alarms, check_capacity, check_unroutable)
CHECKS += (check_consumers,)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_incidents_of_a_day_are_found(story, check):
    check(story)


@pytest.mark.slow
def test_what_is_read_twice_is_the_same(story):
    before = story.reports()
    count = story.count(QUEUE_SAMPLE)
    figures = story.run(*JOBS, minute=1)["jobs"]
    assert figures["ingest"]["new rows"] == 0
    assert figures["ingest"]["bad lines"] == 0
    assert story.count(QUEUE_SAMPLE) == count
    assert story.reports() == before


@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_a_full_day_of_five_hundred_queues(spark_is_possible, tmp_path):
    # By the program, with the memory that it takes for itself.
    story = Story(None, tmp_path, FULL)
    for _ in range(2):
        before = story.reports() if story.figures else {}
        began_s = time.monotonic()
        story.figures = run_program(story)
        print(f"{story.day.rows} rows in {time.monotonic() - began_s:.0f} s: {story.figures}")
        if not before:
            for check in CHECKS:
                check(story)
            growing = story.report("backlog")["rows"][0]
            assert (growing["slope_per_h"], growing["full_in_s"]) == (7_200.0, (1_000_000 - 43_200) / 2)
            rows = story.count(QUEUE_SAMPLE)
    assert (story.figures["ingest"]["new rows"], story.figures["ingest"]["bad lines"]) == (0, 0)
    assert story.count(QUEUE_SAMPLE) == rows
    assert story.reports() == before


def run_program(story):
    # Without retention: the day is long gone.
    words = [sys.executable, "-m", "pybroker.spark.pipeline", "run", *(job for job in JOBS if job != "retention")]
    words += ["--since", str(START), "--until", str(story.day.until), "--master", "local[2]", "--quiet"]
    words += ["--warehouse", str(story.folder), "--telemetry", str(story.day.folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=spark_environment())
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout)["jobs"]
