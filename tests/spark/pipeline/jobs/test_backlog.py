"""Verdicts about queues, from minutes with known trends."""

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.jobs import backlog, levels
from pybroker.spark.pipeline.jobs.levels import Levels
from pybroker.spark.pipeline.run import Window
from pybroker.spark.pipeline.schemas import NODE_1M, QUEUE_1M, TRACE_EVENT
from tests.spark.pipeline.jobs.rows import arrow, at, minutes


def minutes_of(queue, ready, **facts):
    counts = dict.fromkeys(("publish", "ack", "expired", "dropped"), 0)
    return [
        {"ts": at(minute), "vhost": "/", "queue": queue, "ready_last": n, "ready_max": n + 1, "consumers_last": 1}
        | {"bytes_last": 100 * n}
        | counts
        | facts
        for minute, n in enumerate(ready)
    ]


@pytest.fixture(scope="module")
def found():
    rows = [
        *minutes_of("grows", range(100, 400, 10), publish=20, ack=10, length_max=990),
        *minutes_of("by octets", range(100, 400, 10), publish=20, ack=10, length_max=9_990, octets_max=99_000),
        *minutes_of("drains", range(400, 100, -10)),
        *minutes_of("alone", [7] * 30, consumers_last=0),
        *minutes_of("steady", [5, 6] * 15),
        *minutes_of("empty", [9] * 29 + [0], publish=5, ack=2, expired=2),
        *minutes_of("full", [50] * 30, consumers_last=0, length_max=50, publish=10, dropped=10),
        *minutes_of("delay", [50] * 30, consumers_last=0, publish=10, expired=10),
        *minutes_of("told", [50] * 20, consumers_last=0, deleted=True),
        *minutes_of("gone", [50] * 20, consumers_last=0),
        *minutes_of("rejects", [0] * 30, publish=10, ack=0),
        # Less than half an hour, and it was longer before.
        *minutes_of("batches", [0, 900, 900, 0, 0, 900, 900, 0] * 2 + [0] * 8 + [100 * n for n in range(6)]),
    ]
    losses = [{"ts": at(9), "vhost": "/", "queue": "rejects", "reason": "rejected", "count": 300}]
    nodes = [{"ts": at(minute)} for minute in range(30)]
    lost = levels.lost_in([arrow(TRACE_EVENT, *losses)])
    seen = levels.seen_in(minutes(NODE_1M, *nodes))
    every = Levels(minutes(QUEUE_1M, *rows), Window(at(0), at(30)), 60).found(lost, seen)
    recent = levels.recent(minutes(QUEUE_1M, *rows), at(30))
    return backlog.backlog(every, {each.key: each.points for each in recent})


def test_each_queue_gets_the_verdict_it_deserves(found):
    assert {row.queue: row.verdict for row in found} == {
        "full": "full",
        "grows": "grows",
        "by octets": "grows",
        "drains": "drains",
        "alone": "no consumer",
        "steady": "steady",
        "empty": "empty",
        "delay": "steady",
        "told": "deleted",
        "gone": "deleted",
        "rejects": "empty",
        "batches": "steady",
    }
    assert [row.verdict for row in found[:4]] == ["full", "grows", "grows", "no consumer"]


def test_figures(found):
    rows = {row.queue: row for row in found}
    grows = rows["grows"]
    assert (grows.ready, grows.peak, grows.slope_per_h, grows.drain_ratio) == (390, 391, 600.0, 0.5)
    assert (grows.slope_low, grows.slope_high, grows.slope_s) == (600.0, 600.0, 29 * 60)
    assert (grows.full_by, grows.full_in_s, grows.full_soonest_s, grows.full_latest_s) == ("messages", *[3_600.0] * 3)
    octets = rows["by octets"]
    assert (octets.full_by, octets.full_in_s, octets.octets_per_h) == ("octets", 3_600.0, 60_000.0)
    drains = rows["drains"]
    assert (drains.slope_per_h, drains.full_in_s, drains.drain_ratio) == (-600.0, None, None)
    assert (rows["empty"].drain_ratio, rows["rejects"].drain_ratio, rows["full"].drain_ratio) == (0.8, 1.0, 1.0)
    assert (rows["told"].ready, rows["gone"].ready) == (0, 0)


def test_advice_is_a_sentence(found):
    told = {row.queue: backlog.advice(row) for row in found if row.verdict in backlog.BAD}
    assert told["grows"] == (
        "queue 'grows' in vhost '/' grows by 600 messages an hour, as over the last 29 min, and is full (990 messages) "
        "in 1 h: 1 consumer took 50% of what was published"
    )
    assert told["full"] == (
        "queue 'full' in vhost '/' is full (50 messages), 300 messages dropped or refused: 0 consumers took 0% of "
        "what was published"
    )
    assert told["alone"] == "queue 'alone' in vhost '/' has 7 messages and no consumer"
