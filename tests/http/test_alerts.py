"""The rules for alerts: about metrics that there are, and each fires and clears (by promtool, where that is)."""

import json
import re
import shutil
import subprocess

import pytest

from pybroker.http.metrics import collect
from pybroker.http.metrics.families import FAMILIES
from pybroker.net.server import files_max
from tests.sources import ROOT

RULES = ROOT / "etc/pybroker-alerts.yml"
Q = '{vhost="/",queue="q",instance="a"}'
# Of each rule: series, the first value with which it fires, and one with which it does not; how long it takes.
STORIES = {
    "PybrokerDown": ({'up{job="pybroker",instance="a"}': ("0", "1")}, "2m"),
    "PybrokerMemoryAlarm": ({'rabbitmq_alarms_memory_used_watermark{instance="a"}': ("1", "0")}, "2m"),
    "PybrokerDiskAlarm": ({'rabbitmq_alarms_free_disk_space_watermark{instance="a"}': ("1", "0")}, "2m"),
    "PybrokerMemoryNearLimit": (
        {
            'rabbitmq_process_resident_memory_bytes{instance="a"}': ("900", "500"),
            'rabbitmq_resident_memory_limit_bytes{instance="a"}': ("1000", "1000"),
        },
        "12m",
    ),
    "PybrokerDiskNearLimit": (
        {
            'rabbitmq_disk_space_available_bytes{instance="a"}': ("100000-100x", "100000"),
            'rabbitmq_disk_space_available_limit_bytes{instance="a"}': ("90000", "90000"),
        },
        "30m",
    ),
    "PybrokerNoDescriptors": ({'rabbitmq_alarms_file_descriptor_limit{instance="a"}': ("1", "0")}, "2m"),
    "PybrokerFewDescriptors": (
        {
            'rabbitmq_process_open_fds{instance="a"}': ("720", "100"),
            'rabbitmq_process_max_fds{instance="a"}': ("1000", "1000"),
        },
        "7m",
    ),
    "PybrokerLoginsFail": ({'rabbitmq_auth_attempts_failed_total{instance="a"}': ("0+120x", "0+6x")}, "15m"),
    "PybrokerOldMessage": ({f"pybroker_queue_head_age_seconds{Q}": ("1000", "10")}, "7m"),
    "PybrokerQueueFillsUp": ({f"pybroker_queue_time_to_full_seconds{Q}": ("600", "7200")}, "7m"),
    "PybrokerMessagesDropped": (
        {
            f"pybroker_queue_dropped_total{Q}": ("0+1x", "5"),
            f"pybroker_queue_refused_total{Q}": ("0", "0"),
        },
        "15m",
    ),
}
ALERTS = re.findall(r"- alert: (\w+)", RULES.read_text())


def test_each_rule_has_a_story():
    assert set(STORIES) == set(ALERTS)


def test_rules_are_about_metrics_that_there_are(node):
    text = "".join(collect.aggregated(node))
    known = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)) | {
        one.name for family in FAMILIES.values() for one in family.series
    }
    used = set(re.findall(r"\b((?:rabbitmq|pybroker)_\w+)", "\n".join(re.findall(r"expr: (.*)", RULES.read_text()))))
    assert used
    assert used <= known


def test_few_descriptors_are_told_before_nobody_is_let_in(monkeypatch):
    (share,) = re.findall(r"process_open_fds > ([\d.]+) \*", RULES.read_text())
    for limit in (200, 1_024, 65_536, 1_048_576):
        monkeypatch.setattr("pybroker.descriptors.limit", lambda limit=limit: limit)
        assert float(share) * limit < 0.95 * files_max()


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_each_rule_fires_and_clears(tmp_path):
    tests = []
    for name, (series, after) in STORIES.items():
        for place, fires in ((0, True), (1, False)):
            inputs = [{"series": key, "values": _values(values[place])} for key, values in series.items()]
            tests.append(
                {
                    "interval": "1m",
                    "input_series": inputs,
                    "promql_expr_test": [
                        {
                            "expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}})',
                            "eval_time": after,
                            "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
                        }
                    ],
                }
            )
    path = tmp_path / "stories.yml"
    path.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _values(text):
    """Return Prometheus' notation for an hour of a value, or of steps: `5`, `0+1x`."""
    return f"{text}60" if text.endswith("x") else f"{text}+0x60"
