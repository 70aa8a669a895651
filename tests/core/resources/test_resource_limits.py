"""Limits of memory and disk: their octets, and the documents' log lines to the letter."""

import logging
import sys

import pytest

from pybroker.core.resources.resource_limits import ASSUMED, MIB, ResourceLimits, TotalMemory

GIB = 1 << 30


@pytest.fixture(autouse=True)
def log(caplog):
    caplog.set_level(logging.INFO, "pybroker")


def marks_of(octets: int, source: str = "RAM", installed: int | None = None) -> ResourceLimits:
    marks = ResourceLimits()
    marks.set_total(TotalMemory(octets, source, octets if installed is None else installed))
    return marks


def lines(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_b2_the_default_is_four_tenths_and_d1_fifty_million():
    marks = ResourceLimits()
    assert (0.4, None, None, 50_000_000) == (
        marks.memory_relative,
        marks.memory_octets,
        marks.disk_relative,
        marks.disk_octets,
    )
    # B16: one gigabyte is assumed until somebody has measured.
    assert ASSUMED.octets == GIB
    assert marks.memory_limit_octets == 429_496_729


def test_b13_the_line_of_the_memory_limit(caplog):
    marks_of(5 * GIB).log_memory()
    assert lines(caplog) == ["Memory limit set to 2048MB. (2147483648 octets of 5368709120, RAM)"]


def test_b8_figures_are_cut_off_not_rounded(caplog):
    # The documents' example: 4 GB in a 32-bit process; 40 % of 2 GB is 819.2 MB.
    marks_of(2 * GIB, "address space", 4 * GIB).log_memory()
    assert lines(caplog)[-1].startswith("Memory limit set to 819MB. ")


def test_b9_less_address_space_than_memory_is_warned_about_once(caplog):
    total = TotalMemory(2048 * MIB, "address space", 12_037 * MIB)
    marks = ResourceLimits()
    marks.set_total(total)
    marks.set_total(total)
    assert lines(caplog) == ["Only 2048MB of 12037MB memory usable due to limited address space."]


def test_a_control_group_is_named_as_the_reason(caplog):
    marks_of(512 * MIB, "cgroup v2", 8 * GIB)
    assert lines(caplog) == ["Only 512MB of 8192MB memory usable due to the control group's limit."]


def test_b1_a_new_measurement_moves_a_relative_limit():
    marks = marks_of(10 * GIB)
    assert marks.memory_limit_octets == 4 * GIB
    marks.set_total(TotalMemory(20 * GIB, "RAM", 20 * GIB))
    assert marks.memory_limit_octets == 8 * GIB


def test_an_absolute_limit_is_no_more_than_there_is():
    marks = marks_of(GIB)
    marks.set_memory_octets(3 * GIB)
    assert marks.memory_limit_octets == GIB
    marks.set_memory_octets(5)
    assert marks.memory_limit_octets == 5


def test_b10_zero_and_b11_above_one(caplog):
    marks = marks_of(GIB)
    marks.set_memory_relative(0.0)
    assert marks.memory_limit_octets == 0
    assert [record.levelname for record in caplog.records] == ["INFO"]
    marks.set_memory_relative(3.0)
    assert marks.memory_limit_octets == 3 * GIB
    assert "Memory high watermark of 3.0 is above 1: it can never be reached" in lines(caplog)


def test_b16_above_one_may_be_meant_where_the_memory_is_assumed(caplog):
    ResourceLimits().set_memory_relative(3.0)
    assert lines(caplog) == [
        "Memory high watermark of 3.0 is above 1: it can be reached only with more memory than the 1024MB assumed",
        "Memory limit set to 3072MB. (3221225472 octets of 1073741824, assumed)",
    ]


def test_d5_the_line_of_the_disk_limit(caplog):
    marks = marks_of(2 * GIB)
    marks.set_disk_octets(1_000_000_000)
    marks.set_disk_octets(50_000_000)
    assert lines(caplog) == [
        "Disk free limit set to 953MB (1000000000 octets)",
        "Disk free limit set to 47MB (50000000 octets)",
    ]


def test_d3_a_disk_limit_relative_to_the_memory():
    marks = marks_of(2 * GIB)
    marks.set_disk_relative(1.0)
    assert marks.disk_limit_octets == 2 * GIB
    marks.set_disk_octets(7)
    assert (marks.disk_limit_octets, marks.disk_relative) == (7, None)


def test_c2_paging_begins_at_half_of_the_limit():
    assert (2 * GIB, 4 * GIB) == (marks_of(10 * GIB).paging_octets, marks_of(10 * GIB).memory_limit_octets)


def test_c3_three_quarters_of_four_tenths_is_thirty_percent():
    marks = marks_of(10 * GIB)
    marks.paging_ratio = 0.75
    assert (3 * GIB, 4 * GIB) == (marks.paging_octets, marks.memory_limit_octets)


def test_c4_above_one_nothing_is_paged():
    marks = marks_of(10 * GIB)
    marks.paging_ratio = 1.0
    assert marks.paging_octets == marks.memory_limit_octets
    marks.paging_ratio = 1.1
    assert marks.paging_octets == sys.maxsize


def test_how_much_there_is_may_be_configured(caplog):
    marks = ResourceLimits()
    marks.total_override_octets = 2 * GIB
    marks.set_total(TotalMemory(GIB, "cgroup v2", 8 * GIB))
    assert marks.total == TotalMemory(2 * GIB, "configured", 8 * GIB)
    assert lines(caplog) == []


def test_nothing_is_measured_at_first():
    measured = ResourceLimits().measured
    assert (0, 0, 0, 0, None) == (
        measured.rss,
        measured.accounted,
        measured.reusable,
        measured.used,
        measured.disk_free,
    )
