"""The disk monitor, with a disk in the test's hand: when it looks, what it says, and whom it tells."""

import errno
import logging
import os

import pytest

from pybroker.core.resources.alarm import DISK
from pybroker.core.resources.resource_limits import TotalMemory
from pybroker.daemon.resources import disk_monitor
from pybroker.daemon.resources.disk_monitor import PAUSE_MS_MAX, PAUSE_MS_MIN, RETRIES, RETRY_MS, DiskMonitor
from pybroker.run import PLAIN_ATTRIBUTES
from tests.core.paged import PagedBench, shrink
from tests.fakes import World
from tests.loop import until

LIMIT = 50_000_000


class Machine:
    """A broker whose data folder has as much room as the test says."""

    def __init__(self, folder):
        self.world = World()
        self.broker = self.world.broker
        self.marks = self.broker.settings.watermarks
        self.marks.set_total(TotalMemory(8_000_000_000, "RAM", 8_000_000_000))
        self.free = 10_000_000_000
        self.error = None
        self.folder = folder
        self.monitor = DiskMonitor(self.broker, folder, self.measure)

    def measure(self, folder):
        assert folder == self.folder
        if self.error is not None:
            raise self.error
        return self.free

    def check(self, free):
        self.free = free
        self.monitor.check()
        return self.alarmed

    @property
    def alarmed(self):
        return DISK in self.broker.alarms


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.monitor.check()
    return made


def lines(caplog):
    return [(each.levelname, text) for each in caplog.records for text in (each.getMessage(), *each.event.more)]


def test_d1_the_limit_is_50_mb(machine):
    assert not machine.check(LIMIT)
    assert machine.check(LIMIT - 1)
    assert not machine.check(LIMIT)


def test_d1_what_is_free_is_that_of_the_folder_s_partition_now(tmp_path, monkeypatch):
    disk = os.statvfs(tmp_path)
    assert disk_monitor.free_octets(tmp_path) == pytest.approx(disk.f_bavail * disk.f_frsize, rel=0.5)
    asked = []
    monkeypatch.setattr(os, "statvfs", lambda folder: asked.append(folder) or disk)
    machine = DiskMonitor(World().broker, tmp_path)
    machine.check()
    machine.check()
    assert asked == [str(tmp_path)] * 2


def test_what_is_free_is_published(machine):
    machine.check(123_456_789)
    assert machine.marks.measured.disk_free == 123_456_789


def test_d3_a_limit_relative_to_memory_follows_the_memory(machine):
    machine.marks.set_disk_relative(1.0)
    assert machine.check(7_999_999_999)
    machine.marks.set_total(TotalMemory(4_000_000_000, "RAM", 4_000_000_000))
    assert not machine.check(7_999_999_999)


@pytest.mark.parametrize(
    ("free", "pause_ms"),
    [
        (LIMIT, PAUSE_MS_MIN),
        (LIMIT + 12_500_000, 100),
        (LIMIT + 25_000_000, 200),
        (LIMIT + 125_000_000, 1_000),
        (LIMIT + 1_250_000_000, PAUSE_MS_MAX),
        (10**15, PAUSE_MS_MAX),
    ],
)
def test_d4_the_nearer_the_limit_the_more_often_it_looks(machine, free, pause_ms):
    assert not machine.check(free)
    assert machine.monitor.pause_ms == pause_ms


def test_d4_while_the_alarm_is_set_too(machine):
    assert machine.check(0)
    assert machine.monitor.pause_ms == 400
    machine.marks.set_disk_octets(10**15)
    assert machine.check(0)
    assert machine.monitor.pause_ms == PAUSE_MS_MAX


