"""Documents of objects."""

import pytest

from pybroker.control.objects.kinds import KINDS
from pybroker.http import shapes
from pybroker.http.shapes import Shape

SHAPES = {name: value for name, value in vars(shapes).items() if isinstance(value, Shape)}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_shapes_ask_for_facts_that_there_are(name):
    shape = SHAPES[name]
    assert {*shape.facts, *shape.renamed.values(), *shape.stats} <= KINDS[shape.kind].readers.keys()
    assert shape.optional <= {*shape.facts, *shape.renamed}


@pytest.mark.parametrize(
    ("members", "facts", "stats", "rated"),
    [
        (["name"], {"vhost", "name"}, (), {}),
        (["messages"], {"vhost", "name", "messages"}, (), {}),
        (["messages_details.rate"], {"vhost", "name", "messages"}, (), {"messages"}),
        (["message_stats.ack"], {"vhost", "name"}, ("ack",), {}),
        (["message_stats.ack_details.rate", "name"], {"vhost", "name"}, ("ack",), {}),
    ],
)
def test_an_index_reads_what_the_order_needs(members, facts, stats, rated):
    found = shapes.QUEUE.indexed(members)
    assert ({*found.facts}, found.stats, {*found.rated}) == (facts, stats, {*rated})


@pytest.mark.parametrize(
    "member",
    ["none", "arguments.x", "message_stats", "message_stats.none", "name_details.rate", "ack", "owner_pid_details"],
)
def test_no_index_is_read_for_another_order(member):
    assert shapes.QUEUE.indexed(["name", member]) is None


def test_members_that_nobody_asks_for_are_not_read():
    found = shapes.QUEUE.limited(["name", "arguments.x-max-length", "owner_pid_details"])
    assert ({*found.facts}, {*found.renamed}) == ({"vhost", "name", "arguments"}, {"owner_pid_details"})
    assert (found.stats, found.rated) == ((), {})
    for member in ("message_stats.publish_details.rate", "messages_details.rate"):
        found = shapes.QUEUE.limited([member])
        assert (found.stats, found.rated) == (shapes.QUEUE.stats, shapes.QUEUE.rated)


def test_counters_appear_when_they_count(api, peer):
    peer.declare("q")
    assert "message_stats" not in api.get("/api/queues/%2F/q")
    peer.publish("", "q", b"x")
    stats = api.get("/api/queues/%2F/q")["message_stats"]
    assert (stats["publish"], stats["deliver_get"]) == (1, 0)


def test_an_empty_text_is_null_where_rabbitmq_has_it_so(api, peer):
    peer.declare("q")
    document = api.get("/api/queues/%2F/q")
    assert (document["policy"], document["exclusive_consumer_tag"]) == (None, None)
