"""Alarms: whose they are, what is told of them, and when somebody has to know."""

import logging

import pytest

from pybroker.core.resources.alarm import DISK, FILES, MEMORY, Alarm, Alarms
from pybroker.core.settings import Settings
from tests.clock import FakeClock

HERE = "pybroker@here"


@pytest.fixture
def changes():
    return []


@pytest.fixture
def alarms(changes):
    alarms = Alarms(Settings(node_name=HERE), FakeClock())
    alarms.change_observers.append(lambda: changes.append(alarms.reason))
    return alarms


def test_without_any_nobody_is_blocked(alarms):
    assert (False, False, "", [], ()) == (bool(alarms), MEMORY in alarms, alarms.reason, list(alarms), alarms.resources)


def written(caplog):
    return [line for each in caplog.records for line in (each.getMessage(), *each.event.more)]


def test_an_alarm_is_one_event_of_the_log(alarms, caplog):
    alarms.set(DISK, "1 MB free, 2 MB required")
    alarms.clear(DISK)
    facts = {"resource": DISK, "alarmed_node": HERE}
    assert [
        ("alarm.disk.set", {**facts, "why": "1 MB free, 2 MB required"}),
        ("alarm.disk.cleared", facts),
    ] == [(each.event.id, each.event.fields) for each in caplog.records]


def test_b6_the_log_has_rabbitmqs_lines(alarms, caplog):
    with caplog.at_level(logging.WARNING, "pybroker"):
        alarms.set(MEMORY, "2 MB used, 1 MB allowed")
        alarms.clear(MEMORY)
    assert written(caplog) == [
        f"memory resource limit alarm set on node {HERE}.",
        "*" * 58,
        "*** Publishers will be blocked until this alarm clears ***",
        "*" * 58,
        f"memory resource limit alarm cleared on node {HERE}",
        "memory resource limit alarm cleared across the cluster",
    ]


def test_e12_files_shut_the_door_and_block_nobody(alarms, changes, caplog):
    with caplog.at_level(logging.WARNING, "pybroker"):
        alarms.set(FILES, "1,000 of 1,024 are open")
        assert (False, True, "") == (bool(alarms), FILES in alarms, alarms.reason)
        alarms.clear(FILES)
    assert "file descriptor limit alarm set." == written(caplog)[0]
    assert "*** New connections will not be accepted until this alarm clears ***" == written(caplog)[2]
    assert "file descriptor limit alarm cleared" == written(caplog)[-1]


def test_e9_the_reason_has_them_in_the_order_in_which_they_were_set(alarms):
    alarms.set(MEMORY, "")
    assert "low on memory" == alarms.reason
    alarms.set(DISK, "")
    assert "low on memory & disk" == alarms.reason
    alarms.clear(MEMORY)
    assert "low on disk" == alarms.reason
    alarms.set(MEMORY, "")
    assert "low on disk & memory" == alarms.reason


def test_one_that_is_set_learns_a_new_why_and_nothing_else_happens(alarms, changes):
    alarms.set(DISK, "9 MB free")
    alarms.set(DISK, "8 MB free")
    assert [Alarm(DISK, HERE, "8 MB free", 0)] == [alarm._replace(since_ms=0) for alarm in alarms]
    assert ["low on disk"] == changes
    alarms.clear(MEMORY)
    assert ["low on disk"] == changes


def test_operators_read_a_sentence_for_each(alarms):
    alarms.set(DISK, "9 MB free")
    alarms.set(MEMORY, "2 MB used", "pybroker@there")
    here, there = f"Free disk space alarm on node {HERE}: 9 MB free", "Memory alarm on node pybroker@there: 2 MB used"
    assert ([here, there], [here], [there]) == (
        alarms.sentences(),
        alarms.sentences(HERE),
        alarms.sentences("pybroker@there"),
    )


def test_b21_d8_an_alarm_of_any_node_blocks_and_only_the_last_one_unblocks(alarms, changes, caplog):
    alarms.set(MEMORY, "", "pybroker@there")
    alarms.set(MEMORY, "")
    alarms.clear(MEMORY)
    assert alarms
    caplog.clear()
    with caplog.at_level(logging.WARNING, "pybroker"):
        alarms.clear(MEMORY, "pybroker@there")
    assert not alarms
    assert [
        "memory resource limit alarm cleared on node pybroker@there",
        "memory resource limit alarm cleared across the cluster",
    ] == written(caplog)
    assert ["low on memory", "low on memory", "low on memory", ""] == changes


def test_what_was_set_by_hand_stays_whatever_is_measured(alarms, changes):
    alarms.set_by_hand(MEMORY)
    alarms.clear(MEMORY)
    assert [f"Memory alarm on node {HERE}: set by an operator"] == alarms.sentences()
    # Short indeed, and not any more.
    alarms.set(MEMORY, "2 MB used, 1 MB allowed")
    assert [f"Memory alarm on node {HERE}: 2 MB used, 1 MB allowed"] == alarms.sentences()
    alarms.clear(MEMORY)
    assert [f"Memory alarm on node {HERE}: set by an operator"] == alarms.sentences()
    alarms.clear_by_hand(MEMORY)
    assert ([], ["low on memory", ""]) == (alarms.sentences(), changes)


def test_setting_by_hand_what_is_short_keeps_the_reason_as_long_as_it_is(alarms):
    alarms.set(DISK, "no room")
    alarms.set_by_hand(DISK)
    assert [f"Free disk space alarm on node {HERE}: no room"] == alarms.sentences()
    alarms.clear(DISK)
    assert [f"Free disk space alarm on node {HERE}: set by an operator"] == alarms.sentences()
    alarms.clear_by_hand(DISK)
    assert [] == alarms.sentences()


def test_each_observer_is_told_of_each_change(alarms, changes):
    others, events = [], []
    alarms.change_observers.append(lambda: others.append(alarms.reason))
    for number in (1, 2):
        alarms.observers.add(lambda event, facts, _, number=number: events.append((number, event, facts["source"])))
    alarms.set(MEMORY, "much")
    alarms.clear(MEMORY)
    assert ["low on memory", ""] == changes == others
    assert [(1, "alarm.set", MEMORY), (2, "alarm.set", MEMORY)] == events[:2]
    assert [(1, "alarm.cleared", MEMORY), (2, "alarm.cleared", MEMORY)] == events[2:]
