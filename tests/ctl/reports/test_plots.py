"""Plots: round axes, everything inside the picture."""

import re
from xml.etree import ElementTree as ET

import pytest

from pybrokerctl.reports import plots
from tests.ctl.reports.sample import REPORT


def picture(plot):
    svg = re.match(r"<svg.*?</svg>", plots.draw(plot, REPORT), re.DOTALL)
    return ET.fromstring(svg[0])


@pytest.mark.parametrize(
    ("most", "expected"), [(0, (1, 0.2)), (1, (1, 0.2)), (1_050, (1_250, 250)), (7, (8, 2)), (43_200, (50_000, 10_000))]
)
def test_an_axis_ends_at_a_round_number(most, expected):
    assert plots.ceiling(most) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "expected"), [(0, "0"), (9_999, "9999"), (12_500, "12.5k"), (2e6, "2M"), (3e9, "3G")]
)
def test_numbers_on_an_axis_are_short(value, expected):
    assert plots.short(value) == expected


@pytest.mark.parametrize("plot", REPORT["plots"], ids=lambda plot: plot["kind"])
def test_every_kind_is_a_picture_with_everything_in_it(plot):
    svg = picture(plot)
    width, height = (float(each) for each in svg.get("viewBox").split()[2:])
    for one in svg.iter():
        for name, most in (("x", width), ("x1", width), ("x2", width), ("y", height), ("y1", height), ("y2", height)):
            assert 0 <= float(one.get(name, 0)) <= most
    assert svg.get("aria-label") == plot["title"]


def test_octets_are_drawn_in_mib_with_alarms_behind():
    svg = picture(REPORT["plots"][0])
    labels = [one.text for one in svg.iter("text")]
    assert {"0", "200", "1000", "12:00"} <= {*labels}
    assert len([one for one in svg.iter("rect") if one.get("class") == "band"]) == 1
    assert len([*svg.iter("path")]) == 2


def test_the_axis_is_as_long_as_the_telemetry():
    report = {**REPORT, "since": "2025-12-30 00:00:00", "seen_from": "2026-01-05 11:55:00"}
    drawn = plots.draw(REPORT["plots"][1], {**report, "seen_until": "2026-01-05 12:20:00"})
    assert "12:05" in drawn
    assert "Jan" not in re.sub("<title>.*?</title>", "", drawn)
    # Of one sample five minutes are shown.
    once = {**report, "seen_from": "2026-01-05 12:20:00", "seen_until": "2026-01-05 12:20:00"}
    assert "12:16" in plots.draw(REPORT["plots"][1], once)


def test_a_window_of_many_days_has_dates():
    report = {**REPORT, "since": "2026-01-01 00:00:00", "until": "2026-02-01 00:00:00"}
    assert "08 Jan" in plots.draw(REPORT["plots"][1], report)
    short = {**REPORT, "since": "2026-01-05 00:00:00", "until": "2026-01-08 00:00:00"}
    assert "06 Jan 00:00" in plots.draw(REPORT["plots"][1], short)
