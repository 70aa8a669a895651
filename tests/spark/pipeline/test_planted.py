"""Planted faults: every figure of every report equals the log of truth, and a clean day has no findings."""

import json
import re
from datetime import timedelta

import pytest

from pybroker.spark.pipeline.jobs import REPORTS
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import QUEUE_SAMPLE
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.pipeline.planted import CLEAN, END, START, Planted, at
from tests.spark.pipeline.planted_queues import BACK, MIB, ONE, SECONDS, TWO

MINUTE = timedelta(minutes=1)
RULES = """
[[target]]
queue = "overflow"
vhost = "/"
head_age = "1m"

[[target]]
queue = "q?"
head_age = "1m"
time_to_consume = "30s"
share = 0.999
"""


class Story:
    """The planted telemetry, and the reports of a window of it by name."""

    def __init__(self, folder):
        self.planted = Planted(folder / "telemetry")
        self.folder = folder / "warehouse"
        self.prometheus = folder / "pybroker.prom"

    def run(self, names, start):
        from pybroker.spark.pipeline.runner import perform

        window = Window(start, start + timedelta(seconds=SECONDS) + MINUTE)
        warehouse = Warehouse(self.folder, window.until)
        self.folder.mkdir(exist_ok=True)
        (self.folder / "rules.toml").write_text(f'prometheus = "{self.prometheus}"\n{RULES}')
        with warehouse.lock():
            perform(Run(None, warehouse, self.planted.folder, window, quiet=True), names)
        return {name: self._report(name) for name in names if name in REPORTS}

    def alerts(self):
        """Return the alerts that are raised, as Prometheus sees them: report, verdict, and what it is about."""
        found = re.findall(r"^pybroker_alert\{(.*)\} 1$", self.prometheus.read_text(), re.MULTILINE)
        labels = [dict(re.findall(r'(\w+)="(.*?)"', one)) for one in found]
        return {tuple(one.get(name, "") for name in ("report", "verdict", "queue", "resource")) for one in labels}

    def _report(self, name):
        document = json.loads((self.folder / "_reports" / f"{name}.json").read_text())
        columns = [column["name"] for column in document["columns"]]
        document["rows"] = [dict(zip(columns, row, strict=True)) for row in document["rows"]]
        document["summary"] = dict(document["summary"])
        return document


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    return Story(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def reports(story):
    # The clean day is the newer date: it is rolled up as well.
    story.run(["ingest"], START)
    story.run(["rollup"], CLEAN)
    found = story.run(["rollup", *REPORTS], START)
    story.raised = story.alerts()
    return found


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


def test_steady_queues_have_no_slope(reports):
    rows = rows_of(reports["backlog"])
    assert {name: rows[name]["slope_per_h"] for name in ("q0", "q1", "q2", "q3", "jobs")} == dict.fromkeys(
        ("q0", "q1", "q2", "q3", "jobs"), 0
    )


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
    assert {row["verdict"] for row in clean["forecast"]["rows"]} == {"none"}
    assert {row["verdict"] for row in clean["slo"]["rows"]} == {"met", "no target"}
    assert {row["verdict"] for row in clean["trends"]["rows"]} == {"no history"}
    assert not [row for row in clean["capacity"]["rows"] if row["command"]]
    assert {name: report["advice"] for name, report in clean.items() if report["advice"]}.keys() <= {
        "capacity",
        "accounting",
    }


def test_alerts_are_raised_for_what_lasts_and_end_with_it(story, reports, clean):
    assert {(report, verdict, queue) for report, verdict, queue, _ in story.raised} == {
        ("backlog", "full", "overflow"),
        ("backlog", "grows", "linear"),
        ("backlog", "grows", "octets"),
        ("backlog", "grows", "back-grows"),
        ("consumers", "missing", "overflow"),
        ("consumers", "idle", "octets"),
        ("consumers", "idle", "back-grows"),
        ("forecast", "short", "overflow"),
        ("forecast", "soon", "linear"),
        ("forecast", "soon", "octets"),
        ("slo", "missed", "overflow"),
    }
    assert story.alerts() == set()


def test_capacity_is_the_truth(reports):
    rows = {(row["resource"], row["candidate"]): row for row in reports["capacity"]["rows"] if row["node"] == ONE}
    # More than 960 MiB were used from second 1,161 to 1,500, and 50 MB free space were missing for two minutes.
    memory, disk = rows["memory", "0.4"], rows["disk", "50MB"]
    assert (memory["fired"], disk["fired"], disk["seconds"]) == (1, 1, 120)
    assert abs(memory["seconds"] - (1_500 - 1_161)) <= 20
    # 1,000 MiB in use and 600 MiB within ten minutes are two thirds of 2,400 MiB.
    assert [row["candidate"] for row in rows.values() if row["recommended"]] == ["0.7", "5GB"]
    assert rows["memory", "0.7"]["fired"] == 0
    summary = reports["capacity"]["summary"]
    assert summary[f"{ONE}: most memory used, MiB"] == 1_000
    assert summary[f"{ONE}: fastest rise in ten minutes, MiB"] == 600
    assert summary[f"{ONE}: least disk space free, MiB"] == round(40_000_000 / MIB, 1)


def test_forecast(reports):
    rows = {(row["queue"], row["resource"]): row for row in reports["forecast"]["rows"] if row["node"] == ONE}
    linear, octets = rows["linear", "messages"], rows["octets", "octets"]
    assert (linear["slope_per_h"], linear["current"], linear["bound"]) == (216_000, 36_000, 63_360)
    assert linear["soonest_s"] <= linear["reached_in_s"] == 456 <= linear["latest_s"]
    assert linear["in_a_day"] == 36_000 + 24 * 216_000
    assert (octets["slope_per_h"], octets["reached_in_s"]) == (36_000_000, 8_200)
    # Memory was short for a while, and disk space: neither has a trend.
    assert {rows["", name]["verdict"] for name in ("memory", "disk")} == {"none"}
    assert reports["forecast"]["summary"] == {
        "gauges": len(reports["forecast"]["rows"]),
        "short": 1,
        "soon": 2,
        "later": 0,
    }


def test_accounting(story, reports):
    report = reports["accounting"]
    for node in (ONE, TWO):
        rows = {(row["scope"], row["name"]): row for row in report["rows"] if row["node"] == node}
        users = {("user", "shop"): 3, ("user", "billing"): 3, ("publisher", "shop-2"): 2, ("vhost", "/"): 6}
        for key, part in users.items():
            row = rows[key]
            assert (row["published"], row["delivered"]) == (10 * part * SECONDS, 5 * part * SECONDS)
            assert (row["octets_in"], row["octets_out"]) == (1_000 * part * SECONDS, 500 * part * SECONDS)
            # While the disk was short, connections were not sampled: time of these minutes belongs to nobody.
            assert row["cpu_share"] == pytest.approx(part / 6, abs=0.02)
        assert sum(row["cpu_s"] for (scope, _), row in rows.items() if scope in {"user", "node"}) == 720
        waiting = [queue for queue in story.planted.nodes[node].queues if queue.died > SECONDS]
        assert rows["vhost", "/"]["peak_backlog"] <= sum(queue.peak for queue in waiting)
        assert rows["vhost", "/"]["peak_backlog"] >= sum(queue.ready for queue in waiting)


def test_service_levels(story, reports):
    rows = rows_of(reports["slo"])
    late = rows["overflow"]
    # From second 5,461 on the oldest message is older than a minute, up to the end of the last one.
    assert (late["verdict"], late["head_age_target_s"], late["head_age_s"]) == ("missed", 60, 199)
    assert abs(late["missed_s"] - (SECONDS + 60 - 5_461)) <= 60
    assert abs(late["head_age_kept"] - (1 - late["missed_s"] / SECONDS)) < 0.01
    assert {rows[name]["verdict"] for name in ("q0", "q1", "q2", "q3")} == {"met"}
    assert rows["octets"]["head_age_s"] == story.planted.queue("octets").head_age_s == 1_799
    # 36,000 messages wait, and 20 a second leave.
    assert rows["linear"]["time_to_consume_s"] == 1_800


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
