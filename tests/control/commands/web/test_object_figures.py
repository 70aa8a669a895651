"""Figures of queues, exchanges, connections and channels."""

from itertools import chain

import pytest

from pybroker.control.spec import BadArguments
from pybroker.core.stats.metrics import CHANNEL, CONNECTION, EXCHANGE, QUEUE


@pytest.fixture
def rows(operator):
    """Return a function that returns the rows of object_figures."""

    def rows(noun, *metrics, **given):
        return list(chain(*operator.stream("object_figures", noun=noun, metrics=metrics, **given)))

    return rows


@pytest.mark.parametrize(
    ("noun", "metrics"), [("queue", QUEUE), ("exchange", EXCHANGE), ("connection", CONNECTION), ("channel", CHANNEL)]
)
def test_each_metric_of_each_kind_is_told(rows, two, noun, metrics):
    found = rows(noun, *metrics)
    assert found
    labels = 3 if noun in {"queue", "exchange"} else 1
    assert {len(row) for row in found} == {labels + len(metrics)}


def test_objects_are_told_apart(rows, two):
    assert rows("queue", "messages_ready", "head_age_ms") == [
        ["/", "a", "classic", 4, 0],
        ["/", "b", "classic", 0, None],
    ]
    assert rows("queue", vhosts=["other"]) == []
    assert ["/", "", "direct", 4] in rows("exchange", "publish_in", vhosts=["/"])
    ((connection, received),) = rows("connection", "recv_oct")
    assert connection.startswith("<pybroker@vm.")
    assert received > 70_000


def test_sums_are_one_row(rows, two, peer):
    peer.consume("b")
    assert rows("queue", "messages_ready", "message_bytes", "consumers", total=True) == [[4, 70_251, 1]]
    assert rows("channel", "messages_unconfirmed", total=True) == [[0]]


def test_sums_are_those_of_the_rows(rows, two, peer):
    """Whether queues have messages, consumers, both or nothing."""
    for name in ("c", "d", "e"):
        peer.declare(name, arguments={"x-max-priority": 3} if name == "c" else {})
    peer.consume("e")
    gauges = [name for name, metric in QUEUE.items() if metric.type == "gauge"]
    expected = [sum([row[3 + place] or 0 for row in rows("queue", *gauges)]) for place in range(len(gauges))]
    assert rows("queue", *gauges, total=True) == [expected]


def test_sums_of_many_leave_the_loop_to_others(operator, rows, peer):
    for n in range(120):
        peer.declare(f"q{n}")
    rows("queue", "messages", total=True)
    assert operator.pauses == [0] * 6


def test_an_unknown_metric_is_refused(rows):
    with pytest.raises(BadArguments, match="a queue has no metric legs"):
        rows("queue", "legs")


def test_counters_are_not_summed(rows):
    with pytest.raises(BadArguments, match="only gauges are summed up, not publish"):
        rows("queue", "messages", "publish", total=True)
