"""Bindings that users of the HTTP API make."""

import pytest

from pybroker.errors import AccessRefused, NotFound, PreconditionFailed

TO_Q = {"source": "amq.direct", "kind": "queue", "destination": "aq", "vhost": "/"}


@pytest.fixture
def queue(world, peer):
    peer.declare("aq")
    return world.vhost.queues["aq"]


def test_the_answer_tells_it_from_others(run, world, queue):
    assert run("bind", **TO_Q) == {"properties_key": "~"}
    assert run("bind", **TO_Q, routing_key="k /") == {"properties_key": "k+%2F"}
    key = run("bind", **TO_Q, routing_key="k", arguments={"x": 1})["properties_key"]
    assert key.startswith("k~")
    assert run("bind", **TO_Q, routing_key="k", arguments={"x": 1}) == {"properties_key": key}
    assert len(world.vhost.bound[queue]) == 3
    assert run("bind", **{**TO_Q, "kind": "exchange", "destination": "amq.topic"}) == {"properties_key": "~"}


@pytest.mark.parametrize(
    ("more", "error", "text"),
    [
        ({"source": "none"}, NotFound, "no exchange 'none' in vhost '/'"),
        ({"destination": "none"}, NotFound, "no queue 'none' in vhost '/'"),
        ({"source": ""}, AccessRefused, "operation not permitted on the default exchange"),
        ({"source": "amq.headers", "arguments": {"x-match": "odd"}}, PreconditionFailed, "Invalid x-match field value"),
    ],
)
def test_refusals(run, queue, more, error, text):
    with pytest.raises(error, match=text):
        run("bind", **{**TO_Q, **more})


def test_permissions_are_those_of_the_user(run, ann, queue):
    assert run("bind", ann, **TO_Q) == {"properties_key": "~"}
    with pytest.raises(AccessRefused, match="write access to exchange 'b' in vhost '/' refused for user 'ann'"):
        run("bind", ann, **{**TO_Q, "kind": "exchange", "destination": "b"})
