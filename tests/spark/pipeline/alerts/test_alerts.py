"""Alerts of a run: none twice, none lost, whenever the run is killed and whoever does not answer."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from pybroker.spark.pipeline.alerts.alerts import Alerts
from pybroker.spark.pipeline.alerts.rules import Alert, Rules
from pybroker.spark.pipeline.alerts.webhook import RefusedError
from pybroker.spark.pipeline.failure import FailureError
from pybroker.spark.pipeline.tables import Warehouse

START = datetime(2026, 1, 5, 10, tzinfo=UTC)
COLUMNS = [{"name": "queue", "help": ""}, {"name": "verdict", "help": ""}]
BAD, GOOD = [["q", "grows"]], [["q", "steady"]]


class KilledError(BaseException):
    """The process ended here."""


class Story:
    """Runs of a warehouse, and what its webhook heard: status and queue."""

    def __init__(self, folder, **rules):
        self.folder, self.heard, self.fails = folder, [], False
        self.rules = Rules((Alert("backlog"),), webhook="http://127.0.0.1:1/", **rules)

    def post(self, url, body, headers):
        del url, headers
        if self.fails:
            raise RefusedError("nobody is there")
        self.heard += [(one["status"], one["labels"].get("queue", "")) for one in json.loads(body)["alerts"]]

    def run(self, minute, rows, *, killed_at=None, until=None, seen=None):
        now = START + timedelta(minutes=minute)
        warehouse = Warehouse(self.folder, now)
        alerts = Alerts(warehouse, self.rules, self.post)
        document = {"report": "backlog", "columns": COLUMNS}
        document |= {"until": text(now if until is None else until), "seen_until": text(now if seen is None else seen)}
        saves, write = [], warehouse.write_json

        def save(name, value):
            if len(saves) == killed_at:
                raise KilledError
            saves.append(name)
            write(name, value)

        warehouse.write_json = save
        alerts.judge(document, rows)
        try:
            failed = alerts.deliver()
        except KilledError:
            return None
        heard, self.heard = self.heard, []
        return failed or heard


def text(when):
    return when.strftime("%Y-%m-%d %H:%M:%S")


@pytest.fixture
def story(tmp_path):
    return Story(tmp_path)


def test_begin_and_end_are_told_of_once(story):
    assert story.run(0, BAD) == [("firing", "q")]
    assert story.run(1, BAD) == []
    assert story.run(2, GOOD) == []
    assert story.run(17, GOOD) == [("resolved", "q")]
    assert story.run(18, GOOD) == []


def test_whoever_does_not_answer_is_told_later(story, capsys):
    story.fails = True
    assert story.run(0, BAD) == ["nobody is there"]
    assert capsys.readouterr().err == "alerts: nobody is there\n"
    story.fails = False
    assert story.run(1, BAD) == [("firing", "q")]


@pytest.mark.parametrize("killed_at", [0, 1])
def test_a_run_that_is_killed_loses_no_alert(story, killed_at):
    assert story.run(0, BAD, killed_at=killed_at) is None
    # It was killed before anybody was told, or before it knew of that: then they are told once more.
    before, story.heard = story.heard, []
    assert (before, story.run(1, BAD)) == ([("firing", "q")] * killed_at, [("firing", "q")])
    assert story.run(2, BAD) == []


def test_former_times_raise_nothing_and_old_telemetry_does(story):
    assert story.run(0, BAD, until=START - timedelta(hours=3)) == []
    assert story.run(0, BAD) == [("firing", "q")]
    # The node is silent for three hours: nobody knows whether the queue still grows.
    assert story.run(180, GOOD, seen=START) == [("firing", "")]
    assert story.run(181, GOOD, seen=START) == []
    assert story.run(182, BAD) == []
    assert story.run(200, BAD) == [("resolved", "")]
    assert story.run(215, GOOD) == [("resolved", "q")]


def test_an_alert_without_a_rule_ends(story):
    story.run(0, BAD)
    story.rules = story.rules._replace(alerts=(Alert("slo"),))
    assert story.run(1, BAD) == [("resolved", "q")]


def test_prometheus_sees_the_state_and_a_folder_that_is_not_there_is_told_of(tmp_path):
    story = Story(tmp_path, prometheus=tmp_path / "p.prom")
    story.run(0, BAD)
    assert 'pybroker_alert{queue="q",report="backlog",verdict="grows"} 1\n' in (tmp_path / "p.prom").read_text()
    assert 'pybroker_report_findings{report="backlog"} 1\n' in (tmp_path / "p.prom").read_text()
    story.rules = story.rules._replace(prometheus=tmp_path / "none/p.prom")
    assert story.run(1, BAD) == [f"{tmp_path}/none/p.prom: No such file or directory"]


def test_a_rule_that_does_not_fit_and_a_damaged_state_are_sentences(story, tmp_path):
    story.rules = story.rules._replace(alerts=(Alert("backlog", "x>1"),))
    with pytest.raises(FailureError, match=r"rules.toml: alert: there is no column x: queue, verdict"):
        story.run(0, BAD)
    (tmp_path / "_alerts.json").write_text("{")
    with pytest.raises(FailureError, match=r"_alerts.json is damaged: .* if it is removed, alerts that last"):
        story.run(0, BAD)
    assert Alerts.of(Warehouse(tmp_path / "none")) is None
