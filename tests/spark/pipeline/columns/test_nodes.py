"""Rows of nodes, each by itself."""

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.columns import nodes
from pybroker.spark.pipeline.schemas import NODE_SAMPLE
from tests.spark.pipeline.jobs.rows import arrow, at


def test_rows_of_all_dates_are_in_the_order_of_time():
    def rows(*given):
        return arrow(NODE_SAMPLE, *({"node": node, "ts": at(minute), "fds": minute} for node, minute in given))

    found = nodes.together([rows(("b", 3), ("a", 2), ("b", 1)), rows(("b", 2))])
    assert {node: mine["fds"].to_pylist() for node, mine in found.items()} == {"a": [2], "b": [1, 2, 3]}
    assert nodes.together([]) == {}
