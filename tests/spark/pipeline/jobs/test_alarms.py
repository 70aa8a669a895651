"""Alarms are paired, whatever became of the node in between."""

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.columns import nodes
from pybroker.spark.pipeline.jobs import alarms
from pybroker.spark.pipeline.run import iso
from pybroker.spark.pipeline.schemas import ALARM_EVENT, NODE_SAMPLE, QUEUE_1M
from tests.spark.pipeline.jobs.rows import arrow, at, minutes


def test_an_alarm_ends_by_clearing_with_the_node_or_not_at_all():
    def event(minute, action, resource="memory", epoch=1):
        return {"ts": at(minute), "action": action, "resource": resource, "epoch": epoch, "used": 9, "limit": 8}

    events = arrow(
        ALARM_EVENT,
        event(0, "set"),
        event(2, "clear"),
        event(3, "set", "disk"),
        event(5, "set", "disk", epoch=2),
        event(6, "set", epoch=2),
        event(7, "clear", epoch=2),
        alarm_node="n",
    )
    samples = arrow(
        NODE_SAMPLE,
        *(
            {"ts": at(minute), "epoch": 1 + (minute > 4), "mem_used": 10 + minute, "disk_free": 7 - minute}
            for minute in range(9)
        ),
    )
    of_nodes = nodes.together([samples])
    told = alarms.explain(alarms.pair(events.to_pylist(), of_nodes), of_nodes, [], lambda _: minutes(QUEUE_1M))
    assert [(row.resource, iso(row.set_at)[14:16], row.ended_by, row.duration_s, row.worst) for row in told] == [
        ("memory", "00", "clear", 120.0, 12),
        ("disk", "03", "restart", 60.0, 3),
        ("disk", "05", "still set", None, -1),
        ("memory", "06", "clear", 60.0, 17),
    ]
    assert {(row.blocked_connections, row.blocked_s, row.growers) for row in told} == {(0, 0.0, "")}


def test_without_alarms_there_is_nothing_to_tell():
    assert alarms.explain(alarms.pair([], {}), {}, [], lambda _: minutes(QUEUE_1M)) == []
