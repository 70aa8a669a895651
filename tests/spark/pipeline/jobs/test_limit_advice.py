"""A known history has a known answer: leave the limit, or type this command."""

from types import SimpleNamespace

import pytest

from pybroker.spark.pipeline.jobs import limit_advice

MIB = 1 << 20
GIB = 1 << 30
WEEK_S = 7 * 86_400
SET_MEMORY = "pybrokerctl set_vm_memory_high_watermark"
SET_DISK = "pybrokerctl set_disk_free_limit"


def need(**changes):
    """Return a quiet week: a gibibyte of four in use, a rise and a fall that fit."""
    facts = {"mem_peak": GIB, "mem_p999": GIB, "rise": GIB // 4, "mem_total": 4 * GIB, "mem_limit": int(0.4 * 4 * GIB)}
    facts |= {"disk_least": 10**10, "disk_last": 2 * 10**10, "fall": 30_000_000, "disk_limit": 50_000_000}
    return SimpleNamespace(**facts | {"watermark": 0.4, "paging_ratio": 0.5, "seen_s": WEEK_S} | changes)


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
def test_the_part_that_is_needed_holds_what_was_used_and_the_fastest_rise(changes, expected):
    assert limit_advice.watermark(need(**changes)) == expected


@pytest.mark.parametrize(
    ("changes", "command", "why"),
    [
        ({}, "", "1,024 MiB in use and the fastest rise in ten minutes, 256 MiB, fit"),
        ({"seen_s": 4_000}, "", "there is too little history to say more"),
        # minutes of next to nothing are no reason to lower it
        (
            {"seen_s": 4_000, "mem_peak": 9 * MIB, "mem_p999": 9 * MIB, "rise": 0},
            "",
            "there is too little history to say more",
        ),
        (
            {"mem_peak": 9 * MIB, "mem_p999": 9 * MIB, "rise": 0},
            "",
            "9.0 MiB in use and the fastest rise in ten minutes, 0.0 MiB, fit",
        ),
        (
            {"mem_peak": 2 * GIB, "mem_p999": 2 * GIB, "seen_s": 4_000},
            f"{SET_MEMORY} 0.6",
            "2,048 MiB in use and the fastest rise in ten minutes, 256 MiB, do not fit into 0.4",
        ),
        (
            {"mem_peak": 2 * GIB},
            "",
            ("that was a peak of 2,048 MiB; 1,024 MiB in use and the fastest rise in ten minutes, 256 MiB, fit"),
        ),
        (
            {"rise": GIB},
            f"{SET_MEMORY} 0.5",
            ("1,024 MiB in use and the fastest rise in ten minutes, 1,024 MiB, do not fit into 0.4"),
        ),
        ({"rise": GIB, "seen_s": 4_000}, "", "there is too little history to say more"),
        (
            {"mem_limit": int(0.95 * 4 * GIB), "watermark": 0.95},
            f"{SET_MEMORY} 0.4",
            (
                "above 0.8 the system itself runs short, and 1,024 MiB in use and the fastest rise in ten minutes, "
                "256 MiB, fit"
            ),
        ),
        (
            {"mem_limit": int(0.95 * 4 * GIB), "watermark": 0.95, "seen_s": 4_000},
            "",
            "there is too little history to say more",
        ),
    ],
)
def test_what_to_do_about_the_memory_limit(changes, command, why):
    given = need(**changes)
    found = limit_advice.memory(given)
    assert (found.command, found.why) == (command, why)
    if not command:
        assert found.octets == given.mem_limit


def test_a_command_comes_with_the_line_that_holds_for_good():
    raised = limit_advice.memory(need(rise=GIB))
    assert (raised.label, raised.octets) == ("0.5", 2 * GIB)
    assert raised.setting == "vm_memory_high_watermark.relative = 0.5"
    assert limit_advice.disk(need(fall=300_000_000)).setting == "disk_free_limit.absolute = 500MB"


def test_a_limit_in_octets_is_called_by_them():
    assert limit_advice.memory(need(mem_limit=2 * 10**9, watermark=None)).label == "2GB"


@pytest.mark.parametrize(
    ("changes", "command", "why"),
    [
        ({}, "", "the fastest fall in ten minutes, 29 MiB, leaves time to react"),
        ({"fall": 0}, "", "disk space never fell"),
        ({"fall": None, "seen_s": 4_000}, "", "disk space never fell, as far as this little history tells"),
        (
            {"fall": 300_000_000, "seen_s": 4_000},
            f"{SET_DISK} 500MB",
            "the fastest fall in ten minutes, 286 MiB, takes more than it keeps free",
        ),
        (
            {"fall": 300_000_000, "disk_last": 400_000_000},
            "",
            (
                "the fastest fall in ten minutes, 286 MiB, takes more than it keeps free, "
                "but just 381 MiB are free: make room"
            ),
        ),
        # a limit that somebody chose stays, unless it set an alarm that was too early
        (
            {"disk_limit": 5 * 10**9},
            "",
            "the fastest fall in ten minutes, 29 MiB, leaves time to react",
        ),
        (
            {"disk_limit": 5 * 10**9, "disk_least": 4 * 10**9},
            f"{SET_DISK} 50MB",
            "3,815 MiB were free at least, and the fastest fall in ten minutes, 29 MiB, leaves time with less",
        ),
        (
            {"disk_limit": 5 * 10**9, "disk_least": 4 * 10**9, "seen_s": 4_000},
            "",
            "the fastest fall in ten minutes, 29 MiB, leaves time to react, as far as this little history tells",
        ),
    ],
)
def test_what_to_do_about_the_disk_limit(changes, command, why):
    given = need(**changes)
    found = limit_advice.disk(given)
    assert (found.command, found.why) == (command, why)
    if not command:
        assert found.octets == given.disk_limit


def test_no_step_is_above_the_last():
    assert limit_advice.disk(need(fall=10**12, disk_last=10**13)).label == "50GB"


def test_messages_leave_memory_in_time():
    assert limit_advice.paging(need(rise=GIB // 4), GIB) == 0.75
    assert limit_advice.paging(need(rise=2 * GIB), GIB) == limit_advice.PAGING_MIN
    assert limit_advice.paging(need(rise=0), GIB) == limit_advice.PAGING_MAX


@pytest.mark.parametrize(("octets", "expected"), [(5 * 10**9, "5GB"), (50 * 10**6, "50MB"), (123, "123")])
def test_sizes_are_what_commands_take(octets, expected):
    assert limit_advice.size(octets) == expected


def test_eight_minutes_say_nothing():
    peak = {"mem_peak": 2 * GIB, "mem_p999": 2 * GIB, "disk_least": 1, "fall": 10**9, "seen_s": 480}
    for found in (limit_advice.memory(need(**peak)), limit_advice.disk(need(**peak))):
        assert (found.command, found.why) == ("", "less than an hour of history says nothing yet")
