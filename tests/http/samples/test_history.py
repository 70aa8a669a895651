"""Samples over time, and rates."""

import pytest

from pybroker.http.samples.history import GLOBAL, STEP_MS, History, Window

BEGIN_MS = 1_800_000_000_000


def history(seconds, per_s=2, begin_ms=BEGIN_MS):
    """Return a history of a counter and a gauge, looked at every five seconds."""
    found = History(("count", "length"))
    for second in range(0, seconds + 1, 5):
        found.add(begin_ms + 1_000 * second, (per_s * second, 7))
    return found


def test_a_rate_is_that_of_the_last_step():
    found = history(30)
    now_ms = BEGIN_MS + 30_000
    assert (found.rate("count", now_ms), found.rate("length", now_ms)) == (2.0, 0.0)
    found.add(now_ms + 5_000, (160, 2))
    assert (found.rate("count", now_ms + 5_000), found.rate("length", now_ms + 5_000)) == (20.0, -1.0)


def test_of_an_old_sample_nothing_is_known():
    assert history(30).rate("count", BEGIN_MS + 46_000) == 0.0
    assert history(0).rate("count", BEGIN_MS) == 0.0
    assert History(("count",)).details("count", BEGIN_MS, Window(10_000, 5_000)) == {"rate": 0.0, "samples": []}


def test_samples_are_those_of_the_moments_that_are_asked_for():
    now_ms = BEGIN_MS + 61_000
    found = history(60).details("count", now_ms, Window(60_000, 5_000))
    assert [each["timestamp"] for each in found["samples"]] == list(range(BEGIN_MS + 60_000, BEGIN_MS - 1, -5_000))
    assert [each["sample"] for each in found["samples"]] == list(range(120, -1, -10))
    assert (found["avg"], found["avg_rate"], found["rate"]) == (60.0, 2.0, 2.0)


def test_the_first_sample_is_told_at_the_next_moment():
    found = history(0, begin_ms=BEGIN_MS + 1_000).details("length", BEGIN_MS + 2_000, Window(60_000, 30_000))
    assert found["samples"] == [{"sample": 7, "timestamp": BEGIN_MS + 30_000}]


def test_moments_before_the_first_sample_are_left_out():
    found = history(10).details("count", BEGIN_MS + 10_000, Window(60_000, 10_000))
    assert [each["sample"] for each in found["samples"]] == [20, 0]
    assert found["avg_rate"] == 2.0


@pytest.mark.parametrize(("age_s", "step_s"), [(600, 5), (3_600, 60), (28_800, 600), (86_400, 1_800)])
def test_what_is_long_ago_is_kept_coarsely(age_s, step_s):
    day_s = 90_000
    found = history(day_s)
    now_ms = BEGIN_MS + 1_000 * day_s
    samples = found.details("count", now_ms, Window(1_000 * age_s, 1_000 * step_s))["samples"]
    assert [each["sample"] for each in samples] == [2 * (day_s - step_s * n) for n in range(age_s // step_s + 1)]


def test_only_so_many_samples_are_kept():
    found = history(200_000)
    assert [len(level) for level in found._levels] == [1 + kept // step for kept, step in GLOBAL]


def test_looks_between_two_steps_replace_each_other():
    found = History(("count",))
    for ms in (0, 1_000, 2_000, 4_000, 5_000, 7_000, 11_000):
        found.add(BEGIN_MS + ms, (ms,))
    times = [sample[0] - BEGIN_MS for sample in found._levels[0]]
    assert times[0] == 0
    assert times[-1] == 11_000
    assert len(times) <= 2 + 11_000 // STEP_MS + 1
