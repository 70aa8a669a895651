"""Forecasts: the recent slope drawn on, with its bounds; what comes and goes is no trend."""

from random import Random

import pytest

from pybroker.spark.pipeline.jobs import forecast, levels
from pybroker.spark.pipeline.jobs.forecast import Gauge
from pybroker.spark.pipeline.schemas import NODE_1M, QUEUE_1M
from tests.spark.pipeline.jobs.rows import at, minutes

MIB = 1 << 20
HOURS = range(360)


def memory(values, bound=1_000 * MIB, **facts):
    points = [(60.0 * n, value) for n, value in enumerate(values)]
    return forecast.forecast(Gauge("memory", "n", points, bound, **facts), points[-1][0])


def test_memory_that_grows_reaches_its_limit():
    # A MiB a minute from 400 MiB on, after five quiet hours: 540 minutes are left.
    row = memory([400 * MIB] * 300 + [(400 + n) * MIB for n in range(1, 61)])
    assert (row.verdict, row.slope_per_h) == ("soon", 60 * MIB)
    assert row.reached_in_s == row.soonest_s == row.latest_s == 540 * 60
    assert (row.slope_s, row.in_a_day) == (pytest.approx(3_600, abs=60), (460 + 24 * 60) * MIB)
    sentence = "memory of n: 460.0 MiB, limit 1,000.0 MiB; 60.0 MiB more an hour, as over the last 1 h"
    assert forecast.advice(row).startswith(sentence)
    assert forecast.advice(row).endswith("reached in 9 h")


def test_bounds_tell_how_certain_it_is():
    noise = Random(5)
    row = memory([round((400 + n / 10 + noise.gauss(0, 5)) * MIB) for n in HOURS])
    assert row.slope_low < row.slope_high
    assert row.slope_low <= 6 * MIB <= row.slope_high
    assert row.soonest_s < row.reached_in_s < row.latest_s
    assert row.verdict == "later"


@pytest.mark.parametrize(
    "values",
    [
        [400 * MIB] * 360,
        [(900 - n) * MIB for n in HOURS],
        # A saw: ten minutes up, and down again, never as high as before.
        [(400 + n % 10 * (10 - n / 60)) * MIB for n in HOURS],
        # So slow that it is nothing.
        [400 * MIB + n for n in HOURS],
    ],
    ids=["steady", "falls", "saw", "slow"],
)
def test_what_leads_nowhere_has_no_time(values):
    row = memory(values)
    assert (row.verdict, row.reached_in_s, row.latest_s) == ("none", None, None)


def test_disk_space_falls_to_its_limit():
    row = memory([(10_000 - 10 * n) * MIB for n in HOURS], bound=50 * MIB, falls=True)
    assert (row.verdict, row.reached_in_s) == ("soon", (10_000 - 3_590 - 50) / 10 * 60)
    less = memory([40 * MIB] * 360, bound=50 * MIB, falls=True)
    assert (less.verdict, less.reached_in_s) == ("short", None)
    row = less._replace(resource="disk")
    assert forecast.advice(row) == "disk of n: 40.0 MiB, limit 50.0 MiB: less is free than required"


def test_gauges_are_those_of_nodes_and_of_queues_that_live():
    zero = {"vhost": "/", "unacked_last": 0, "length_max": 1_000}
    nodes = [{"ts": at(n), "mem_used_max": 5, "mem_limit": 9, "disk_free_min": 7, "disk_limit": 3} for n in range(20)]
    queues = [
        *({"ts": at(n), "queue": "q", "ready_last": 10 * n, "bytes_last": 50 * n, **zero} for n in range(20)),
        *({"ts": at(n), "queue": "gone", "ready_last": n, "bytes_last": 0, **zero} for n in range(5)),
        *({"ts": at(n), "queue": "deleted", "ready_last": n, "deleted": n == 19, **zero} for n in range(20)),
        *({"ts": at(n), "queue": "still", "ready_last": 5, **zero} for n in range(20)),
    ]
    until = at(20)
    found = forecast.gauges(
        forecast.of_nodes(minutes(NODE_1M, *nodes), until),
        levels.recent(minutes(QUEUE_1M, *queues), until),
    )
    told = {(gauge.resource, gauge.queue): (gauge.points[-1][1], gauge.bound, gauge.falls) for gauge, _ in found}
    assert told == {
        ("memory", ""): (5, 9, False),
        ("disk", ""): (7, 3, True),
        ("messages", "q"): (190, 1_000, False),
    }