def test_d5_at_the_start_it_says_how_much_there_is(tmp_path, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    machine = Machine(tmp_path)
    caplog.clear()
    machine.monitor.check()
    machine.monitor.check()
    assert lines(caplog) == [
        ("INFO", "Enabling free disk space monitoring (disk free space: 10000000000, total memory: 8000000000)")
    ]


def test_d6_where_the_system_has_no_such_call_the_disk_is_not_watched(tmp_path, caplog):
    machine = Machine(tmp_path)
    machine.error = AttributeError("module 'os' has no attribute 'statvfs'")
    machine.monitor.check()
    machine.monitor.check()
    assert lines(caplog) == [("WARNING", "Disabling disk free space monitoring")]
    assert not machine.monitor.enabled
    assert machine.monitor.pause_ms == PAUSE_MS_MAX


def test_d6_a_disk_that_cannot_be_measured_is_tried_again_and_then_not_watched(tmp_path, caplog):
    machine = Machine(tmp_path)
    machine.error = OSError(errno.EIO, "Input/output error")
    machine.monitor.check()
    assert machine.monitor.pause_ms == RETRY_MS == 120_000
    for _ in range(RETRIES):
        machine.monitor.check()
    machine.monitor.check()
    trouble = (
        "Free disk space monitor encountered an error (e.g. failed to parse output from OS tools). "
        "Retries left: {} Error: [Errno 5] Input/output error"
    )
    assert lines(caplog) == [
        *[("ERROR", trouble.format(left)) for left in range(10, -1, -1)],
        ("ERROR", "Free disk space monitor failed to start!"),
        ("WARNING", "Disabling disk free space monitoring"),
    ]


def test_d6_once_it_can_be_measured_all_tries_are_there_again(machine):
    assert machine.check(0)
    machine.error = OSError(errno.EIO, "Input/output error")
    machine.monitor.check()
    machine.monitor.check()
    assert machine.alarmed, "what was known last stands"
    assert machine.marks.measured.disk_free is None
    assert machine.monitor.retries == RETRIES - 2
    machine.error = None
    assert not machine.check(LIMIT)
    assert machine.monitor.retries == RETRIES


def test_d7_the_alarm_is_logged_with_what_is_free(machine, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    machine.check(49_999_999)
    machine.check(49_999_998)
    assert lines(caplog) == [
        ("INFO", "Free disk space is insufficient. Free bytes: 49999999. Limit: 50000000"),
        ("WARNING", "disk resource limit alarm set on node pybroker@localhost."),
        ("WARNING", "**********************************************************"),
        ("WARNING", "*** Publishers will be blocked until this alarm clears ***"),
        ("WARNING", "**********************************************************"),
    ]
    caplog.clear()
    machine.check(50_000_000)
    machine.check(50_000_001)
    assert lines(caplog) == [
        ("INFO", "Free disk space is sufficient. Free bytes: 50000000. Limit: 50000000"),
        ("WARNING", "disk resource limit alarm cleared on node pybroker@localhost"),
        ("WARNING", "disk resource limit alarm cleared across the cluster"),
    ]


def test_the_alarm_says_how_much_is_free_and_required(machine):
    machine.marks.set_disk_octets(8 << 20)
    machine.check(3 << 20)
    assert machine.broker.alarms.sentences() == [
        "Free disk space alarm on node pybroker@localhost: 3.1 MB free, 8.4 MB required"
    ]


def test_d10_a_limit_set_at_run_time_counts_at_once(machine):
    machine.marks.set_disk_octets(10_000_000_001)
    machine.monitor.check()
    assert machine.alarmed
    machine.marks.set_disk_octets(LIMIT)
    machine.monitor.check()
    assert not machine.alarmed


def test_d10_it_can_be_told_not_to_watch_and_to_watch_again(machine, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    assert machine.check(0)
    caplog.clear()
    machine.monitor.disable()
    assert not machine.check(0)
    assert lines(caplog) == [
        ("INFO", "Free disk space monitor was manually disabled"),
        ("WARNING", "disk resource limit alarm cleared on node pybroker@localhost"),
        ("WARNING", "disk resource limit alarm cleared across the cluster"),
    ]
    assert machine.monitor.pause_ms == PAUSE_MS_MAX
    assert machine.marks.measured.disk_free is None
    machine.monitor.enable()
    assert machine.alarmed
    assert ("INFO", "Free disk space monitor was enabled") == lines(caplog)[-1]


def test_d11_a_log_that_cannot_be_written_is_an_alarm_at_once_and_as_long_as_that_is_so(machine):
    machine.monitor.full("cannot create x: No space left on device")
    assert machine.broker.alarms.sentences() == [
        "Free disk space alarm on node pybroker@localhost: cannot create x: No space left on device"
    ]
    assert machine.check(10_000_000_000), "the figures may look well: a quota, a reserve"
    machine.monitor.full("")
    assert not machine.alarmed


def test_d11_that_there_is_room_still_is_no_reason_to_look(machine):
    machine.free = 0
    machine.monitor.full("")
    assert not machine.alarmed


def test_d11_the_alarm_is_on_while_either_reason_holds(machine):
    machine.monitor.full("cannot create x: No space left on device")
    assert machine.check(0)
    machine.monitor.full("")
    assert machine.alarmed
    assert not machine.check(LIMIT)


def test_d11_also_while_nobody_watches_the_disk(machine):
    machine.monitor.disable()
    machine.monitor.full("cannot create x: No space left on device")
    assert machine.alarmed
    machine.monitor.full("")
    assert not machine.alarmed


def test_c5_while_the_monitor_finds_the_disk_short_nothing_is_paged_out_to_it(tmp_path, monkeypatch):
    shrink(monkeypatch)
    bench = PagedBench(durable=False)
    bench.fill(30, attributes=PLAIN_ATTRIBUTES)
    free = iter([0, LIMIT])
    bench.broker.settings.watermarks.set_disk_octets(LIMIT)
    monitor = DiskMonitor(bench.broker, tmp_path, lambda _: next(free))
    monitor.check()
    bench.page()
    assert bench.pages.written == 0
    monitor.check()
    bench.broker.settings.watermarks.set_disk_octets(0)
    bench.page()
    assert bench.pages.written > 0


def test_who_checks_in_between_changes_when_the_next_look_is_due(machine, monkeypatch):
    import gevent

    looks = []
    greenlet = gevent.spawn(machine.monitor.run)
    gevent.sleep(0)
    monkeypatch.setattr(machine, "measure", lambda _: looks.append(1) or LIMIT)
    monkeypatch.setattr(machine.monitor, "_free_octets", machine.measure)
    machine.monitor.check()
    until(lambda: len(looks) > 1)
    greenlet.kill()


def test_a_check_that_fails_is_logged_and_not_the_last(machine, monkeypatch, caplog):
    import gevent

    monkeypatch.setattr(disk_monitor, "PAUSE_MS_MAX", 1)
    monkeypatch.setattr(disk_monitor, "PAUSE_MS_MIN", 1)
    machine.error = RuntimeError("a bug")
    greenlet = gevent.spawn(machine.monitor.run)
    until(lambda: caplog.records)
    machine.error, machine.free = None, 0
    until(lambda: machine.alarmed)
    greenlet.kill()
    assert caplog.records[0].getMessage() == "the disk could not be measured"
