"""Verdicts about queues, from minutes with known trends."""

import pytest

from pybroker.spark.pipeline.jobs import backlog
from pybroker.spark.pipeline.schemas import QUEUE_1M
from tests.spark.pipeline.jobs.rows import at, frame

pytestmark = pytest.mark.spark


def minutes_of(queue, ready, *, consumers=1, publish=0, ack=0, length_max=None):
    return [
        {
            "ts": at(minute),
            "vhost": "/",
            "queue": queue,
            "ready_last": n,
            "ready_max": n + 1,
            "publish": publish,
            "ack": ack,
            "consumers_last": consumers,
            "length_max": length_max,
        }
        for minute, n in enumerate(ready)
    ]


def test_each_queue_gets_the_verdict_it_deserves(spark):
    rows = [
        *minutes_of("grows", range(100, 400, 10), publish=20, ack=10, length_max=990),
        *minutes_of("drains", range(400, 100, -10)),
        *minutes_of("alone", [7] * 30, consumers=0),
        *minutes_of("steady", [5, 6] * 15),
        *minutes_of("empty", [9] * 29 + [0]),
    ]
    found = {row.queue: row for row in backlog.backlog(frame(spark, QUEUE_1M, *rows), at(30)).collect()}
    assert {name: row.verdict for name, row in found.items()} == {
        "grows": "grows",
        "drains": "drains",
        "alone": "no consumer",
        "steady": "steady",
        "empty": "empty",
    }
    grows = found["grows"]
    assert (grows.ready, grows.peak, grows.slope_per_h, grows.drain_ratio, grows.full_in_h) == (
        390,
        391,
        600.0,
        0.5,
        1.0,
    )
    assert (found["drains"].slope_per_h, found["drains"].full_in_h, found["drains"].drain_ratio) == (-600.0, None, None)
    assert next(iter(found)) == "grows"


def test_a_line_has_a_point_for_each_bucket(spark):
    minutes = frame(spark, QUEUE_1M, *minutes_of("q", range(10)), *minutes_of("other", [3]))
    wanted = spark.createDataFrame([("n", "/", "q")], "node STRING, vhost STRING, queue STRING")
    assert [row.ready for row in backlog.series(minutes, wanted, 300).collect()] == [5, 10]
