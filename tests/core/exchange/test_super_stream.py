"""x-super-stream: the partition that clients of the stream protocol pick for a key is the one that messages reach."""

import pytest

from pybroker.core.exchange.super_stream import SEED, SuperStreamExchange
from tests.topology import exchange, link, new_vhost, queue, reached, refused, typed


def order(number):
    return typed("x-stream-partition-order", "l", number)


def bound(*bindings):
    vhost = new_vhost()
    exchange(vhost, "x", "x-super-stream")
    for name, key, arguments in bindings:
        queue(vhost, name)
        link(vhost, "x", name, key, arguments)
    return vhost


def test_a_key_has_the_partition_that_clients_compute():
    # As RabbitMQ's client for Go has it: its hash, and its expectations of three partitions.
    vhost = bound(*((f"x-{number}", str(number), order(number)) for number in range(3)))
    found = [reached(vhost, "x", f"hello{number}")[0] for number in range(1, 10)]
    assert found == [f"x-{number}" for number in (1, 0, 1, 2, 0, 2, 0, 1, 0)]
    assert SEED == 104_729


def test_the_order_of_the_partitions_decides_not_that_of_the_bindings():
    forward = bound(*((f"x-{number}", str(number), order(number)) for number in range(12)))
    backward = bound(*((f"x-{number}", str(number), order(number)) for number in reversed(range(12))))
    plain = bound(*((f"x-{number}", str(number), None) for number in reversed(range(12))))
    for key in map(str, range(50)):
        assert reached(forward, "x", key) == reached(backward, "x", key) == reached(plain, "x", key)


def test_only_the_routing_key_is_hashed():
    vhost = bound(*((f"x-{number}", str(number), order(number)) for number in range(3)))
    assert reached(vhost, "x", "k", "other") == reached(vhost, "x", "k")


@pytest.mark.parametrize("key", ["", "a", "-1", "1.5", "\N{ARABIC-INDIC DIGIT ONE}"])
def test_keys_of_bindings_are_numbers(key):
    vhost = bound()
    queue(vhost, "q")
    assert refused(link, vhost, "x", "q", key) == (406, f"The binding key must be an integer: {key}")


def test_without_partitions_nothing_is_reached():
    assert reached(bound(), "x", "k") == []
    assert SuperStreamExchange.EXPLAINS
