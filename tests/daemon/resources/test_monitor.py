"""The memory monitor, with figures in the test's hand: when it looks, what it says, and whom it tells."""

import logging

import pytest

from pybroker.core.resources.alarm import MEMORY
from pybroker.core.resources.memory_usage import ELEMENT_OCTETS, QUEUE_OCTETS
from pybroker.core.resources.resource_limits import ALLOCATED, MIB, RSS, TotalMemory
from pybroker.daemon.resources import garbage, monitor
from pybroker.daemon.resources.monitor import NEAR_MS, SUMS_MS, TRIM_OCTETS, Monitor
from pybroker.run import Held
from tests.fakes import World

TOTAL = 1_000 * MIB
# The watermark of 0.4.
LIMIT = 400 * MIB


class Trimmer:
    trims = 0

    def trim(self):
        self.trims += 1


class Machine:
    """A broker on a machine of 1,000 MiB whose resident set is what the test says, and its contents too."""

    def __init__(self, monkeypatch):
        self.world = World()
        self.broker = self.world.broker
        self.marks = self.broker.settings.watermarks
        self.marks.set_total(TotalMemory(TOTAL, "RAM", TOTAL))
        self.rss = 50 * MIB
        self.allocator = Trimmer()
        self.fed = []
        monkeypatch.setattr(type(self.broker.paging), "tick", lambda _, used: self.fed.append(used))
        # The runs of earlier tests may still go.
        self.held = Held()
        monkeypatch.setattr(monitor, "held", self.held)
        self.monitor = Monitor(self.broker, self.allocator, lambda: self.rss)
        self.monitor.check()

    @property
    def alarmed(self):
        return MEMORY in self.broker.alarms

    @property
    def used(self):
        return self.marks.measured.used

    def fill(self, octets):
        """Take contents, with as much around them."""
        self.held.octets += octets
        self.rss += 2 * octets
        self.monitor.check()

    def drain(self, octets):
        """Let contents go; the resident set stays."""
        self.held.octets -= octets
        self.monitor.check()


@pytest.fixture
def machine(monkeypatch):
    return Machine(monkeypatch)


def lines(caplog):
    return [(each.levelname, text) for each in caplog.records for text in (each.getMessage(), *each.event.more)]


def test_b18_the_level_alone_counts(machine):
    machine.rss = LIMIT
    machine.monitor.check()
    assert not machine.alarmed
    for octets, alarmed in [(1, True), (0, False), (1, True), (-1, False)]:
        machine.rss = LIMIT + octets
        machine.monitor.check()
        assert alarmed == machine.alarmed


