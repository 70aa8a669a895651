"""What is told of each cause, where the commands' tests do not see it."""

import pytest

from pybroker.amqp import line, session
from pybroker.control import causes
from pybroker.core import alarm, credit, paging, throttle
from pybroker.core.watermark import TotalMemory

MIB = 1 << 20


@pytest.fixture
def broker(world):
    world.broker.settings.watermarks.take_total(TotalMemory(1_000 * MIB, "RAM", 1_000 * MIB))
    return world.broker


def explain(broker, resource="memory"):
    pauses = []
    found = next(one for one in broker.alarms if one.resource == resource)
    return causes.of_alarm(broker, found, pauses.append), pauses


def test_limits_and_names_are_those_of_who_holds_back():
    assert (credit.PEER_OCTETS_MAX, credit.NODE_OCTETS_MAX) == (causes.PEER_OCTETS_MAX, causes.NODE_OCTETS_MAX)
    assert session.REPLY_OCTETS_MAX == causes.REPLY_OCTETS_MAX
    assert (line.REPLIES_MAX, line.OCTETS_MAX) == (causes.REPLIES_MAX, causes.REPLIES_OCTETS_MAX)
    assert paging.MESSAGE_OCTETS == causes.MESSAGE_OCTETS
    assert (throttle.JOURNAL, throttle.PEER) == (causes.JOURNAL, causes.PEER)
    assert alarm.BY_HAND == causes.BY_HAND


@pytest.mark.parametrize(("used_mib", "fraction"), [(100, "0.4"), (410, "0.6"), (800, "1"), (900, "")])
def test_the_command_allows_some_more_than_is_used_but_no_more_than_there_is(broker, used_mib, fraction):
    expected = f"set_vm_memory_high_watermark {fraction}" if fraction else ""
    assert expected == causes.set_limit(broker, used_mib * MIB)


def test_an_absolute_limit_is_raised_as_one(broker):
    broker.settings.watermarks.set_memory_octets(100 * MIB)
    assert "set_vm_memory_high_watermark absolute 138MiB" == causes.set_limit(broker, 110 * MIB)
    assert "" == causes.set_limit(broker, 900 * MIB)


def test_a_limit_of_0_is_told_as_what_it_is(broker):
    broker.settings.watermarks.set_memory_relative(0)
    broker.alarms.set("memory", "1 MB used, 0 MB allowed")
    reason, _ = explain(broker)
    assert "the memory limit is 0, which stops all publishing" == reason.why
    assert "pybrokerctl set_vm_memory_high_watermark 0.4" == reason.advice


def test_where_no_queue_holds_much_the_breakdown_is_pointed_at(broker):
    broker.settings.watermarks.measured.used = 900 * MIB
    broker.alarms.set("memory", "900 MB used, 400 MB allowed")
    reason, _ = explain(broker)
    assert reason.why.endswith("; queues hold little of it")
    assert "see 'pybrokerctl memory_breakdown'" == reason.advice


def test_the_three_fullest_of_many_queues_are_named_and_others_go_on_meanwhile(broker, world, monkeypatch):
    monkeypatch.setattr(causes, "QUEUES_PER_SLICE", 2)
    peer = world.connect()
    for number in (1, 3, 2, 5, 4):
        peer.declare(f"q{number}")
        peer.publish("", f"q{number}", b"x" * (MIB * number))
    broker.alarms.set("memory", "much")
    reason, pauses = explain(broker)
    named = [f"q{number}" for number in range(1, 6) if f"'q{number}'" in reason.why]
    assert (["q3", "q4", "q5"], [0, 0]) == (named, pauses)
    assert reason.why.index("q5") < reason.why.index("q4") < reason.why.index("q3")


def test_an_alarm_by_hand_is_cleared_by_hand(broker):
    broker.alarms.set_by_hand("disk")
    reason, _ = explain(broker, "disk")
    assert "an operator set the alarm" == reason.why
    assert "pybrokerctl eval 'rabbit_alarm:clear_alarm({resource_limit, disk, node()}).'" == reason.advice


def test_b21_another_nodes_alarm_is_looked_at_there(broker):
    broker.alarms.set("memory", "much", "pybroker@other")
    reason, _ = explain(broker)
    assert ("much, on node pybroker@other", "look at that node") == (reason.why, reason.advice)


def test_d11_a_disk_that_is_full_whatever_its_figures_say_needs_room(broker):
    broker.settings.watermarks.measured.disk_free = 1 << 40
    broker.alarms.set("disk", "the log cannot be written: no space left")
    reason, _ = explain(broker, "disk")
    assert ("the log cannot be written: no space left", "make room") == (reason.why, reason.advice)


def test_all_connections_together_are_told_where_they_count(world, monkeypatch):
    peer = world.connect()
    monkeypatch.setattr(type(world.broker.log), "uncommitted_octets", property(lambda _: 65 * MIB), raising=False)
    why = causes.of_session(peer.session, "journal").why
    assert why.endswith(
        "of all connections together 65.0 MB, and it is not read from 64.0 MB on until there are 32.0 MB"
    )


def test_a_cause_that_is_not_known_is_called_by_its_name(world):
    reason = causes.of_session(world.connect().session, "moon")
    assert ("other", "moon", "moon could not follow") == (reason.kind, reason.what, reason.why)
