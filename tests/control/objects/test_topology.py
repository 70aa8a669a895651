"""Queues, exchanges, bindings and virtual hosts."""

import pytest

from pybroker.control.objects.topology import BINDINGS, QUEUES, properties_key
from tests.control.objects.conftest import facts
from tests.fakes import Queue


@pytest.mark.parametrize(
    ("key", "expected"), [("", "~"), ("a.#", "a.%23"), ("a b/~", "a+b%2F%7E"), ("~", "%7E"), ("ü", "%C3%BC")]
)
def test_the_key_of_a_binding_is_rabbitmqs(world, peer, key, expected):
    peer.declare("q")
    peer.call(Queue.Bind(0, "q", "amq.topic", key))
    (binding,) = world.vhost.exchanges["amq.topic"].bindings()
    assert properties_key(binding) == expected


def test_bindings_with_other_arguments_have_other_keys(world, peer):
    peer.declare("q")
    for number in (1, 2):
        peer.call(Queue.Bind(0, "q", "amq.headers", "k", False, {"x": number}))
    keys = facts(world, BINDINGS, "properties_key")[1:]
    assert len(set(keys)) == 2
    assert all(key.startswith("k~") and "=" not in key for key in keys)


def test_unknown_figures_are_none(world, peer):
    peer.declare("q")
    assert facts(world, QUEUES, "time_to_full_s") == [None]
