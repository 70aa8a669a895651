"""Originals are settled when all copies are on disk, whichever log has them first, and never where one has failed."""

import random
from functools import partial

from pybroker.core.channel.handover import Handovers
from pybroker.core.channel.receipt import Receipt
from tests.slow import GatheringLog


def waiting_for(*positions):
    receipt = Receipt()
    for log, position in positions:
        receipt.wait(log, position)
    return receipt


def completed(handovers, log, position):
    log.completed = position
    handovers.log_moved(log)


def test_an_original_is_settled_when_its_copy_is_on_disk():
    handovers, log, settled = Handovers(), GatheringLog(), []
    handovers.add(waiting_for((log, 2)), lambda: settled.append("late"))
    handovers.add(waiting_for((log, 1)), lambda: settled.append("early"))
    assert log.wanted
    completed(handovers, log, 1)
    assert settled == []
    completed(handovers, log, 2)
    assert settled == ["late", "early"]


def test_a_copy_that_nothing_waits_for_settles_it_at_once():
    handovers, settled = Handovers(), []
    handovers.add(Receipt(), lambda: settled.append(1))
    assert settled == [1]


def test_an_original_stays_if_one_of_the_logs_fails():
    handovers, one, other, settled = Handovers(), GatheringLog(), GatheringLog(), []
    handovers.add(waiting_for((one, 1), (other, 1)), lambda: settled.append(1))
    other.failed = "full"
    handovers.log_moved(other)
    completed(handovers, one, 1)
    completed(handovers, other, 1)
    handovers.add(waiting_for((other, 2)), lambda: settled.append(2))
    assert settled == []


def test_each_is_settled_once_and_not_before_all_logs_have_it():
    rng = random.Random(3)
    logs = [GatheringLog() for _ in range(3)]
    handovers, receipts, settled, last = Handovers(), [], [], [0, 0, 0]
    for _ in range(2_000):
        if rng.random() < 0.5:
            chosen = rng.sample(range(3), rng.randint(1, 3))
            for at in chosen:
                last[at] += 1
            receipts.append(waiting_for(*[(logs[at], last[at]) for at in chosen]))
            handovers.add(receipts[-1], partial(settled.append, len(receipts) - 1))
        else:
            at = rng.randrange(3)
            completed(handovers, logs[at], rng.randint(logs[at].completed, last[at]))
        assert all(receipts[number].completed for number in settled)
        assert len(set(settled)) == len(settled)
    assert len(settled) > 100
    for at, log in enumerate(logs):
        completed(handovers, log, last[at])
    assert sorted(settled) == list(range(len(receipts)))
