"""x-modulus-hash: which queue a key picks was read off RabbitMQ 3.10.8."""

import pytest

from pybroker.core.routing.router import route
from tests.topology import exchange, link, new_vhost, queue, reached

FIRST = [1, 2, 3, 5, 9, 10, 21]
SECOND = [4, 11, 13, 14, 17, 22, 23]


def bound(*bindings):
    vhost = new_vhost()
    exchange(vhost, "x", "x-modulus-hash")
    for name, key in bindings:
        if name not in vhost.queues:
            queue(vhost, name)
        link(vhost, "x", name, key)
    return vhost


def numbers(vhost, name):
    return [number for number in range(24) if reached(vhost, "x", f"k{number}") == [name]]


@pytest.mark.parametrize("order", ["abc", "cba", "bac"])
def test_the_order_is_that_of_the_binding_keys(order):
    keys = {"a": "1", "b": "2", "c": "3"}
    vhost = bound(*((name, keys[name]) for name in order))
    assert (FIRST, SECOND) == (numbers(vhost, "a"), numbers(vhost, "b"))


def test_a_queue_bound_twice_has_two_chances():
    vhost = bound(("a", "1"), ("a", "2"), ("b", "0"))
    assert FIRST == numbers(vhost, "b")


def test_all_keys_are_hashed_together():
    vhost = bound(*((name, "10") for name in "abcd"))
    found = [reached(vhost, "x", str(number), f"c{number}")[0] for number in range(8)]
    assert "".join(found) == "baccbbdd"


def test_its_routes_are_kept():
    vhost = bound(("a", "1"))
    assert not route(vhost, vhost.exchanges["x"], ["k"], None).dynamic
