"""Durations, read and written."""

import pytest

from pybroker.text.duration import UNITS_MS, milliseconds, shortest


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("500ms", 500),
        ("10s", 10_000),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("1m500ms", 60_500),
        ("2d", 2 * UNITS_MS["d"]),
        ("1w", 7 * UNITS_MS["d"]),
        ("0s", 0),
    ],
)
def test_a_duration_is_one_or_more_numbers_with_their_units(text, duration):
    assert milliseconds(text) == duration


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "-5m", "1.5h", "5M", "5min", "5m ", "5m,3s", "1h30"])
def test_anything_else_is_none(text):
    assert milliseconds(text) is None


@pytest.mark.parametrize(
    ("duration", "text"), [(0, "0ms"), (1, "1ms"), (90_000, "90s"), (3_600_000, "1h"), (3 * UNITS_MS["d"], "3d")]
)
def test_they_are_shown_in_their_largest_unit(duration, text):
    assert shortest(duration) == text
    assert milliseconds(text) == duration
