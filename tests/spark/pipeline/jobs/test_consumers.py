"""Verdicts about consumers, from minutes."""

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.jobs import consumers, levels
from pybroker.spark.pipeline.schemas import NODE_1M, QUEUE_1M, TRACE_EVENT
from tests.spark.pipeline.jobs.rows import arrow, at, minutes


def minutes_of(queue, when, **facts):
    quiet = {"ready_last": 0, "ready_max": 5, "deliver": 0, "redeliver": 0, "consumers_last": 1, "unacked_max": 0}
    quiet |= dict.fromkeys(("publish", "ack", "expired"), 0)
    return [{"ts": at(minute), "vhost": "/", "queue": queue, **quiet, **facts} for minute in when]


@pytest.fixture(scope="module")
def found():
    busy = {"deliver": 10, "ack": 10, "publish": 10}
    rows = [
        # If nothing happens there is a row every five minutes.
        *minutes_of("missing", range(0, 31, 5), ready_last=5, consumers_last=0),
        *minutes_of("idle", range(31), ready_last=5),
        *minutes_of("storm", range(31), ready_last=5, deliver=100, redeliver=90),
        *minutes_of("fine", range(31), **busy),
        # Now and then is not for long.
        *(row for n in range(0, 31, 2) for row in minutes_of("at times", [n], ready_last=5)),
        *(row for n in range(1, 31, 2) for row in minutes_of("at times", [n], **busy)),
        # It gets a hundred in the first minute, and does nothing until the seventh.
        *minutes_of("stuck", [0], deliver=100, unacked_last=100, unacked_max=100, ready_last=50),
        *minutes_of("stuck", [5], unacked_last=100, unacked_max=100, ready_last=50),
        *minutes_of("stuck", [7, 12, 17, 22, 27], ack=150, deliver=50, unacked_last=0),
        *minutes_of("full", range(31), unacked_last=100, unacked_max=100, consumers_full_min=1),
        # One of two works.
        *minutes_of(
            "one of two",
            range(31),
            **busy,
            consumers_last=2,
            consumers_full_min=1,
            unacked_last=101,
            unacknowledged_age_ms_last=400_000,
        ),
        *minutes_of("long job", range(31), unacked_last=1, unacked_max=1, consumers_full_min=1),
        *minutes_of("rejects", range(31), publish=10, deliver=10),
        *minutes_of("delay", range(31), ready_last=5, consumers_last=0, publish=9, expired=9),
        *minutes_of("gone", range(20), ready_last=5, consumers_last=0),
        *minutes_of("told", range(31), ready_last=5, consumers_last=0, deleted=True),
    ]
    losses = [{"ts": at(9), "vhost": "/", "queue": "rejects", "reason": "rejected", "count": 310}]
    nodes = levels.seen_in(minutes(NODE_1M, *({"ts": at(minute)} for minute in range(31))))
    lost = levels.lost_in([arrow(TRACE_EVENT, *losses)])
    return {row.queue: row for row in consumers.consumers(minutes(QUEUE_1M, *rows), lost, nodes)}


def test_each_queue_gets_the_verdict_it_deserves(found):
    assert {name: row.verdict for name, row in found.items()} == {
        "missing": "missing",
        "idle": "idle",
        "storm": "redelivery storm",
        "fine": "fine",
        "at times": "fine",
        "stuck": "stuck",
        "full": "stuck",
        "one of two": "stuck",
        "long job": "fine",
        "rejects": "rejects",
        "delay": "fine",
        "gone": "deleted",
        "told": "deleted",
    }
    assert {row.verdict for row in [*found.values()][-6:]} == {"fine", "deleted"}


def test_figures(found):
    assert (found["missing"].missing_minutes, found["missing"].ongoing) == (31, True)
    assert (found["idle"].idle_minutes, found["storm"].redelivered_share) == (31, 0.9)
    stuck = found["stuck"]
    assert (stuck.stuck_minutes, stuck.longest_minutes, stuck.ongoing) == (6, 6, False)
    assert stuck.longest_from.minute == 1
    assert (found["at times"].idle_minutes, found["at times"].longest_minutes) == (16, 1)
    assert (found["rejects"].rejected, found["rejects"].rejected_share) == (310, 1.0)


def test_advice_is_a_sentence(found):
    assert [consumers.advice(found[name]) for name in ("missing", "stuck", "rejects", "storm")] == [
        "queue 'missing' in vhost '/' had messages and no consumer for 31 minutes",
        "consumers of queue 'stuck' in vhost '/' held up to 100 messages and did nothing for 6 minutes",
        "consumers of queue 'rejects' in vhost '/' rejected 100% of its messages, 310",
        "of 3,100 deliveries of queue 'storm' in vhost '/', 2,790 had been delivered before",
    ]
