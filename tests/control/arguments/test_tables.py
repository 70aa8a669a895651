"""JSON as AMQP's tables."""

from types import SimpleNamespace

import pytest

from pybroker.control.arguments.tables import table_of
from pybroker.control.spec import Refused


@pytest.fixture
def node(world):
    return SimpleNamespace(broker=world.broker)


def test_types_are_those_of_rabbitmq(node):
    table = table_of(node, {"a": 1, "b": 1.5, "c": "x", "d": True, "e": [1], "f": {"g": 2}})
    assert table == {"a": 1, "b": 1.5, "c": "x", "d": True, "e": [1], "f": {"g": 2}}
    assert table.types == {"a": "l", "b": "d", "c": "S", "d": "t", "e": "A", "f": "F"}


@pytest.mark.parametrize("value", [{"a": None}, {"a": 1 << 63}, {"a" * 256: 1}, {"a": "\ud800"}])
def test_what_does_not_fit_is_refused(node, value):
    with pytest.raises(Refused, match=r"^its arguments "):
        table_of(node, value)


def test_depth_has_a_limit(node):
    deep: object = 1
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(Refused, match="nested too deep"):
        table_of(node, {"a": deep})
