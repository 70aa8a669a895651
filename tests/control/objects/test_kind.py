"""Kinds and their facts."""

from pybroker.control.objects.kind import View, plain_value, readers, seen
from pybroker.control.spec import Column
from pybroker.core.stats.metrics import QUEUE


def test_values_of_amqp_are_those_of_json():
    value = {"a": [float("inf"), {"b": float("nan")}], "c": (1, 1.5)}
    assert plain_value(value) == {"a": ["inf", {"b": "nan"}], "c": [1, 1.5]}


def test_figures_go_before_columns_and_more_facts_before_both():
    columns = [Column("messages", lambda _: "column", ""), Column("ready", lambda _: "column", "")]
    found = readers(columns, QUEUE, messages=lambda _: "more")
    assert found["messages"](None) == "more"
    assert found["ready"](None) == "column"
    assert found["messages_ready"] is QUEUE["messages_ready"].read


def test_a_virtual_host_that_is_gone_is_not_seen(world):
    view = View(world.broker, tuple(world.broker.vhosts.values()), None, lambda _: None)
    assert [vhost.name for vhost in seen(view, "exchanges")] == ["/"]
    assert list(seen(view, "queues")) == []
    world.broker.vhosts.pop("/")
    assert list(seen(view, "exchanges")) == []
