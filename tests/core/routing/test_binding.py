from pybroker.core.routing.binding import Binding, argument_octets
from pybroker.wire.table import Table
from tests.topology import exchange, new_vhost, queue, typed, wired


def test_a_bindings_identity_is_source_destination_key_and_arguments():
    vhost = new_vhost()
    one, other = exchange(vhost, "one"), exchange(vhost, "other")
    q = queue(vhost, "one")
    base = Binding(one, q, "k", wired(a=1)).key
    assert base == Binding(one, q, "k", wired(a=1)).key
    variants = [
        Binding(other, q, "k", wired(a=1)),
        Binding(one, one, "k", wired(a=1)),  # a queue and an exchange may share a name
        Binding(one, q, "K", wired(a=1)),
        Binding(one, q, "k", wired(a=2)),
        Binding(one, q, "k", Table()),
    ]
    assert base not in {variant.key for variant in variants}


def test_the_order_of_arguments_does_not_matter_and_their_types_do():
    assert argument_octets(wired(a=1, b="x")) == argument_octets(wired(b="x", a=1))
    octets = {
        argument_octets(table)
        for table in [typed("a", "I", 1), typed("a", "l", 1), typed("a", "t", True), typed("a", "d", 1.0)]
    }
    assert len(octets) == 4


def test_arguments_of_any_kind_make_an_identity():
    table = wired(a=[1, {"b": None}], c={"d": [b"\xff"]}, e=float("nan"))
    assert argument_octets(table) == argument_octets(wired(**dict(reversed(table.items()))))


def test_a_binding_is_durable_if_both_ends_are():
    vhost = new_vhost()
    durable, transient = exchange(vhost, "d"), exchange(vhost, "t", durable=False)
    q, passing = queue(vhost, "q"), queue(vhost, "p", durable=False)
    found = [Binding(x, y, "", Table()).durable for x in (durable, transient) for y in (q, passing)]
    assert found == [True, False, False, False]


def test_a_binding_says_what_it_leads_to():
    vhost = new_vhost()
    text = repr(Binding(exchange(vhost, "x"), queue(vhost, "q"), "k", Table()))
    assert text == "Binding('x' -> queue 'q', 'k', Table())"
