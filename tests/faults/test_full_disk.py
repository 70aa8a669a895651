"""Test 5: no space. An alarm at once, no false confirm, deliveries and acks go on; it passes, and nothing is lost."""

import resource
import time

import pytest

from tests.checker import History
from tests.faults.disks import fill, need_root, tmpfs
from tests.faults.load import Consumer, Publisher, declare, drain, wait_until

QUEUES = ("full",)
DISK_OCTETS = 64 << 20
STALL_S = 0.5
ALARM_S = 5.0  # it is half a second where nothing else is at work
WAIT_S = 60.0


def stalled(publisher):
    """Wait until confirms have stopped coming, and return when they did."""

    def still():
        return publisher.in_flight and time.monotonic() - max(publisher.confirmed_at, began) > STALL_S

    began = time.monotonic()
    wait_until(still, "a full disk stops confirms", WAIT_S)
    return publisher.confirmed_at


def alarmed(broker):
    """Tell whether pybrokerctl shows an alarm of the disk."""
    return "reported no alarms" not in broker.ctl("alarms")


def full_and_back(broker, seed, take, give):
    """Fill the disk under load, look at what goes on, give space back; return history and figures."""
    history = History()
    broker.start()
    broker.ctl("set_disk_free_limit", "1000")  # the free space's own alarm would come long before the disk is full
    declare(broker.address, *QUEUES)
    publisher = Publisher(broker.address, history, 1, QUEUES, seed=seed, octets=(2_000, 20_000))
    publisher.start()
    wait_until(lambda: publisher.confirmed > 500, "load")
    take()
    since = stalled(publisher)
    wait_until(lambda: alarmed(broker), "the alarm is seen", WAIT_S)
    alarm_s = time.monotonic() - since
    before = publisher.confirmed
    # The reserve, and what is acked now, may make room for some more; what is confirmed then is looked for at the end.
    consumer = Consumer(broker.address, history, *QUEUES, marks=False, greedy=True)
    consumer.start()
    wait_until(lambda: consumer.received >= before and not consumer.pending, "deliveries and acks go on", WAIT_S)
    give()
    began = time.monotonic()
    wait_until(lambda: publisher.confirmed > before + 500, "confirms come again by themselves", WAIT_S)
    recovery_s = time.monotonic() - began
    wait_until(lambda: not alarmed(broker), "the alarm clears", WAIT_S)
    publisher.stop()
    assert publisher.nacked == publisher.misordered == 0
    consumer.stop()
    return history, {"alarm_s": round(alarm_s, 2), "recovery_s": round(recovery_s, 2)}


def full_and_killed(broker, history, seed, take, give):
    """Fill the disk again, kill it while it is full, give space back and start again."""
    publisher = Publisher(broker.address, history, 2, QUEUES, seed=seed, octets=(2_000, 20_000))
    publisher.start()
    wait_until(lambda: publisher.confirmed > 500, "load")
    take()
    stalled(publisher)
    broker.kill()
    publisher.cut()
    history.fault(publisher.in_flight)
    give()
    broker.start()
    broker.ctl("set_disk_free_limit", "1000")
    drain(broker.address, history, *QUEUES)
    broker.stop()


def judged(history, figures, publish_line, alarm_s_max=WAIT_S):
    verdict = history.judge(confirmed_min=1_000)
    publish_line(verdict, **figures)
    assert (verdict.bad, verdict.void) == ({}, "")
    assert figures["alarm_s"] < alarm_s_max + STALL_S


def test_a_full_disk_is_an_alarm_and_passes(broker, seed, publish_line):
    need_root()
    ballast = broker.folder / "ballast"
    with tmpfs(broker.folder, DISK_OCTETS):
        try:
            take, give = (lambda: fill(ballast)), ballast.unlink
            history, figures = full_and_back(broker, seed, take, give)
            full_and_killed(broker, history, seed, take, give)
        finally:
            broker.clean_up()
        judged(history, figures, publish_line)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("leave", [0, 4_096, 100_000, 1 << 20, 3 << 20])
def test_a_disk_full_but_for_a_little_is_an_alarm_and_passes(broker, seed, publish_line, leave):
    need_root()
    ballast = broker.folder / "ballast"
    with tmpfs(broker.folder, DISK_OCTETS):
        try:
            take, give = (lambda: fill(ballast, leave)), ballast.unlink
            history, figures = full_and_back(broker, seed, take, give)
            full_and_killed(broker, history, seed, take, give)
        finally:
            broker.clean_up()
        judged(history, figures, publish_line, ALARM_S)


def test_a_node_starts_on_a_full_disk_and_goes_on_when_there_is_room(broker, seed, publish_line):
    need_root()
    ballast = broker.folder / "ballast"
    history = History()
    with tmpfs(broker.folder, DISK_OCTETS):
        try:
            broker.start()
            broker.ctl("set_disk_free_limit", "1000")
            declare(broker.address, *QUEUES)
            publisher = Publisher(broker.address, history, 1, QUEUES, seed=seed, octets=(2_000, 20_000))
            publisher.start()
            wait_until(lambda: publisher.confirmed > 1_000, "load")
            broker.kill()
            publisher.cut()
            history.fault(publisher.in_flight)
            fill(ballast)
            broker.start()
            wait_until(lambda: alarmed(broker), "the alarm is seen", WAIT_S)
            fill(ballast)
            broker.kill()
            broker.start()
            assert "damaged" not in broker.log
            assert [path.name for path in broker.data.glob("*damaged*")] == []
            ballast.unlink()
            broker.ctl("set_disk_free_limit", "1000")
            wait_until(lambda: not alarmed(broker), "the alarm clears", WAIT_S)
            declare(broker.address, "another")
            drain(broker.address, history, *QUEUES)
            broker.stop()
        finally:
            broker.clean_up()
        judged(history, {"alarm_s": 0.0}, publish_line)


def test_a_limit_of_file_sizes_is_a_full_disk_too(broker, seed, publish_line):
    unlimited = resource.RLIM_INFINITY

    def limit(octets):
        resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (octets, unlimited))

    history, figures = full_and_back(broker, seed, lambda: limit(1 << 16), lambda: limit(unlimited))
    full_and_killed(broker, history, seed, lambda: limit(1 << 16), lambda: None)
    judged(history, figures, publish_line)
