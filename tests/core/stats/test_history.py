"""Samples of a queue: what is kept of many, and the figures between two of them."""

import pytest

from pybroker.core.stats.history import FINE_MAX, MINUTE_MS, NOTHING, WINDOW_MS_MAX, Change, Figures, History

STEP_MS = 5_000


def figures(number):
    return Figures(number, number, number, 10 * number)


@pytest.fixture
def long_history():
    """A history of an hour in which one message came every five seconds."""
    history = History(0, NOTHING)
    for number in range(1, 721):
        history.add(number * STEP_MS, figures(number))
    return history


def test_an_hour_is_kept_as_a_minute_of_samples_and_ten_of_minutes(long_history):
    assert len(long_history) <= FINE_MAX + 22
    now_ms = 720 * STEP_MS
    for window_ms, off_ms in ((10_000, 0), (MINUTE_MS, 0), (WINDOW_MS_MAX, MINUTE_MS)):
        when_ms, found = long_history.at(now_ms - window_ms, now_ms, now_ms)
        assert abs(when_ms - (now_ms - window_ms)) <= off_ms
        assert found == figures(when_ms // STEP_MS)


def test_what_rests_takes_two_samples(long_history):
    resting, last = len(long_history), figures(720)
    for number in range(721, 900):
        long_history.add(number * STEP_MS, last)
    assert len(long_history) <= resting + 1
    assert long_history.resting_ms == 179 * STEP_MS
    assert long_history.at(800 * STEP_MS + 1, 900 * STEP_MS, 900 * STEP_MS) == (800 * STEP_MS + 1, last)


def test_one_that_is_shrunk_knows_its_last_figures():
    history = History(0, figures(3))
    history.rest(STEP_MS)
    history.shrink()
    assert len(history) == 1
    assert history.at(2 * STEP_MS, 3 * STEP_MS, 3 * STEP_MS) == (2 * STEP_MS, figures(3))


def test_what_left_is_what_came_and_is_not_there():
    assert Change(ms=1_000, entered=10, messages=4, waiting=4, octets_waiting=40).left == 6
