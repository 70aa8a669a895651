"""The recent trend of a gauge, against lines that are known."""

import random

import pytest

from pybroker.spark.pipeline.jobs.trend import trend


def minutes(values, start=0):
    return [(start + 60.0 * n, float(value)) for n, value in enumerate(values)]


def test_idle_minutes_before_are_no_part_of_it():
    # An hour of nothing, then 60 a second for ten minutes.
    found = trend(minutes([0] * 60 + [3_600 * n for n in range(1, 11)]))
    assert (found.slope, found.low, found.high, found.level) == (60, 60, 60, 36_000)
    assert 3_540 <= found.since_s <= 3_660
    assert found.seconds_to(63_360, 36_000) == (456, 456, 456)


def test_rows_are_only_written_when_something_changes():
    idle = [(300.0 * n, 0.0) for n in range(12)]
    found = trend([*idle, *minutes([3_600 * n for n in range(1, 11)], 3_360)])
    assert found.slope == 60
    assert 3_240 <= found.since_s <= 3_420
    # It grew, and then nothing changed any more.
    assert trend(minutes(range(0, 10_000, 1_000)), 1_000).slope > 0
    assert trend([*minutes(range(0, 10_000, 1_000)), (840.0, 9_000.0), (1_140.0, 9_000.0)], 1_300).slope == 0


def test_a_purge_begins_anew():
    found = trend(minutes([*range(0, 60_000, 1_000), *range(0, 20_000, 1_000)]))
    assert found.slope * 60 == pytest.approx(1_000)
    assert found.since_s == 3_600


def test_outliers_do_not_move_it_and_the_interval_has_the_truth():
    shake = random.Random(5)
    missed = 0
    for _ in range(200):
        values = [100 * n + shake.gauss(0, 80) + (5_000 if n in {20, 33} else 0) for n in range(60)]
        found = trend(minutes(values))
        assert found.slope * 60 == pytest.approx(100, rel=0.15)
        missed += not found.low * 60 <= 100 <= found.high * 60
    assert missed <= 30


def test_little_is_no_trend():
    assert trend([]) is None
    assert trend(minutes([1, 2, 3, 4])) is None
    assert trend(minutes([7] * 30)).slope == 0
    # Silence of the node: what was before says nothing.
    assert trend([*minutes(range(50)), (9_000.0, 3.0)]) is None


def test_time_to_a_limit():
    falls = trend(minutes(range(1_000, 0, -10)))
    assert falls.seconds_to(0, 100) == (600, 600, 600)
    assert falls.seconds_to(2_000, 100) is None
    assert falls.seconds_to(100, 100) == (0, 0, 0)
    unsure = falls._replace(low=-0.5, high=0.1)
    assert unsure.seconds_to(0, 100) == (600, 200, None)
