"""Test 3: signal 9 under confirm load, start again, drain, judge."""

import random

import pytest
from checker import History, Verdict
from faults.load import FANOUT, FANOUT_QUEUES, Consumer, Publisher, declare, drain
from interop.peer import Peer
from pamqp import commands

QUEUES = FANOUT_QUEUES
PUBLISHERS = 4
WINDOW = 100
BLOCK = 10  # kills between two drains


def lifetime(broker, history, numbers, pick, block):
    """Load a broker until signal 9; return how many publishes were unconfirmed."""
    publishers = [
        Publisher(
            broker.address,
            history,
            block * 10 + n,
            (*QUEUES, FANOUT),
            first=numbers[n],
            window=WINDOW,
            seed=pick.getrandbits(32),
        )
        for n in range(PUBLISHERS)
    ]
    consumers = [Consumer(broker.address, history, queue, seed=pick.getrandbits(32)) for queue in QUEUES]
    for client in (*publishers, *consumers):
        client.start()
    publishers[0].join(pick.uniform(0.2, 2))
    assert all(client.is_alive() for client in publishers), [client.closed_by_broker for client in publishers]
    broker.kill()
    for client in (*publishers, *consumers):
        client.cut()
    assert sum(client.misordered for client in publishers) == 0
    in_flight = sum(client.in_flight for client in publishers)
    history.fault(in_flight)
    numbers[:] = [client.number for client in publishers]
    return in_flight


def kills(broker, number, seed):
    """Return the verdict on so many kills; every few of them the queues are drained and the history judged."""
    pick = random.Random(seed)
    total = Verdict()
    broker.start()
    declare(broker.address, *QUEUES)
    with Peer(broker.address) as peer:
        peer.open()
        for queue in QUEUES:
            peer.call(commands.Queue.Bind(queue=queue, exchange=FANOUT), commands.Queue.BindOk)
        peer.close()
    for block in range(-(-number // BLOCK)):
        history, numbers = History(), [0] * PUBLISHERS
        for _ in range(min(BLOCK, number - block * BLOCK)):
            lifetime(broker, history, numbers, pick, block)
            if pick.random() < 0.3:
                broker.start_and_kill(pick.uniform(0.1, 0.7))
            broker.start()
        drain(broker.address, history, *QUEUES)
        total.add(history.judge())
        assert total.bad == {}, (seed, total)
    broker.stop()
    return total


def p99(figures):
    return round(sorted(figures)[int(len(figures) * 0.99)], 3)


def test_what_was_confirmed_outlives_a_few_kills(broker, seed, publish_line):
    total = kills(broker, 4, seed)
    publish_line(total, restart_p99_s=p99(broker.starts_s[1:]))
    assert (total.bad, total.void) == ({}, "")


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_what_was_confirmed_outlives_200_kills(broker, seed, publish_line):
    total = kills(broker, 200, seed)
    publish_line(total, restart_p99_s=p99(broker.starts_s[1:]))
    assert (total.bad, total.void) == ({}, "")
    assert total.faults == 200
    assert total.in_flight >= 2_000
