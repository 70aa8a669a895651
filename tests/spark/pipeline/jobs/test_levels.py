"""Levels of queues over several dates."""

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.jobs import levels
from pybroker.spark.pipeline.jobs.levels import Levels
from pybroker.spark.pipeline.run import Window
from pybroker.spark.pipeline.schemas import NODE_1M, QUEUE_1M, TRACE_EVENT
from tests.spark.pipeline.jobs.rows import arrow, at, minutes

DAY_M = 1_440
Q = ("n", "/", "q")


def row(minute, queue="q", ready=0, **facts):
    counts = dict.fromkeys(("publish", "ack", "expired"), 1)
    held = {"ready_last": ready, "ready_max": ready, "bytes_last": 10 * ready, "consumers_last": 1}
    return {"ts": at(minute), "last_ts": at(minute, 30), "vhost": "/", "queue": queue, **counts, **held, **facts}


def levels_of(*rows, lost=None, nodes=None, until=DAY_M + 10):
    window = Window(at(0), at(until))
    every = Levels(minutes(QUEUE_1M, *rows), window, 300)
    return every, {each.queue: each for each in every.found(lost or {}, nodes or {})}


def test_counts_and_peaks_are_those_of_all_dates():
    _, found = levels_of(
        row(1, ready=9),
        row(2, ready=9, dropped=1, refused=2, rejected=3, delivery_limited=4, purged=5, discarded=6),
        row(DAY_M, ready=4, unacked_last=1),
        row(DAY_M + 1, ready=3, unacked_last=1, consumers_last=2),
        lost={Q: 8},
    )
    one = found["q"]
    assert (one.publish, one.ack, one.expired, one.dropped, one.rejected, one.removed) == (4, 4, 4, 3, 8, 11)
    assert (one.peak, one.peak_at, one.p99) == (9, at(1), 9)
    # Of the bodies of four messages three are ready.
    assert (one.ready, one.octets, one.consumers, one.moved) == (3, 23, 2, 1)
    assert (one.seen_at, one.node_at, one.deleted) == (at(DAY_M + 1, 30), at(DAY_M + 1, 30), False)


def test_a_queue_without_rows_is_gone_if_its_node_goes_on():
    rows = [row(1, "gone"), row(5, "new"), row(1, "told", deleted=True)]
    _, found = levels_of(*rows, nodes={"n": int(at(9).timestamp())}, until=10)
    assert {name: one.deleted for name, one in found.items()} == {"gone": True, "new": False, "told": True}


def test_a_line_has_a_point_for_each_bucket():
    every, _ = levels_of(*(row(n, ready=n) for n in range(10)), row(3, "other", 3))
    noon = int(at(0).timestamp())
    assert every.line(Q) == [(noon, 4), (noon + 300, 9)]
    assert every.line(("n", "/", "none")) == []


def test_recent_points_are_of_the_last_six_hours_in_order():
    rows = [*(row(n, ready=n) for n in (0, 100, 400, 401)), *(row(n, "still", 5) for n in (400, 401))]
    (one,) = levels.recent(minutes(QUEUE_1M, *rows), at(402))
    assert (one.key, one.moved) == (Q, 301)
    assert [(point.at - at(0).timestamp(), point.ready) for point in one.points] == [
        (6_030, 100),
        (24_030, 400),
        (24_090, 401),
    ]
    assert levels.recent(minutes(QUEUE_1M, *rows), at(402), {("n", "/", "still")}) == []


def test_minutes_that_a_clock_has_not_reached_again_are_no_points():
    rows = [row(n, ready=n, last_epoch=1, last_seq=seq) for n, seq in ((10, 1), (70, 2), (11, 3), (12, 4))]
    (one,) = levels.recent(minutes(QUEUE_1M, *rows), at(80))
    assert [point.ready for point in one.points] == [10, 11, 12]


def test_losses_and_nodes():
    losses = [
        {"vhost": "/", "queue": "q", "reason": reason, "count": 2} for reason in ("rejected", "expired", "rejected")
    ]
    events = [{"ts": at(n), **each} for n, each in enumerate(losses)]
    assert levels.lost_in([arrow(TRACE_EVENT, *events), arrow(TRACE_EVENT, *events[:1])]) == {Q: 6}
    nodes = [{"ts": at(n), "node": name} for n, name in ((0, "n"), (1, "n"), (0, "m"))]
    assert levels.seen_in(minutes(NODE_1M, *nodes)) == {"n": at(1).timestamp(), "m": at(0).timestamp()}
