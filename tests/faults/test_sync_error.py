"""Test 6: fdatasync says EIO. No confirm comes after it, what waits is nacked, the daemon ends by 74 and a sentence."""

import random
import time

import pytest

from tests.checker import History, Verdict
from tests.faults.disks import strace
from tests.faults.load import Publisher, declare, drain, wait_until

QUEUES = ("s0", "s1")
IO_ERROR = 74
# A confirm on its way when the call failed is read this late at most.
LATE_S = 5.0


def error(broker, number, injection, seed, tmp_path):
    """Load a broker until the call fails; return the history, judged after the next start, and the figures."""
    history = History()
    broker.start()
    declare(broker.address, *QUEUES)
    publishers = [Publisher(broker.address, history, n, QUEUES, seed=seed + n, rate=5_000) for n in range(4)]
    log_before = len(broker.log)
    with strace(broker.process.pid, injection, tmp_path / f"trace.{number}") as tracer:
        for publisher in publishers:
            publisher.start()
        wait_until(lambda: broker.process.process.poll() is not None, f"{injection} ends the daemon")
        for publisher in publishers:
            publisher.cut()
    code, stderr = broker.process.ended()
    assert code == IO_ERROR, (number, code, stderr)
    failed_at = tracer.hits[0] - time.time() + time.monotonic()
    late_s = max(publisher.confirmed_at for publisher in publishers) - failed_at
    assert late_s < LATE_S, f"{number}: a confirm came {late_s} s after the error"
    said = [line for line in broker.log[log_before:].splitlines() if "[critical]" in line]
    assert len(said) == 1, (number, broker.log[log_before:])
    assert "Input/output error" in said[0]
    history.fault(sum(publisher.in_flight + publisher.nacked for publisher in publishers))
    broker.start()
    drain(broker.address, history, *QUEUES)
    broker.stop()
    return history, sum(publisher.nacked for publisher in publishers)


def errors(broker, numbers, call, seed, tmp_path):
    """Return the verdict on an error at each of these calls, and how many publishes were nacked."""
    pick = random.Random(seed)
    total, nacked = Verdict(), 0
    for number in numbers:
        injection = f"{call}:error=EIO:when={number}"
        history, refused = error(broker, number, injection, pick.getrandbits(31), tmp_path)
        verdict = history.judge(confirmed_min=0)
        assert (verdict.bad, verdict.void) == ({}, ""), (seed, number, verdict)
        total.add(verdict)
        nacked += refused
    assert nacked, "publishes that waited for the disk are told"
    return total


def test_an_error_of_fdatasync_ends_the_daemon_and_nothing_is_lost(broker, seed, publish_line, tmp_path):
    publish_line(errors(broker, (1, 2, random.Random(seed).randrange(5, 60)), "fdatasync", seed, tmp_path))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_hundred_errors_of_fdatasync(broker, seed, publish_line, tmp_path):
    publish_line(errors(broker, range(1, 101), "fdatasync", seed, tmp_path))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_errors_of_writes(broker, seed, publish_line, tmp_path):
    publish_line(errors(broker, (1, 2, 3, 7, 20, 50, 120), "pwrite64", seed, tmp_path))
