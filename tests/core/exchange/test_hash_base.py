import pytest

from pybroker.core.exchange.hash_base import PickingExchange
from pybroker.wire.table import Table
from tests.topology import exchange, link, new_vhost, queue, reached, unlink


def bound(type_name, *bindings):
    vhost = new_vhost()
    exchange(vhost, "x", type_name)
    for name, key in bindings:
        if name not in vhost.queues:
            queue(vhost, name)
        link(vhost, "x", name, key)
    return vhost


@pytest.mark.parametrize("type_name", ["x-random", "x-modulus-hash"])
def test_one_binding_of_many_is_taken_and_none_of_none(type_name):
    vhost = bound(type_name, ("a", "1"), ("b", "2"), ("c", "3"))
    found = {tuple(reached(vhost, "x", f"k{number}", "more")) for number in range(200)}
    assert found == {("a",), ("b",), ("c",)}
    for name, key in (("a", "1"), ("b", "2"), ("c", "3")):
        unlink(vhost, "x", name, key)
    assert reached(vhost, "x", "k") == []


def test_which_binding_it_is_the_type_says():
    base = PickingExchange(
        new_vhost(), "x", durable=True, auto_delete=False, internal=False, arguments=Table(), user="u"
    )
    with pytest.raises(NotImplementedError):
        base.pick(["k"], 1)
