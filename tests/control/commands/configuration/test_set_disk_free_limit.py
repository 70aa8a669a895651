import logging

import pytest

from pybroker.control import commands
from pybroker.control.spec import BadArguments
from pybroker.core.resources.resource_limits import TotalMemory

GIB = 1 << 30

EXPECTED = "Expected a size such as 2GiB or 2000000000, or mem_relative and a fraction such as 0.6"


@pytest.fixture
def marks(operator):
    marks = operator.world.broker.settings.watermarks
    marks.set_total(TotalMemory(2 * GIB, "RAM", 2 * GIB))
    return marks


def test_d10_a_size_with_a_unit(operator, marks, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    text = operator.ask("set_disk_free_limit", limit="1GB")
    assert text == "Disk free limit set to 1000000000 octets (1GB: 1,000.0 MB); free space is unknown"
    assert "Disk free limit set to 953MB (1000000000 octets)" in caplog.text
    assert operator.ask("status")["disk_free_limit"] == 10**9


def test_d3_a_multiple_of_the_memory(operator, marks):
    operator.ask("set_disk_free_limit", limit="mem_relative", fraction="1.5")
    assert operator.ask("status")["disk_free_limit"] == 3 * GIB
    assert operator.world.broker.settings.set_at_run_time == {"disk_free_limit.relative": "1.5"}
    assert operator.daemon.asked == ["measure_memory", "check_alarms"]


def test_d10_the_alarm_is_there_when_the_command_returns(operator, marks):
    marks.measured.disk_free = GIB
    text = operator.ask("set_disk_free_limit", limit="mem_relative", fraction="1.0")
    limit, alarm = text.splitlines()
    assert limit == "Disk free limit set to 2147483648 octets (2,147.5 MB: 1.0 times 2,147.5 MB); 1,073.7 MB are free"
    assert alarm == (
        "The disk alarm is set: 1,073.7 MB free, 2,147.5 MB required. Publishers are blocked; "
        "'pybrokerctl why_blocked' lists them."
    )
    assert "disk" in operator.world.broker.alarms
    text = operator.ask("set_disk_free_limit", limit="8MB")
    assert text == "Disk free limit set to 8000000 octets (8MB: 8.0 MB); 1,073.7 MB are free"
    assert not operator.world.broker.alarms


@pytest.mark.parametrize(
    ("given", "code", "text"),
    [
        ({"limit": "mem_relative"}, 64, "not enough arguments."),
        ({"limit": "1GB", "fraction": "1"}, 64, "too many arguments."),
        (
            {"limit": "abc"},
            65,
            f"Bad argument.\n{EXPECTED}, not 'abc'",
        ),
        ({"limit": "-1"}, 65, "Bad argument: The threshold should lie between 0 and 4611686018427387904 bytes"),
        (
            {"limit": "mem_relative", "fraction": "x"},
            65,
            "Bad argument.\nExpected a fraction such as 0.6, not 'x'",
        ),
    ],
)
def test_what_is_no_limit_is_refused_before_anything_is_asked(given, code, text):
    with pytest.raises(BadArguments) as refused:
        commands.load("set_disk_free_limit").parse(given)
    assert (refused.value.exit_code, refused.value.text) == (code, text)


def test_the_banner_is_rabbitmqctls():
    command = commands.load("set_disk_free_limit")
    assert command.banner(command.args("1GB")) == "Setting disk free limit on {node} to {limit} bytes ..."
    banner = command.banner(command.args("mem_relative", "1.5"))
    assert banner == "Setting disk free limit on {node} to {fraction} times the total RAM ..."
