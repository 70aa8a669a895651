"""Candidates are replayed; what is recommended holds the worst there was."""

from types import SimpleNamespace

import pytest
from spark.pipeline.jobs.rows import at, frame

from pybroker.spark.pipeline.jobs import capacity
from pybroker.spark.pipeline.schemas import NODE_SAMPLE

GIB = 1 << 30


def need(**changes):
    facts = {"mem_p999": GIB, "rise": GIB // 4, "mem_total": 4 * GIB, "mem_limit": int(0.4 * 4 * GIB), "watermark": 0.4}
    facts |= {"disk_least": 10**10, "fall": 300_000_000, "disk_limit": 50_000_000, "node": "n", "paging_ratio": 0.5}
    return SimpleNamespace(**facts | changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 0.35),
        ({"rise": 0}, 0.25),
        ({"rise": None}, 0.25),
        ({"mem_p999": 4 * GIB}, 0.8),
        ({"mem_p999": 0, "rise": 0}, 0.05),
    ],
)
def test_the_watermark_holds_what_was_used_and_the_fastest_rise(changes, expected):
    assert capacity.recommended_watermark(need(**changes)) == pytest.approx(expected)


@pytest.mark.parametrize(("fall", "expected"), [(0, 50_000_000), (300_000_000, 500_000_000), (10**12, 50 * 10**9)])
def test_the_disk_limit_holds_the_fastest_fall(fall, expected):
    assert capacity.recommended_disk(need(fall=fall)) == expected


def test_messages_leave_memory_in_time():
    assert capacity.recommended_paging(need(rise=GIB // 4), GIB) == 0.75
    assert capacity.recommended_paging(need(rise=2 * GIB), GIB) == capacity.PAGING_MIN
    assert capacity.recommended_paging(need(rise=0), GIB) == capacity.PAGING_MAX


def test_every_candidate_has_its_command_and_the_one_in_force_is_among_them():
    tried = capacity.candidates(need(mem_limit=123_456_789, watermark=None))
    commands = [command for *_, command in tried]
    assert "pybrokerctl set_vm_memory_high_watermark absolute 123456789" in commands
    assert "pybrokerctl set_disk_free_limit 500MB" in commands
    assert sum(in_force for *_, in_force, _, _ in tried) == 2
    assert [command for *_, chosen, command in tried if chosen] == [
        "pybrokerctl set_vm_memory_high_watermark 0.35",
        "pybrokerctl set_disk_free_limit 500MB",
    ]
    assert not [one for one in capacity.candidates(need(disk_least=None)) if one[0] == "disk"]


@pytest.mark.parametrize(("octets", "expected"), [(5 * 10**9, "5GB"), (50 * 10**6, "50MB"), (123, "123")])
def test_sizes_are_what_commands_take(octets, expected):
    assert capacity.size(octets) == expected


@pytest.mark.spark
def test_a_candidate_fires_when_it_is_exceeded_not_while(spark):
    used = [1, 5, 6, 2, 7, 1]
    rows = [{"ts": at(0, 10 * n), "epoch": 1, "mem_used": each, "disk_free": 10 - each} for n, each in enumerate(used)]
    samples = frame(spark, NODE_SAMPLE, *rows)
    tried = [("n", "memory", 4), ("n", "memory", 6), ("n", "memory", 9), ("n", "disk", 5), ("n", "disk", 0)]
    candidates = spark.createDataFrame(tried, "node STRING, resource STRING, octets BIGINT")
    found = {
        (row.resource, row.octets): (row.fired, row.seconds) for row in capacity.replay(samples, candidates).collect()
    }
    assert found == {
        ("memory", 4): (2, 30.0),
        ("memory", 6): (1, 10.0),
        ("memory", 9): (0, 0.0),
        ("disk", 5): (2, 20.0),
        ("disk", 0): (0, 0.0),
    }
