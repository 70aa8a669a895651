"""The file of rules: what it may say, and where it is wrong."""

import re
from pathlib import Path

import pytest

from pybroker.spark.pipeline import jobs
from pybroker.spark.pipeline.alerts import incidents, rules
from pybroker.spark.pipeline.alerts.rules import USUAL, Alert, Rules, Target
from pybroker.spark.pipeline.failure import FailureError
from tests.sources import ROOT

ALL = """
prometheus = "/var/lib/node_exporter/pybroker.prom"
webhook = "https://alerts.example.com/hook"
webhook_header_file = "/etc/pybroker/webhook"
clear_after = "1h"

[[alert]]
report = "backlog"
when = "ready>100000"
after = "10m"

[[alert]]
report = "alarms"

[[target]]
queue = "orders.*"
vhost = "shop"
head_age = "1m"
time_to_consume = 30
share = 0.999
"""


def read(folder, text):
    (folder / "rules.toml").write_text(text)
    return rules.load(folder)


def test_all_that_may_be_said(tmp_path):
    assert read(tmp_path, ALL) == Rules(
        (Alert("backlog", "ready>100000", 600), Alert("alarms")),
        (Target("orders.*", "shop", 60, 30, 0.999),),
        3_600,
        Path("/var/lib/node_exporter/pybroker.prom"),
        "https://alerts.example.com/hook",
        Path("/etc/pybroker/webhook"),
    )


def test_without_a_file_there_are_none_and_an_empty_one_means_the_usual_alerts(tmp_path):
    assert rules.load(tmp_path) is None
    assert read(tmp_path, "") == Rules(USUAL)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", "Expected '=' after a key in a key/value pair (at end of document)"),
        ("x = 1", "there is no key x: alert, clear_after, prometheus, target, webhook, webhook_header_file"),
        ('webhook = "ftp://h/"', "webhook must be an address with http or https, not 'ftp://h/'"),
        ('prometheus = "x.prom"', "prometheus must be a whole path, not 'x.prom'"),
        (
            'clear_after = "soon"',
            "clear_after must be a duration of whole seconds, for example 90s or 1h30m; not 'soon'",
        ),
        ('[[alert]]\nreport = "x"', "alert: report must be one of backlog, blocked, alarms, capacity, unroutable"),
        ('[[alert]]\nreport = "slo"\nwhen = "x"', "alert: when must be a column, a comparison and a value, or any"),
        ('[[target]]\nqueue = "q"', "target: needs queue, and head_age or time_to_consume"),
        ('[[target]]\nqueue = "q"\nhead_age = 1\nshare = 1.0', "target: share must be a number between 0 and 1"),
    ],
)
def test_what_is_wrong_is_a_sentence(tmp_path, text, expected):
    with pytest.raises(FailureError) as caught:
        read(tmp_path, text)
    assert caught.value.text.startswith(f"{tmp_path}/rules.toml: {expected}")
    assert caught.value.code == 65


def test_the_example_of_the_manual_is_read_and_its_conditions_fit(tmp_path):
    page = (ROOT / "man/pybroker-pipeline.7").read_text().replace(r"\-", "-")
    (example,) = re.findall(r"\.nf\n(prometheus = .*?)\.fi\n", page, re.DOTALL)
    found = read(tmp_path, example)
    assert [alert.report for alert in found.alerts] == ["backlog", "alarms"]
    assert found.targets == (Target("orders.*", "*", 60, 30, 0.999),)
    for alert in (*found.alerts, *USUAL):
        job = jobs.load(alert.report)
        columns = [{"name": name, "help": text} for name, text in job.COLUMNS]
        assert incidents.found(alert, columns, []) == []
