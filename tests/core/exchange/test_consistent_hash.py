"""x-consistent-hash: the buckets of each test were read off RabbitMQ 3.10.8."""

import pytest

from pybroker.core.routing.inbound_message import InboundMessage
from pybroker.core.routing.publish import names_of
from pybroker.core.routing.router import route
from pybroker.run import PLAIN_ATTRIBUTES
from pybroker.wire.properties import Properties, encode_properties
from pybroker.wire.table import Table, decode_table, encode_table
from tests.topology import exchange, link, names, new_vhost, queue, reached, refused, typed, unlink, wired

TYPE = "x-consistent-hash"
KEYS = [f"k{number}" for number in range(24)]


def ring(*weights, arguments=None):
    vhost = new_vhost()
    exchange(vhost, "x", TYPE, arguments)
    for name, weight in weights:
        if name not in vhost.queues:
            queue(vhost, name)
        link(vhost, "x", name, weight)
    return vhost


def shares(vhost, keys=KEYS):
    """Return which numbers of the keys each queue gets."""
    found = {}
    for number, key in enumerate(keys):
        (name,) = reached(vhost, "x", key)
        found.setdefault(name, []).append(number)
    return found


def test_keys_fall_into_the_buckets_they_fall_into_in_rabbitmq():
    vhost = ring(("a", "1"), ("b", "2"), ("c", "3"))
    assert shares(vhost) == {
        "a": [15, 16, 18],
        "b": [0, 3, 4, 6, 9, 12, 13, 14, 19, 23],
        "c": [1, 2, 5, 7, 8, 10, 11, 17, 20, 21, 22],
    }


def test_a_binding_that_goes_leaves_its_buckets_to_those_behind_it():
    vhost = ring(("a", "1"), ("b", "2"), ("c", "3"))
    unlink(vhost, "x", "b", "2")
    assert shares(vhost)["a"] == [15, 16, 17, 18]


def test_a_new_binding_moves_only_what_it_gets():
    vhost = ring(("a", "2"), ("b", "3"))
    before = {key: reached(vhost, "x", key) for key in KEYS}
    queue(vhost, "c")
    link(vhost, "x", "c", "2")
    moved = [key for key in KEYS if reached(vhost, "x", key) != before[key]]
    assert moved
    assert all(reached(vhost, "x", key) == ["c"] for key in moved)


def test_the_first_binding_of_a_queue_counts_and_the_next_takes_its_place():
    vhost = ring(("a", "1"), ("a", "3"), ("b", "2"))
    assert shares(vhost)["a"] == [1, 7, 15, 16, 17, 18]
    unlink(vhost, "x", "a", "1")
    assert set(shares(vhost)) == {"a", "b"}
    unlink(vhost, "x", "a", "3")
    assert set(shares(vhost)) == {"b"}


def test_without_bindings_nobody_is_reached():
    assert reached(ring(), "x", "k") == []


def test_a_message_with_several_keys_goes_where_its_own_key_goes():
    vhost = ring(*((name, "10") for name in "abcd"))
    assert ["a"] == reached(vhost, "x", "0", "c0") == reached(vhost, "x", "0")


def test_a_route_by_key_is_kept_and_one_by_header_is_not():
    assert not route(ring(("a", "1")), ring(("a", "1")).exchanges["x"], ["k"], None).dynamic
    vhost = ring(("a", "1"), arguments=wired(hash_header="h"))
    assert route(vhost, vhost.exchanges["x"], ["k"], None).dynamic


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        (wired(h="a"), "a"),
        (wired(h="b"), "b"),
        (wired(h="cc"), "d"),
        (wired(h=5), "a"),
        (wired(h=-7), "d"),
        (wired(h=1 << 40), "a"),
        (wired(h=True), "a"),
        (wired(h=None), "a"),
        (wired(z=1), "d"),
        (None, "d"),
    ],
)
def test_a_header_has_the_hash_it_has_in_rabbitmq(headers, name):
    vhost = ring(*((each, "10") for each in "abcd"), arguments=wired(hash_header="h"))
    assert reached(vhost, "x", "k", headers=headers) == [name]


@pytest.mark.parametrize("value", [typed("h", "d", 1.5), typed("h", "A", [1]), wired(h={"a": 1})])
def test_any_other_header_has_a_hash_as_well(value):
    vhost = ring(*((each, "10") for each in "abcd"), arguments=wired(hash_header="h"))
    assert len(reached(vhost, "x", "k", headers=value)) == 1
    assert reached(vhost, "x", "k", headers=value) == reached(vhost, "x", "other", headers=value)


@pytest.mark.parametrize(
    ("kind", "value", "name"),
    [
        ("message_id", "a", "b"),
        ("message_id", "cc", "d"),
        ("message_id", None, "d"),
        ("timestamp", 2, "b"),
        ("timestamp", 5, "c"),
        ("timestamp", 77, "d"),
    ],
)
def test_a_property_has_the_hash_it_has_in_rabbitmq(kind, value, name):
    vhost = ring(*((each, "10") for each in "abcd"), arguments=wired(hash_property=kind))
    octets = encode_properties(Properties(**{kind: value}))
    content = b"\2\0\1" + (12 + len(octets)).to_bytes(4) + bytes(12) + octets + b"\xce"
    inbound = InboundMessage(names_of("x", "k"), PLAIN_ATTRIBUTES, content, 1, 0)
    assert names(route(vhost, vhost.exchanges["x"], ["k"], None, inbound=inbound).queues) == [name]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"hash-header": "a", "hash-property": "x"}, "hash-header and hash-property are mutually exclusive"),
        ({"hash-property": "user_id"}, "Unsupported property: user_id"),
        ({"hash-header": 5}, "Invalid hash-header field type signedint (value 5); expected longstr"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(arguments, text):
    table = decode_table(encode_table(Table(arguments)))[0]
    assert refused(exchange, new_vhost(), "x", TYPE, table) == (406, text)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("0", "The binding key must be greater than 0"),
        ("-1", "The binding key must be greater than 0"),
        ("x", 'The binding key must be an integer: <<"x">>'),
        ("", "The binding key must be an integer: <<>>"),
        (" 1", 'The binding key must be an integer: <<" 1">>'),
        ("1_0", 'The binding key must be an integer: <<"1_0">>'),
    ],
)
def test_a_key_that_is_no_weight_is_refused(key, text):
    vhost = ring()
    queue(vhost, "q")
    assert refused(link, vhost, "x", "q", key) == (406, text)


@pytest.mark.parametrize("key", ["+5", "007", "9" * 200])
def test_weights_are_written_as_erlang_reads_them(key):
    assert reached(ring(("q", key)), "x", "k") == ["q"]


def test_a_binding_that_does_not_count_moves_nothing_when_it_goes():
    vhost = ring(("a", "1"), ("b", "1"), ("c", "2"))
    before = shares(vhost)
    link(vhost, "x", "a", "5")
    assert before == shares(vhost)
    unlink(vhost, "x", "a", "5")
    assert before == shares(vhost)
