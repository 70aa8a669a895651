"""Planted faults: every figure of every report equals the log of truth, and a clean day has no findings."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from pybroker.spark.pipeline.jobs import REPORTS
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import QUEUE_SAMPLE
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.pipeline.planted import BACK, CLEAN, END, MIB, ONE, SECONDS, START, TWO, Planted, at

pytestmark = pytest.mark.spark

MINUTE = timedelta(minutes=1)


class Story:
    """The planted telemetry, and the reports of a window of it by name."""

    def __init__(self, spark, folder):
        self.planted = Planted(folder / "telemetry")
        self.spark, self.folder = spark, folder / "warehouse"

    def run(self, names, start):
        from pybroker.spark.pipeline.runner import perform

        warehouse = Warehouse(self.folder, datetime(2026, 1, 7, tzinfo=UTC))
        window = Window(start, start + timedelta(seconds=SECONDS) + MINUTE)
        with warehouse.lock():
            perform(Run(self.spark, warehouse, self.planted.folder, window, quiet=True), names)
        return {name: self._report(name) for name in names if name in REPORTS}

    def _report(self, name):
        document = json.loads((self.folder / "_reports" / f"{name}.json").read_text())
        columns = [column["name"] for column in document["columns"]]
        document["rows"] = [dict(zip(columns, row, strict=True)) for row in document["rows"]]
        document["summary"] = dict(document["summary"])
        return document


@pytest.fixture(scope="module")
def story(spark, tmp_path_factory):
    return Story(spark, tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def reports(story):
    # The clean day is the newer date: it is rolled up as well.
    story.run(["ingest"], START)
    story.run(["rollup"], CLEAN)
    return story.run(["rollup", *REPORTS], START)


@pytest.fixture(scope="module")
def clean(story, reports):
    return story.run([*REPORTS], CLEAN)


def rows_of(report, node=ONE):
    return {row["queue"]: row for row in report["rows"] if row["node"] == node}


def test_backlog_counts_are_the_truth(story, reports):
    report = reports["backlog"]
    for node, queue in story.planted.queues():
        if node == BACK:
            continue
        row, totals = rows_of(report, node)[queue.name], queue.totals
        figures = {"published": "publish", "acked": "ack"} | {n: n for n in ("rejected", "expired", "dropped")}
        assert {name: row[name] for name in figures} == {name: totals[total] for name, total in figures.items()}
        is_gone = queue.died < SECONDS
        assert (row["ready"], row["verdict"] == "deleted") == (0 if is_gone else queue.ready, is_gone)
        left = sum(totals[name] for name in ("ack", "rejected", "expired", "dropped"))
        left += queue.ready if is_gone and queue.is_told and "discarded" in QUEUE_SAMPLE.struct().names else 0
        assert row["drain_ratio"] == round(left / totals["publish"], 3)


def test_backlog_verdicts(story, reports):
    report = reports["backlog"]
    verdicts = {name: row["verdict"] for name, row in rows_of(report).items()}
    assert {name: verdict for name, verdict in verdicts.items() if verdict not in {"steady", "empty"}} == {
        "linear": "grows",
        "octets": "grows",
        "overflow": "full",
        "one-second": "deleted",
        "deleted": "deleted",
        "vanished": "deleted",
    }
    assert {row["verdict"] for row in rows_of(report, TWO).values()} <= {"steady", "empty"}
    summary = report["summary"]
    assert (summary["that grow"], summary["that are full"]) == (3, 1)
    assert summary["without a consumer, and something waits"] == 0
    peak = rows_of(report)["linear"]
    assert peak["peak_at"] == at(SECONDS)
    # A sample is taken every ten seconds.
    assert story.planted.queue("linear").peak - peak["peak"] <= 60


def test_linear_growth(reports):
    row = rows_of(reports["backlog"])["linear"]
    assert (row["slope_per_h"], row["ready"], row["full_by"]) == (216_000, 36_000, "messages")
    assert row["slope_low"] <= 216_000 <= row["slope_high"]
    assert abs(row["slope_s"] - 600) <= 60
    assert abs(row["full_in_s"] - 456) <= 10
    assert row["full_soonest_s"] <= 456 <= row["full_latest_s"] + 10
    (line,) = (line for line in reports["backlog"]["advice"] if "'linear'" in line)
    assert "7 min 36 s" in line


def test_growth_by_octets(reports):
    row = rows_of(reports["backlog"])["octets"]
    assert (row["slope_per_h"], row["octets_per_h"]) == (36_000, 36_000_000)
    assert (row["octets"], row["octets_max"], row["full_by"]) == (18_000_000, 100_000_000, "octets")
    assert abs(row["full_in_s"] - 8_200) <= 10


@pytest.mark.xfail(reason="rows of the same time are taken for one; the telemetry is to number them")
def test_the_clock_set_back(story, reports):
    # No message is lost or counted twice.
    rows = rows_of(reports["backlog"], BACK)
    for name in ("back", "back-grows"):
        assert rows[name]["published"] == story.planted.queue(name, BACK).totals["publish"]
    assert rows["back-grows"]["verdict"] == "grows"


def test_a_clean_day_has_no_findings(clean):
    assert {row["verdict"] for row in clean["backlog"]["rows"]} <= {"steady", "empty"}
    assert {row["verdict"] for row in clean["consumers"]["rows"]} == {"fine"}
    assert [len(clean[name]["rows"]) for name in ("blocked", "alarms", "unroutable")] == [0, 0, 0]
    assert not [row for row in clean["capacity"]["rows"] if row["command"]]
    assert {name: report["advice"] for name, report in clean.items() if report["advice"]}.keys() <= {"capacity"}


def test_alarms(reports):
    memory, disk = reports["alarms"]["rows"]
    assert (memory["resource"], memory["set_at"], memory["cleared_at"]) == ("memory", at(1_200), at(1_500))
    assert (memory["duration_s"], memory["ended_by"], memory["node"]) == (300, "clear", ONE)
    assert (memory["used"], memory["limit"], memory["worst"]) == (1_000 * MIB, 960 * MIB, 1_000 * MIB)
    assert (memory["blocked_connections"], memory["blocked_s"]) == (1, 300)
    assert memory["growers"].startswith("burst +600.0 MiB")
    assert (disk["resource"], disk["set_at"], disk["duration_s"]) == ("disk", at(3_000), 120)
    assert (disk["used"], disk["limit"], disk["worst"]) == (40_000_000, 50_000_000, 40_000_000)
    assert (disk["blocked_connections"], disk["growers"]) == (0, "")
    assert reports["alarms"]["summary"] == {
        "alarms": 2,
        "still set": 0,
        "seconds to clear, on average": 210,
        "seconds of the longest": 300,
    }


def test_blocked(story, reports):
    (row,) = reports["blocked"]["rows"]
    node = story.planted.nodes[ONE]
    assert (row["client_name"], row["user"], row["memory_ms"], row["disk_ms"]) == ("shop-1", "shop", 300_000, 0)
    assert (row["flow_ms"], row["flow_cause"]) == (node.flow_ms, "journal")
    assert (row["held_ms"], row["blocks"], row["first_at"]) == (300_000 + node.flow_ms, 1, at(1_200))


def test_unroutable(story, reports):
    rows = {(row["kind"], row["queue"], row["routing_key"]): row for row in reports["unroutable"]["rows"]}
    burst = rows["unroutable", "", "new.eu"]
    assert burst["messages"] == story.planted.nodes[ONE].unroutable == 2_798
    assert (burst["first_at"], burst["last_at"]) == (at(1_800), at(1_820))
    for name, kind, total in (
        ("rejecting", "rejected", "rejected"),
        ("expiring", "expired", "expired"),
        ("overflow", "maxlen", "dropped"),
    ):
        assert rows[kind, name, name]["messages"] == story.planted.queue(name).totals[total]


def test_consumers(story, reports):
    rows = rows_of(reports["consumers"])
    verdicts = {name: row["verdict"] for name, row in rows.items() if row["verdict"] != "fine"}
    assert verdicts == {
        "rejecting": "rejects",
        "stuck": "stuck",
        "storm": "redelivery storm",
        "overflow": "missing",
        "octets": "idle",
        "burst": "idle",
        "one-second": "deleted",
        "deleted": "deleted",
        "vanished": "deleted",
    }
    assert (rows["rejecting"]["rejected"], rows["rejecting"]["delivered"]) == (1_999, 1_999)
    assert abs(rows["stuck"]["stuck_minutes"] - 6) <= 1
    storm = story.planted.queue("storm").totals
    assert (rows["storm"]["redelivered"], rows["storm"]["delivered"]) == (storm["redeliver"], storm["deliver"])
    assert abs(rows["overflow"]["missing_minutes"] - 30) <= 1
    assert {row["verdict"] for row in rows_of(reports["consumers"], TWO).values()} == {"fine"}


def test_the_window(reports):
    assert {report["since"] for report in reports.values()} == {at(0)}
    assert END + MINUTE == START + timedelta(seconds=SECONDS) + MINUTE
