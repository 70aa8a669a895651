"""The explanation of each alarm, where the commands' tests do not see it."""

import pytest

from pybroker.control.explain import alarm as explain_alarm
from pybroker.core.resources.resource_limits import TotalMemory

MIB = 1 << 20


@pytest.fixture
def broker(world):
    world.broker.settings.watermarks.set_total(TotalMemory(1_000 * MIB, "RAM", 1_000 * MIB))
    return world.broker


def explain(broker, resource="memory"):
    pauses = []
    found = next(one for one in broker.alarms if one.resource == resource)
    return explain_alarm.of_alarm(broker, found, pauses.append), pauses


@pytest.mark.parametrize(("used_mib", "fraction"), [(100, "0.4"), (410, "0.6"), (800, "1"), (900, "")])
def test_the_command_allows_some_more_than_is_used_but_no_more_than_there_is(broker, used_mib, fraction):
    expected = f"set_vm_memory_high_watermark {fraction}" if fraction else ""
    assert expected == explain_alarm.set_limit(broker, used_mib * MIB)


def test_an_absolute_limit_is_raised_as_one(broker):
    broker.settings.watermarks.set_memory_octets(100 * MIB)
    assert "set_vm_memory_high_watermark absolute 138MiB" == explain_alarm.set_limit(broker, 110 * MIB)
    assert "" == explain_alarm.set_limit(broker, 900 * MIB)


def test_a_limit_of_0_is_told_as_what_it_is(broker):
    broker.settings.watermarks.set_memory_relative(0)
    broker.alarms.set("memory", "1 MB used, 0 MB allowed")
    reason, _ = explain(broker)
    assert "the memory limit is 0, which blocks every publisher" == reason.why
    assert "pybrokerctl set_vm_memory_high_watermark 0.4" == reason.advice


def test_where_no_queue_holds_much_the_breakdown_is_pointed_at(broker):
    measured = broker.settings.watermarks.measured
    measured.used, measured.accounted = 900 * MIB, 600 * MIB
    broker.alarms.set("memory", "900 MB used, 400 MB allowed")
    reason, _ = explain(broker)
    assert reason.why.endswith("; the queues hold little of it")
    assert "see 'pybrokerctl memory_breakdown'" == reason.advice


def test_the_three_fullest_of_many_queues_are_named_and_others_go_on_meanwhile(broker, world, monkeypatch):
    monkeypatch.setattr(explain_alarm, "QUEUES_PER_SLICE", 2)
    peer = world.connect()
    for number in (1, 3, 2, 5, 4):
        peer.declare(f"q{number}")
        peer.publish("", f"q{number}", b"x" * (MIB * number))
    broker.alarms.set("memory", "much")
    reason, pauses = explain(broker)
    named = [f"q{number}" for number in range(1, 6) if f"'q{number}'" in reason.why]
    assert (["q3", "q4", "q5"], 2) == (named, len(pauses))
    assert reason.why.index("q5") < reason.why.index("q4") < reason.why.index("q3")


def test_an_alarm_by_hand_is_cleared_by_hand(broker):
    broker.alarms.set_by_hand("disk")
    reason, _ = explain(broker, "disk")
    assert "an operator set the alarm" == reason.why
    assert "pybrokerctl eval 'rabbit_alarm:clear_alarm({resource_limit, disk, node()}).'" == reason.advice


def test_b21_another_nodes_alarm_is_looked_at_there(broker):
    broker.alarms.set("memory", "much", "pybroker@other")
    reason, _ = explain(broker)
    assert ("much, on node pybroker@other", "see the log of that node") == (reason.why, reason.advice)


def test_d11_a_disk_that_is_full_whatever_its_figures_say_needs_room(broker):
    broker.settings.watermarks.measured.disk_free = 1 << 40
    broker.alarms.set("disk", "the log cannot be written: no space left")
    reason, _ = explain(broker, "disk")
    assert ("the log cannot be written: no space left", "free disk space") == (reason.why, reason.advice)


def test_the_process_itself_is_named_where_it_exceeds_the_limit(broker, world):
    marks = broker.settings.watermarks
    marks.set_memory_octets(50_000_000)
    marks.measured.used, marks.measured.accounted = 80_000_000, 10_000_000
    world.connect().declare("q")
    broker.alarms.set("memory", "80.0 MB used, 50.0 MB allowed")
    reason, _ = explain(broker)
    assert reason.why.endswith("; the node's process uses 70.0 MB without any messages, which is more than the limit")
    assert reason.advice.startswith(
        "raise the limit: neither consuming nor purging can clear this alarm, or: pybrokerctl "
    )
