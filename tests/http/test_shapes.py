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
