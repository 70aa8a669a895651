"""Messages that users of the HTTP API publish."""

from base64 import b64encode

import pytest

from pybroker.control.spec import EX_TEMPFAIL, Refused
from pybroker.core.resources.alarm import MEMORY
from pybroker.errors import AccessRefused, NotFound, PreconditionFailed

TO_Q = {"exchange": "", "routing_key": "q", "vhost": "/"}


def body(*parts):
    return [b64encode(part).decode() for part in parts]


def test_it_is_published_with_its_properties(run, peer):
    peer.declare("q")
    properties = {"priority": 3, "content_type": "text/plain", "headers": {"a": [1, {"b": True}], "c": "d"}}
    assert run("publish_message", lines=body(b"hel", b"lo"), **TO_Q, properties=properties) == {"routed": True}
    got = peer.get("q")
    assert (got.body, got.properties.priority, got.properties.content_type) == (b"hello", 3, "text/plain")
    assert got.headers == {"a": [1, {"b": True}], "c": "d"}


def test_without_a_queue_nothing_happens(run):
    assert run("publish_message", **TO_Q) == {"routed": False}


def test_one_that_a_queue_rejects_went_nowhere(run, peer):
    peer.declare("q", arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    assert run("publish_message", **TO_Q) == {"routed": True}
    assert run("publish_message", **TO_Q) == {"routed": False}


def test_permissions_are_those_of_the_user(run, ann, world):
    world.broker.users.set_permissions("ann", "/", "", "^a$", "")
    with pytest.raises(AccessRefused, match=r"write access to exchange 'amq\.direct' in vhost '/' refused"):
        run("publish_message", ann, exchange="amq.direct", routing_key="a", vhost="/")


@pytest.mark.parametrize(
    ("more", "error", "text"),
    [
        ({"exchange": "none"}, NotFound, "no exchange 'none'"),
        ({"exchange": "amq.rabbitmq.trace"}, AccessRefused, "cannot publish to internal exchange"),
        ({"properties": {"user_id": "bob"}}, PreconditionFailed, "user_id property set to 'bob' but"),
        ({"properties": {"priority": 256}}, PreconditionFailed, "property 'priority' is a number of 1 octets"),
        ({"properties": {"expiration": "x"}}, PreconditionFailed, "invalid expiration 'x'"),
    ],
)
def test_refusals(run, peer, more, error, text):
    peer.declare("q")
    with pytest.raises(error, match=text):
        run("publish_message", **{**TO_Q, **more})


def test_a_node_that_is_short_of_memory_takes_none(run, world):
    world.broker.alarms.set(MEMORY, "too much is used")
    with pytest.raises(Refused, match="the node is short of memory: it accepts no messages") as caught:
        run("publish_message", **TO_Q)
    assert caught.value.exit_code == EX_TEMPFAIL
