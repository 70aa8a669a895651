"""Candidates are replayed; what happened is told, and how much history says so."""

import json
from datetime import timedelta
from functools import partial
from types import SimpleNamespace

import pytest

from pybroker.spark.pipeline.jobs import capacity
from pybroker.spark.pipeline.jobs.limit_advice import Choice
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import NODE_SAMPLE
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.pipeline.jobs.rows import NOON, arrow, at, put

MIB = 1 << 20


def test_of_all_candidates_the_one_to_have_alone_has_a_command():
    need = SimpleNamespace(mem_total=1_000, mem_limit=410, watermark=None, disk_limit=70)
    wanted = {"memory": Choice("0.5", 500, "why", "type this"), "disk": Choice("70", 70, "why")}
    tried = capacity.candidates(need, wanted)
    assert [(label, octets) for resource, label, octets, *_ in tried if resource == "memory"] == [
        *(("0.3", 300), ("0.4", 400), ("410", 410), ("0.5", 500), ("0.6", 600), ("0.7", 700), ("0.8", 800)),
        ("0.9", 900),
    ]
    assert [(label, command) for _, label, *_, command in tried if command] == [("0.5", "type this")]
    assert [label for _, label, _, in_force, *_ in tried if in_force] == ["410", "70"]
    assert [label for _, label, _, _, chosen, _ in tried if chosen] == ["0.5", "70"]
    assert not [one for one in capacity.candidates(need, {"memory": wanted["memory"]}) if one[0] == "disk"]


def test_a_candidate_fires_when_it_is_exceeded_not_while():
    used = [1, 5, 6, 2, 7, 1]
    rows = [{"ts": at(0, 10 * n), "epoch": 1, "mem_used": each, "disk_free": 10 - each} for n, each in enumerate(used)]
    samples = arrow(NODE_SAMPLE, *rows)
    tried = [("memory", 4), ("memory", 6), ("memory", 9), ("disk", 5), ("disk", 0)]
    assert {each: capacity.replay(samples, *each) for each in tried} == {
        ("memory", 4): (2, 30.0),
        ("memory", 6): (1, 10.0),
        ("memory", 9): (0, 0.0),
        ("disk", 5): (2, 20.0),
        ("disk", 0): (0, 0.0),
    }


@pytest.fixture
def told(tmp_path):
    return partial(report, tmp_path)


def report(tmp_path, samples):
    """Return the report of these samples, as (memory used, disk space free), ten seconds apart."""
    rows = [
        {"ts": at(0, 10 * n), "epoch": 1, "mem_used": used * MIB, "disk_free": free, "mem_total": 1_000 * MIB}
        for n, (used, free) in enumerate(samples)
    ]
    limits = {"mem_limit": 400 * MIB, "watermark": 0.4, "paging_ratio": 0.5, "disk_limit": 50_000_000}
    warehouse = Warehouse(tmp_path, NOON)
    put(warehouse, NODE_SAMPLE, *rows, **limits)
    run = Run(None, warehouse, tmp_path, Window(NOON, NOON + timedelta(hours=2)), quiet=True)
    capacity.run(run)
    return json.loads((tmp_path / "_reports/capacity.json").read_text())


def test_minutes_of_little_use_recommend_what_is_in_force(told):
    document = told([(20 + n % 2, 10**10) for n in range(31)])
    assert dict(document["summary"])["history"] == (
        "2026-01-05 12:00:00 to 2026-01-05 12:05:00, 31 samples, sampled for 5 minutes"
    )
    memory, disk = (f"{what}: leave the limit at" for what in ("memory", "disk"))
    assert document["advice"] == [
        "5 minutes of history (31 samples) are too little to lower a limit, or to call one right: that takes 6 days",
        f"{memory} 0.4, which never set the alarm: less than an hour of history says nothing yet",
        f"{disk} 50MB, which never set the alarm: less than an hour of history says nothing yet",
    ]
    columns = [column["name"] for column in document["columns"]]
    rows = [dict(zip(columns, row, strict=True)) for row in document["rows"]]
    assert {row["command"] for row in rows} == {""}
    assert [(row["candidate"], row["in_force"]) for row in rows if row["recommended"]] == [
        ("0.4", True),
        ("50MB", True),
    ]


def test_an_alarm_is_reason_enough_to_raise_a_limit(told):
    document = told([*[(300, 10**10)] * 361, (450, 10**10 - 80_000_000), (500, 10**10)])
    command = "pybrokerctl set_vm_memory_high_watermark 0.7"
    assert document["advice"][1:] == [
        f"memory: raise the limit, which set the alarm once, for 10 s: {command}",
        (
            "memory: 500 MiB in use and the fastest rise in ten minutes, 200 MiB, do not fit into "
            "0.4; 0.7 would never have set the alarm"
        ),
        (
            "memory: the command holds until the node stops; for good, in pybroker.conf: "
            "vm_memory_high_watermark.relative = 0.7"
        ),
        "disk: raise the limit, which never set the alarm: pybrokerctl set_disk_free_limit 100MB",
        (
            "disk: the fastest fall in ten minutes, 76 MiB, takes more than it keeps free; 100MB would never have set "
            "the alarm"
        ),
        "disk: the command holds until the node stops; for good, in pybroker.conf: disk_free_limit.absolute = 100MB",
        "memory: the alarm held publishers, so they need at least so much; look again after the change",
    ]
    assert [row[7] for row in document["rows"] if row[7]] == [command, "pybrokerctl set_disk_free_limit 100MB"]