def test_b6_the_alarm_is_logged_with_what_is_used_and_allowed(machine, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    machine.rss = 450_000_000
    machine.monitor.check()
    machine.monitor.check()
    assert lines(caplog) == [
        ("INFO", "vm_memory_high_watermark set. Memory used:450000000 allowed:419430400"),
        ("WARNING", "memory resource limit alarm set on node pybroker@localhost."),
        ("WARNING", "**********************************************************"),
        ("WARNING", "*** Publishers will be blocked until this alarm clears ***"),
        ("WARNING", "**********************************************************"),
    ]
    caplog.clear()
    machine.rss = 400_000_000
    machine.monitor.check()
    machine.monitor.check()
    assert lines(caplog) == [
        ("INFO", "vm_memory_high_watermark clear. Memory used:400000000 allowed:419430400"),
        ("WARNING", "memory resource limit alarm cleared on node pybroker@localhost"),
        ("WARNING", "memory resource limit alarm cleared across the cluster"),
    ]


def test_the_alarm_says_how_much_is_used_and_allowed(machine):
    machine.rss = 412 * MIB
    machine.monitor.check()
    assert machine.broker.alarms.sentences() == [
        "Memory alarm on node pybroker@localhost: 432.0 MB used, 419.4 MB allowed"
    ]
    machine.rss = 413 * MIB
    machine.monitor.check()
    assert "433.1 MB used" in machine.broker.alarms.sentences()[0]


def test_b10_a_watermark_of_0_is_an_alarm_at_once(machine):
    machine.marks.set_memory_relative(0.0)
    machine.monitor.check()
    assert machine.alarmed
    machine.marks.set_memory_relative(0.4)
    machine.monitor.check()
    assert not machine.alarmed


def test_b11_one_of_100_is_never_reached(machine):
    machine.marks.set_memory_relative(100.0)
    machine.rss = TOTAL
    machine.monitor.check()
    assert not machine.alarmed


def test_b19_it_looks_every_second_and_ten_times_as_often_where_the_limit_is_near(machine):
    # From where it is nothing can get to a limit of 400 GiB in a second, to one of 400 MiB it can.
    machine.marks.set_total(TotalMemory(1 << 40, "RAM", 1 << 40))
    assert machine.monitor.pause_ms == 1_000
    machine.marks.memory_interval_ms = 2_500
    assert machine.monitor.pause_ms == 2_500
    machine.rss = machine.marks.memory_limit_octets // 4 + 1
    machine.monitor.check()
    assert machine.monitor.pause_ms == NEAR_MS
    machine.marks.memory_interval_ms = 50
    assert machine.monitor.pause_ms == 50
    machine.marks.set_total(TotalMemory(TOTAL, "RAM", TOTAL))
    machine.rss = 50 * MIB
    machine.monitor.check()
    machine.marks.memory_interval_ms = 2_500
    assert machine.monitor.pause_ms == NEAR_MS


def test_so_it_does_while_contents_are_paged_out(machine):
    machine.marks.paging_ratio = 0.1
    machine.rss = 41 * MIB
    machine.monitor.check()
    assert machine.monitor.pause_ms == NEAR_MS


def test_so_it_does_while_there_is_much_to_drain(machine):
    machine.marks.set_total(TotalMemory(1 << 40, "RAM", 1 << 40))
    machine.fill(TRIM_OCTETS + 1)
    assert machine.monitor.pause_ms == NEAR_MS
    machine.drain(1)
    assert machine.monitor.pause_ms == 1_000


def test_c1_paging_is_fed_with_what_is_used(machine):
    machine.rss = 200 * MIB
    machine.monitor.check()
    assert machine.fed == [50 * MIB, 200 * MIB]


def test_b19_garbage_is_collected_when_the_alarm_is_set_and_only_then(machine, monkeypatch):
    collections = []
    monkeypatch.setattr(garbage, "collect_young", lambda: collections.append(machine.alarmed))
    machine.rss = LIMIT + 1
    machine.monitor.check()
    machine.monitor.check()
    machine.rss = 0
    machine.monitor.check()
    assert collections == [True]


def test_b20_what_was_freed_does_not_count_as_used(machine):
    machine.fill(180 * MIB)
    assert machine.alarmed
    assert machine.used == machine.rss == 410 * MIB
    machine.drain(179 * MIB)
    assert not machine.alarmed
    measured = machine.marks.measured
    assert (measured.rss, measured.reusable, measured.used) == (410 * MIB, 179 * MIB, 231 * MIB)
    assert measured.accounted == 1 * MIB


def test_b20_by_the_strategy_rss_it_does(machine):
    machine.marks.strategy = RSS
    machine.fill(180 * MIB)
    machine.drain(179 * MIB)
    assert machine.alarmed
    assert (machine.used, machine.marks.measured.reusable) == (410 * MIB, 0)
    machine.marks.strategy = ALLOCATED
    machine.monitor.check()
    assert not machine.alarmed


def test_where_the_system_does_not_tell_what_is_accounted_for_is_used(machine):
    machine.rss = 0
    machine.held.octets = LIMIT + 1
    machine.monitor.check()
    assert machine.alarmed


def test_queues_connections_and_their_buffers_are_accounted_for(machine):
    before = machine.marks.measured.accounted
    peer = machine.world.connect()
    peer.declare("q")
    queue = machine.world.vhost.queues["q"]
    machine.world.vhost.queues |= {str(number): queue for number in range(99)}
    machine.monitor.check()
    after = machine.marks.measured.accounted
    assert after - before == 100 * QUEUE_OCTETS + monitor.SESSION_OCTETS
    queue.backlog.messages_evicted = 10
    peer.session.rest = b"x" * 1_000
    peer.session.queued_octets = 500
    machine.monitor.check()
    assert machine.marks.measured.accounted == after, "the sum is not made ten times a second"
    machine.world.clock.advance(SUMS_MS)
    machine.monitor.check()
    assert machine.marks.measured.accounted == after + 1_500 + 100 * 10 * ELEMENT_OCTETS
    machine.world.vhost.queues.clear()


def test_much_that_was_freed_goes_back_to_the_system_in_portions(machine):
    machine.fill(3 * TRIM_OCTETS)
    machine.drain(TRIM_OCTETS - 1)
    assert machine.allocator.trims == 0
    machine.drain(1)
    assert machine.allocator.trims == 1
    machine.drain(TRIM_OCTETS - 1)
    assert machine.allocator.trims == 1
    machine.drain(1)
    assert machine.allocator.trims == 2


def test_what_is_trimmed_is_measured_anew(machine):
    machine.fill(2 * TRIM_OCTETS)

    def trim():
        machine.rss -= 10 * MIB

    machine.allocator.trim = trim
    machine.drain(TRIM_OCTETS)
    assert machine.marks.measured.rss == machine.rss
