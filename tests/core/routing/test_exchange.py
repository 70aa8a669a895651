import pytest

from pybroker.core.exchange import EXCHANGE_TYPES
from pybroker.core.routing.binding import Binding
from pybroker.core.routing.exchange import Exchange, count_down, count_up
from pybroker.wire.table import Table
from tests.topology import exchange, link, names, new_vhost, queue, reached, unlink, wired

TYPES = sorted(EXCHANGE_TYPES)


# A binding key and arguments that all types take: of x-consistent-hash the key is a weight.
KEY = "7"
ARGUMENTS = {"x_delayed_type": "direct"}


def test_the_table_has_the_types_of_the_specification_and_those_of_the_plugins():
    assert ["direct", "fanout", "headers", "topic"] == [each for each in TYPES if not each.startswith("x-")]
    plugins = ["consistent-hash", "delayed-message", "modulus-hash", "random", "recent-history", "super-stream"]
    assert [f"x-{name}" for name in plugins] == [each for each in TYPES if each.startswith("x-")]
    assert all(name == each.TYPE for name, each in EXCHANGE_TYPES.items())


@pytest.mark.parametrize("type_name", TYPES)
def test_an_equal_binding_is_kept_once(type_name):
    vhost = new_vhost()
    x = exchange(vhost, "x", type_name, wired(**ARGUMENTS))
    q = queue(vhost, "q")
    assert x.add(Binding(x, q, KEY, wired(a=1)))
    assert not x.add(Binding(x, q, KEY, wired(a=1)))
    assert x.add(Binding(x, q, KEY, wired(a=2)))
    assert x.binding_count == 2
    assert x.remove(Binding(x, q, KEY, wired(a=1)))
    assert not x.remove(Binding(x, q, KEY, wired(a=1)))
    assert x.in_use
    assert x.remove(Binding(x, q, KEY, wired(a=2)))
    assert not x.in_use


@pytest.mark.parametrize("type_name", TYPES)
def test_two_ways_to_one_queue_are_one_and_the_last_unbind_ends_it(type_name):
    vhost = new_vhost()
    exchange(vhost, "x", type_name, wired(**ARGUMENTS))
    queue(vhost, "q")
    link(vhost, "x", "q", KEY, wired(x_match="any", a=1, b=1))
    link(vhost, "x", "q", KEY, wired(x_match="any", a=1, c=1))
    assert reached(vhost, "x", KEY, headers={"a": 1}) == ["q"]
    unlink(vhost, "x", "q", KEY, wired(x_match="any", a=1, b=1))
    assert reached(vhost, "x", KEY, headers={"a": 1}) == ["q"]
    unlink(vhost, "x", "q", KEY, wired(x_match="any", a=1, c=1))
    assert reached(vhost, "x", KEY, headers={"a": 1}) == []


def test_bindings_come_in_the_order_they_were_made():
    vhost = new_vhost()
    x = exchange(vhost, "x", "fanout")
    for name in "cab":
        queue(vhost, name)
        link(vhost, "x", name)
    assert names(binding.destination for binding in x.bindings()) == ["c", "a", "b"]


def test_bindings_to_exchanges_are_counted_for_the_router():
    vhost = new_vhost()
    x = exchange(vhost, "x", "fanout")
    exchange(vhost, "y")
    queue(vhost, "q")
    link(vhost, "x", "q")
    link(vhost, "x", "x:y", "1")
    link(vhost, "x", "x:y", "2")
    assert x.exchanges_bound == 2
    unlink(vhost, "x", "x:y", "1")
    assert x.exchanges_bound == 1


# A15: what was declared wins over what a policy says.
def test_a15_a_declared_alternate_wins_over_a_policys():
    vhost = new_vhost()
    declared = exchange(vhost, "declared", arguments=wired(alternate_exchange="mine"))
    plain = exchange(vhost, "plain")
    for x in (declared, plain):
        x.apply_policy("policys")
    assert (declared.alternate, plain.alternate) == ("mine", "policys")
    plain.apply_policy(None)
    assert plain.alternate is None


def test_the_base_matches_nothing_by_itself():
    vhost = new_vhost()
    base = Exchange(vhost, "b", durable=True, auto_delete=False, internal=False, arguments=Table(), user="u")
    with pytest.raises(NotImplementedError):
        base.match("k", None, {})
    with pytest.raises(NotImplementedError):
        base.add(Binding(base, queue(vhost, "q"), "k", Table()))


def test_destinations_are_counted_up_and_down():
    q = queue(new_vhost(), "q")
    found = {}
    count_up(found, q)
    count_up(found, q)
    assert found == {q: 2}
    count_down(found, q)
    assert found == {q: 1}
    count_down(found, q)
    assert found == {}
