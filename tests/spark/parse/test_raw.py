import pytest

pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")

from pybroker.spark.parse.raw import SCHEMA, Columns, raw_batch
from pybroker.spark.route import Route

TABLE = [Route("e", "one", False), Route("", "two", True), Route("e", "three", False)]


@pytest.mark.parametrize("routes", [[1], [0, 1, 2, 1, 0]], ids=["more routes than messages", "fewer"])
def test_routes_become_columns(routes):
    count = len(routes)
    batch = raw_batch(Columns([b"v"] * count, [b"\0\0"] * count, routes, TABLE))
    assert batch.schema == SCHEMA
    names = ("exchange", "routing_key", "redelivered")
    rows = list(zip(*(batch.column(name).to_pylist() for name in names), strict=True))
    assert rows == [TABLE[index] for index in routes]


def test_no_messages_are_an_empty_batch():
    assert len(raw_batch(Columns([], [], [], []))) == 0
