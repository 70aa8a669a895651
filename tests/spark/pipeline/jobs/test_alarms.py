"""Alarms are paired, whatever became of the node in between."""

import pytest

from pybroker.spark.pipeline.jobs import alarms, blocked
from pybroker.spark.pipeline.run import iso
from pybroker.spark.pipeline.schemas import ALARM_EVENT, BLOCK_EVENT, CONNECTION_1M, NODE_SAMPLE, QUEUE_1M
from tests.spark.pipeline.jobs.rows import at, frame, minutes

pytestmark = pytest.mark.spark


def test_an_alarm_ends_by_clearing_with_the_node_or_not_at_all(spark):
    def event(minute, action, resource="memory", epoch=1):
        return {"ts": at(minute), "action": action, "resource": resource, "epoch": epoch, "used": 9, "limit": 8}

    events = frame(
        spark,
        ALARM_EVENT,
        event(0, "set"),
        event(2, "clear"),
        event(3, "set", "disk"),
        event(5, "set", "disk", epoch=2),
        event(6, "set", epoch=2),
        event(7, "clear", epoch=2),
        alarm_node="n",
    )
    samples = frame(
        spark,
        NODE_SAMPLE,
        *(
            {"ts": at(minute), "epoch": 1 + (minute > 4), "mem_used": 10 + minute, "disk_free": 7 - minute}
            for minute in range(9)
        ),
    )
    none = frame(spark, BLOCK_EVENT)
    found = blocked.blocks(none, frame(spark, CONNECTION_1M), at(9))
    told = alarms.explain(alarms.pair(events, samples), samples, found, lambda _: minutes(QUEUE_1M))
    assert [(row.resource, iso(row.set_at)[14:16], row.ended_by, row.duration_s, row.worst) for row in told] == [
        ("memory", "00", "clear", 120.0, 12),
        ("disk", "03", "restart", 60.0, 3),
        ("disk", "05", "still set", None, -1),
        ("memory", "06", "clear", 60.0, 17),
    ]
    assert {(row.blocked_connections, row.blocked_s, row.growers) for row in told} == {(0, 0.0, "")}


def test_without_alarms_there_is_nothing_to_tell(spark):
    nothing = [frame(spark, table) for table in (ALARM_EVENT, NODE_SAMPLE, BLOCK_EVENT)]
    assert alarms.explain(alarms.pair(nothing[0], nothing[1]), *nothing[1:], lambda _: minutes(QUEUE_1M)) == []
