"""Queues, exchanges, bindings and virtual hosts."""

import pytest

from pybroker.control.objects.topology import BINDINGS, QUEUES, key_of
from tests.control.objects.conftest import facts, view_of
from tests.fakes import Exchange, Queue


@pytest.mark.parametrize(
    ("key", "expected"), [("", "~"), ("a.#", "a.%23"), ("a b/~", "a+b%2F%7E"), ("~", "%7E"), ("ü", "%C3%BC")]
)
def test_the_key_of_a_binding_is_rabbitmqs(world, peer, key, expected):
    peer.declare("q")
    peer.call(Queue.Bind(0, "q", "amq.topic", key))
    (binding,) = world.vhost.exchanges["amq.topic"].bindings()
    assert key_of(binding) == expected


def test_bindings_with_other_arguments_have_other_keys(world, peer):
    peer.declare("q")
    for number in (1, 2):
        peer.call(Queue.Bind(0, "q", "amq.headers", "k", False, {"x": number}))
    keys = facts(world, BINDINGS, "properties_key")[1:]
    assert len(set(keys)) == 2
    assert all(key.startswith("k~") and "=" not in key for key in keys)


def test_bindings_of_one_end_or_two_are_those_among_all(world, peer):
    for name in ("q", "other"):
        peer.declare(name)
    for source, queue, key in (("amq.topic", "q", "a"), ("amq.topic", "q", "b"), ("amq.direct", "other", "a")):
        peer.call(Queue.Bind(0, queue, source, key))
    peer.call(Exchange.Bind(0, "amq.topic", "amq.direct", "k"))
    view = view_of(world)
    ends = [(each, each.source.name, each.destination.kind, each.destination.name) for each in BINDINGS.find(view)]
    assert len(ends) == 6

    def found(*key):
        return {each.key for each in BINDINGS.get(view, [key])}

    for source in ("", "amq.topic", "amq.direct", "none"):
        assert found("from", "/", source) == {each.key for each, one, _, _ in ends if one == source}
        for kind, name in (("queue", "q"), ("queue", "other"), ("exchange", "amq.topic"), ("queue", "none")):
            assert found("to", "/", kind, name) == {each.key for each, _, *end in ends if end == [kind, name]}
            wanted = {each.key for each, *both in ends if both == [source, kind, name]}
            assert found("between", "/", source, kind, name) == wanted
    assert found("to", "none", "queue", "q") == found("odd", "/", "q") == set()


def test_unknown_figures_are_none(world, peer):
    peer.declare("q")
    assert facts(world, QUEUES, "time_to_full_s") == [None]
