import logging

import pytest

from pybroker.control import commands
from pybroker.control.spec import BadArguments
from pybroker.core.resources.resource_limits import TotalMemory

GIB = 1 << 30
EXPECTED = "Bad argument.\nExpected a fraction such as 0.6, or absolute and a size such as 2GiB or 2000000000"


@pytest.fixture
def marks(operator):
    marks = operator.world.broker.settings.watermarks
    marks.set_total(TotalMemory(5 * GIB, "RAM", 5 * GIB))
    return marks


def test_b15_a_fraction_of_the_memory_there_is(operator, marks, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    text = operator.ask("set_vm_memory_high_watermark", threshold="0.4")
    assert marks.memory_limit_octets == 2 * GIB
    expected = "Memory limit set to 2147483648 octets (2,147.5 MB: 0.4 of 5,368.7 MB, RAM); 0.0 MB are used"
    assert text == expected
    assert "Memory limit set to 2048MB." in caplog.text
    # B1: it may have been changed while the node ran.
    assert operator.daemon.asked == ["measure_memory", "check_alarms"]


def test_b14_status_and_environment_show_it(operator, marks):
    operator.ask("set_vm_memory_high_watermark", threshold="absolute", value="1GB")
    document = operator.ask("status")
    assert document["vm_memory_high_watermark_setting"] == {"absolute": 10**9}
    assert document["vm_memory_high_watermark_limit"] == 10**9
    assert operator.world.broker.settings.set_at_run_time == {"vm_memory_high_watermark.absolute": "1000000000"}
    operator.ask("set_vm_memory_high_watermark", threshold="0.25")
    assert operator.ask("status")["vm_memory_high_watermark_setting"] == {"relative": 0.25}
    assert list(operator.world.broker.settings.set_at_run_time)[-1] == "vm_memory_high_watermark.relative"


def test_b11_above_one_is_accepted_with_a_warning(operator, marks, caplog):
    operator.ask("set_vm_memory_high_watermark", threshold="100")
    assert marks.memory_limit_octets == 500 * GIB
    assert "Memory high watermark of 100.0 is above 1: it can never be reached" in caplog.text
    command = commands.load("set_vm_memory_high_watermark")
    assert (
        "100 times the available memory is a limit that cannot be exceeded: the memory alarm will never be "
        "set" == command.warn(command.args("100"))
    )
    assert ["", "", ""] == [command.warn(command.args(*one)) for one in (["1.0"], ["0"], ["absolute", "100GB"])]


def test_b10_zero_blocks_all_publishing_before_the_command_returns(operator, marks, peer):
    marks.measured.used = 300 << 20
    peer.declare("q")
    peer.publish("", "q", b"x")
    text = operator.ask("set_vm_memory_high_watermark", threshold="0")
    assert marks.memory_limit_octets == 0
    limit, alarm = text.splitlines()
    assert limit == "Memory limit set to 0 octets (0.0 MB: 0.0 of 5,368.7 MB, RAM); 314.6 MB are used"
    assert alarm == (
        "The memory alarm is set: 314.6 MB used, 0.0 MB allowed. Publishers are blocked; "
        "'pybrokerctl why_blocked' lists them."
    )
    assert (["blocking"], True) == (operator.list("list_connections", "state"), bool(operator.world.broker.alarms))
    peer.publish("", "q", b"x")
    assert ["blocked"] == operator.list("list_connections", "state")
    # B5: service resumes.
    operator.ask("set_vm_memory_high_watermark", threshold="0.4")
    assert (operator.list("list_connections", "state"), bool(operator.world.broker.alarms)) == (["running"], False)


def test_an_absolute_limit_above_all_there_is_is_said_to_be_less(operator, marks):
    text = operator.ask("set_vm_memory_high_watermark", threshold="absolute", value="8GiB")
    assert text.startswith(
        "Memory limit set to 5368709120 octets (8GiB, capped at the available memory: 5,368.7 MB, RAM); "
    )
    text = operator.ask("set_vm_memory_high_watermark", threshold="absolute", value="1GiB")
    assert text.startswith("Memory limit set to 1073741824 octets (1GiB: 1,073.7 MB of 5,368.7 MB, RAM); ")


@pytest.mark.parametrize(
    ("given", "code", "text"),
    [
        ({"threshold": "absolute"}, 64, "not enough arguments."),
        ({"threshold": "0.5", "value": "1GB"}, 64, "too many arguments."),
        ({"threshold": "abc"}, 65, f"{EXPECTED}, not 'abc'"),
        ({"threshold": "nan"}, 65, f"{EXPECTED}, not 'nan'"),
        ({"threshold": "-0.5"}, 65, "Bad argument: The threshold should be a fraction of 0.0 or more"),
        ({"threshold": "absolute", "value": "1.5GB"}, 65, "Bad argument: The threshold should be an integer."),
        ({"threshold": "absolute", "value": "1XB"}, 65, "Bad argument: Invalid units."),
        (
            {"threshold": "absolute", "value": "much"},
            65,
            "Bad argument.\nExpected a size such as 2GiB or 2000000000, not 'much'",
        ),
    ],
)
def test_what_is_no_threshold_is_refused_before_anything_is_asked(given, code, text):
    with pytest.raises(BadArguments) as refused:
        commands.load("set_vm_memory_high_watermark").parse(given)
    assert (refused.value.exit_code, refused.value.text) == (code, text)


def test_the_banner_is_rabbitmqctls():
    command = commands.load("set_vm_memory_high_watermark")
    assert command.banner(command.args("0.5")) == "Setting memory threshold on {node} to {threshold} ..."
    banner = command.banner(command.args("absolute", "1GB"))
    assert banner == "Setting memory threshold on {node} to {value} bytes ..."
