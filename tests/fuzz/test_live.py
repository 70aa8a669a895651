"""Hostile sessions against a running daemon, in every state of a connection.

Each ends in a reply code or a close; the daemon's log shows no traceback, its memory stays flat, no session costs it
more than a blink.
To see one again: `python -m tests.fuzz.test_live HOST:PORT NUMBER`.
"""

import os
import sys
from collections import Counter

import psutil
import pytest
from pamqp import commands

from tests.fuzz.live_grammar import QUEUES, short
from tests.fuzz.live_session import run_session
from tests.interop.broker_process import BrokerProcess
from tests.interop.peer import frame

QUICK, FULL = 300, 20_000
GROWTH_OCTETS_MAX = 8 << 20
CPU_NS_MAX = 250_000_000  # a whole session; its longest turn is a part of that
CLEAN_EVERY = 100


@pytest.fixture
def broker(tmp_path):
    broker = BrokerProcess(tmp_path)
    yield broker
    status = broker.stop()
    assert "Traceback" not in broker.log
    assert status == (0, "")


def clean(broker):
    """Delete what sessions may leave: the queues and exchanges of the grammar's names."""
    with broker.peer() as peer:
        for name in (short(queue.encode()) for queue in QUEUES):  # pamqp would refuse these names
            peer.socket.sendall(frame(1, 1, b"\0\x32\0\x28\0\0" + name + b"\0"))
            peer.expect(commands.Queue.DeleteOk)
            peer.socket.sendall(frame(1, 1, b"\0\x28\0\x14\0\0" + name + b"\0"))
            peer.expect(commands.Exchange.DeleteOk)
        peer.close()


def fuzz(broker, sessions, record_property):
    first = int(os.environ.get("FUZZ_FIRST", "0"))
    endings, slowest, settled = Counter(), (0, 0), 0
    for number in range(first, first + sessions):
        before = broker.cpu_ns()
        endings[run_session(broker.address, number)] += 1
        slowest = max(slowest, (broker.cpu_ns() - before, number))
        if number % CLEAN_EVERY == 0:
            clean(broker)
            assert "Traceback" not in broker.log, number
        if number == first + sessions // 3:
            settled = broker.rss_octets()
    clean(broker)
    growth = broker.rss_octets() - settled
    record_property("growth_octets", growth)
    record_property("slowest_ms", slowest[0] // 1_000_000)
    print(f"growth {growth} octets, slowest session {slowest[1]} with {slowest[0] / 1e6:.1f} ms of CPU")
    for ending, count in sorted(endings.items()):
        print(f"{count:7} {ending}")
    return growth, slowest


def established(broker):
    connections = psutil.Process(broker.pid).net_connections("tcp")
    return sum(1 for c in connections if c.status == psutil.CONN_ESTABLISHED and c.laddr.port == broker.port)


def test_hostile_sessions_end_in_a_reply_code_or_a_close(broker, record_property):
    growth, slowest = fuzz(broker, QUICK, record_property)
    assert growth < GROWTH_OCTETS_MAX
    assert slowest[0] < CPU_NS_MAX, f"session {slowest[1]}"
    with broker.peer() as peer:
        assert established(broker) == 1
        peer.close()


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_twenty_thousand_hostile_sessions_leave_nothing_behind(broker, record_property):
    growth, slowest = fuzz(broker, FULL, record_property)
    assert growth < GROWTH_OCTETS_MAX
    assert slowest[0] < CPU_NS_MAX, f"session {slowest[1]}"
    with broker.peer() as peer:
        assert established(broker) == 1
        peer.close()


if __name__ == "__main__":
    host, port = sys.argv[1].split(":")
    print(run_session((host, int(port)), int(sys.argv[2])))
