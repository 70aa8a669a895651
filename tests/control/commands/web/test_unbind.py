"""Bindings that users of the HTTP API take away."""

import pytest

from pybroker.control.spec import Refused
from pybroker.errors import AccessRefused

TO_Q = {"source": "amq.direct", "kind": "queue", "destination": "q", "vhost": "/"}


@pytest.fixture
def keys(run, peer):
    """The keys of three bindings."""
    peer.declare("q")
    what = [{}, {"routing_key": "k /"}, {"routing_key": "k", "arguments": {"x": 1.5}}]
    return [run("bind", **TO_Q, **each)["properties_key"] for each in what]


def test_each_goes_by_its_key(run, world, keys):
    for key in keys:
        run("unbind", **TO_Q, key=key)
    assert world.vhost.bound.get(world.vhost.queues["q"], {}) == {}


def test_a_key_may_be_unescaped(run, keys):
    run("unbind", **TO_Q, key="k /")
    with pytest.raises(Refused, match="there is no binding 'k /' there") as caught:
        run("unbind", **TO_Q, key="k /")
    assert caught.value.facts == {"missing": "binding"}


def test_between_exchanges(run):
    ends = {**TO_Q, "kind": "exchange", "destination": "amq.topic"}
    run("bind", **ends, routing_key="k")
    run("unbind", **ends, key="k")
    with pytest.raises(Refused):
        run("unbind", **ends, key="k")


def test_users_without_permission_learn_nothing(run, ann, keys):
    for key in (keys[0], "none"):
        with pytest.raises(AccessRefused, match="write access to queue 'q' in vhost '/' refused for user 'ann'"):
            run("unbind", ann, **TO_Q, key=key)
    with pytest.raises(AccessRefused, match="operation not permitted on the default exchange"):
        run("unbind", **{**TO_Q, "source": ""}, key="q")
