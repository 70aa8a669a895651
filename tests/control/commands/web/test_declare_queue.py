"""Queues that users of the HTTP API declare."""

import pytest

from pybroker.control.spec import Refused
from pybroker.errors import AccessRefused, NotFound, PreconditionFailed


def test_it_is_made_once(run, world):
    what = {"name": "q", "vhost": "/", "durable": True, "arguments": {"x-max-length": 5, "x-own": [1.5, {"a": True}]}}
    assert run("declare_queue", **what) == {"created": True}
    assert run("declare_queue", **what) == {"created": False}
    queue = world.vhost.queues["q"]
    assert (queue.durable, queue.auto_delete, queue.user) == (True, False, "guest")
    assert dict(queue.arguments) == {"x-max-length": 5, "x-own": [1.5, {"a": True}]}
    assert queue.arguments.types == {"x-max-length": "l", "x-own": "A"}
    assert run("declare_queue", name="t", vhost="/", auto_delete=True) == {"created": True}
    assert (world.vhost.queues["t"].durable, world.vhost.queues["t"].auto_delete) == (False, True)


def test_another_one_of_its_name_is_refused(run):
    run("declare_queue", name="q", vhost="/")
    with pytest.raises(PreconditionFailed, match="inequivalent arg 'durable' for queue 'q' in vhost '/'"):
        run("declare_queue", name="q", vhost="/", durable=True)


def test_a_passive_one_is_only_looked_for(run):
    with pytest.raises(NotFound, match="no queue 'q' in vhost '/'"):
        run("declare_queue", name="q", vhost="/", passive=True)
    run("declare_queue", name="q", vhost="/")
    assert run("declare_queue", name="q", vhost="/", passive=True, durable=True) == {"created": False}


def test_permissions_are_those_of_the_user(run, ann):
    assert run("declare_queue", ann, name="a1", vhost="/") == {"created": True}
    with pytest.raises(AccessRefused, match="configure access to queue 'b1' in vhost '/' refused for user 'ann'"):
        run("declare_queue", ann, name="b1", vhost="/")


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"vhost": "none"}, "Virtual host 'none' does not exist"),
        ({"node": "other@here"}, "Node other@here could not be contacted"),
        ({"arguments": {"a": 1 << 63}}, "its arguments have a number of more than 64 bits: 9223372036854775808"),
        ({"arguments": {"a" * 256: 1}}, "its arguments cannot be encoded in AMQP"),
    ],
)
def test_refusals(run, more, text):
    with pytest.raises(Refused) as caught:
        run("declare_queue", **{"name": "q", "vhost": "/", **more})
    assert caught.value.text.startswith(text)
    assert run("declare_queue", name="q", vhost="/", node="pybroker@vm") == {"created": True}
