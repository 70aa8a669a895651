"""Lost messages are summed by the way they went; unroutable ones come first."""

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.jobs import unroutable
from pybroker.spark.pipeline.schemas import TRACE_EVENT
from tests.spark.pipeline.jobs.rows import arrow, at


def test_ways_are_summed():
    nowhere = {"kind": "unroutable", "reason": "NO_ROUTE", "exchange": "x", "routing_key": "k", "queue": "", "size": 10}
    dead = {"kind": "dead_letter", "reason": "rejected", "exchange": "x", "routing_key": "k", "queue": "q", "size": 1}
    events = arrow(
        TRACE_EVENT,
        {"ts": at(0), "count": 2, "returned": False, "has_ae": False, **nowhere},
        {"ts": at(5), "count": 3, "returned": True, "has_ae": True, **nowhere},
        {"ts": at(1), "count": 50, "returned": False, "has_ae": False, **dead},
        epoch=1,
        vhost="/",
    )
    first, second = unroutable.unroutable([events], 2.0)
    assert (first.kind, first.messages, first.returned, first.octets, first.per_day, first.has_ae) == (
        "unroutable",
        5,
        3,
        20,
        2.5,
        True,
    )
    assert (second.kind, second.queue, second.messages) == ("dead_letter", "q", 50)
    noon_s = int(at(0).timestamp())
    assert unroutable.over_time([events], 600) == {("dead_letter", noon_s): 50, ("unroutable", noon_s): 5}
    told = unroutable._advice(first)
    assert told.endswith("bind a queue, channel.queue_bind(QUEUE, exchange='x', routing_key='k')")
