import logging

import pytest
from hypothesis import given, strategies as st

from pybroker.core.events.cause import BROKER
from pybroker.core.routing.router import route
from pybroker.core.topology.exchange_declare import delete_exchange
from tests.topology import exchange, link, names, new_vhost, queue, reached, wired

AE = "alternate_exchange"


def with_alternate(vhost, name, alternate, type_name="direct"):
    return exchange(vhost, name, type_name, wired(**{AE: alternate}))


# A1, A3, A4: S1's example: a direct exchange whose alternate, a fanout, is declared after it.
def test_a3_the_example_of_the_document_routes_to_both_queues():
    vhost = new_vhost()
    with_alternate(vhost, "my-direct", "my-ae")
    exchange(vhost, "my-ae", "fanout")
    queue(vhost, "routed")
    queue(vhost, "unrouted")
    link(vhost, "my-direct", "routed", "key1")
    link(vhost, "my-ae", "unrouted")
    assert reached(vhost, "my-direct", "key1") == ["routed"]
    assert reached(vhost, "my-direct", "key2") == ["unrouted"]


@pytest.mark.parametrize("type_name", ["direct", "fanout", "topic", "headers"])
def test_a3_an_alternate_of_any_type(type_name):
    vhost = new_vhost()
    with_alternate(vhost, "x", "ae")
    ae = exchange(vhost, "ae", type_name)
    queue(vhost, "q")
    link(vhost, "ae", "q", "k", wired(x_match="all"))
    found = route(vhost, vhost.exchanges["x"], ["k"], None)
    assert (names(found.queues), found.dynamic) == (["q"], ae.NEEDS_HEADERS)


# A14: a topic alternate sees the original key.
def test_a14_the_routing_key_is_kept_for_the_alternate():
    vhost = new_vhost()
    with_alternate(vhost, "x", "ae", "headers")
    exchange(vhost, "ae", "topic")
    for name, pattern in [("a", "a.*"), ("b", "b.*")]:
        queue(vhost, name)
        link(vhost, "ae", name, pattern)
    assert reached(vhost, "x", "b.1", headers=wired(h=1)) == ["b"]


# A4: a binding to an exchange that matched counts as routed, though it leads nowhere.
def test_a4_a_matched_exchange_that_leads_nowhere_does_not_wake_the_alternate():
    vhost = new_vhost()
    with_alternate(vhost, "x", "ae")
    exchange(vhost, "ae", "fanout")
    exchange(vhost, "nowhere", "fanout")
    queue(vhost, "q")
    link(vhost, "ae", "q")
    link(vhost, "x", "x:nowhere", "k")
    assert reached(vhost, "x", "k") == []
    assert reached(vhost, "x", "other") == ["q"]


# A4: the bound exchange's own alternate is for what it cannot route.
def test_a4_the_alternate_of_a_bound_exchange_is_used():
    vhost = new_vhost()
    exchange(vhost, "x", "fanout")
    with_alternate(vhost, "y", "ae")
    exchange(vhost, "ae", "fanout")
    for name in "qr":
        queue(vhost, name)
    link(vhost, "x", "x:y")
    link(vhost, "x", "r")
    link(vhost, "ae", "q")
    assert reached(vhost, "x", "k") == ["q", "r"]


# A6
def test_a6_a_missing_alternate_is_counted_each_time_and_warned_about_once_a_minute(caplog):
    vhost = new_vhost()
    x = with_alternate(vhost, "x", "gone")
    with caplog.at_level(logging.WARNING, "pybroker"):
        for _ in range(3):
            found = route(vhost, x, ["k"], None)
            assert found == ((), True)  # kept, it would be counted only once
    assert vhost.unroutable_ae_missing == 3
    assert [record.message for record in caplog.records] == [
        "exchange 'x' in vhost '/': its alternate exchange 'gone' does not exist"
    ]
    vhost.broker.clock.advance(60_000)
    with caplog.at_level(logging.WARNING, "pybroker"):
        route(vhost, x, ["k"], None)
    assert len(caplog.records) == 2


def test_a6_a_probe_counts_nothing():
    vhost = new_vhost()
    x = with_alternate(vhost, "x", "gone")
    assert route(vhost, x, ["k"], None, probe=True).dynamic
    assert vhost.unroutable_ae_missing == 0


def test_a6_an_alternate_that_was_deleted_is_missing_until_it_is_declared_again():
    vhost = new_vhost()
    with_alternate(vhost, "x", "ae")
    queue(vhost, "q")
    for expected in (1, 2):
        before = vhost.generation
        exchange(vhost, "ae", "fanout")
        link(vhost, "ae", "q")
        assert vhost.generation > before
        assert reached(vhost, "x", "k") == ["q"]
        delete_exchange(vhost, None, "ae", BROKER, if_unused=False)
        assert reached(vhost, "x", "k") == []
        assert vhost.unroutable_ae_missing == expected


# A7
def test_a7_alternates_of_alternates_are_asked_in_turn():
    vhost = new_vhost()
    for at in range(5):
        with_alternate(vhost, f"x{at}", f"x{at + 1}")
    exchange(vhost, "x5", "fanout")
    for name in ("third", "last"):
        queue(vhost, name)
    link(vhost, "x3", "third", "k")
    link(vhost, "x5", "last")
    assert reached(vhost, "x0", "k") == ["third"]
    assert reached(vhost, "x0", "other") == ["last"]


# A8
@pytest.mark.parametrize("length", [1, 2, 3, 10])
def test_a8_a_circle_of_alternates_ends(length):
    vhost = new_vhost()
    for at in range(length):
        with_alternate(vhost, f"x{at}", f"x{(at + 1) % length}")
    assert reached(vhost, "x0", "k") == []
    assert vhost.unroutable_ae_missing == 0
    queue(vhost, "q")
    link(vhost, f"x{length - 1}", "q", "k")
    assert reached(vhost, "x0", "k") == ["q"]


# A8: bound exchanges count as tried, too.
def test_a8_an_alternate_that_the_message_came_through_is_not_tried_again():
    vhost = new_vhost()
    exchange(vhost, "source", "fanout")
    with_alternate(vhost, "x", "source")
    queue(vhost, "q")
    link(vhost, "source", "x:x")
    link(vhost, "source", "q")
    assert reached(vhost, "source", "k") == ["q"]
    assert reached(vhost, "x", "k") == ["q"]  # the other way round: by the alternate, and from it back to x


def test_a7_a_chain_of_ten_thousand_exchanges_needs_no_stack():
    vhost = new_vhost()
    for at in range(10_000):
        exchange(vhost, f"x{at}", "fanout")
    queue(vhost, "q")
    for at in range(9_999):
        link(vhost, f"x{at}", f"x:x{at + 1}")
    link(vhost, "x9999", "q")
    assert reached(vhost, "x0") == ["q"]


# A16, A3: the default exchange can be an alternate like any other; it has none itself.
def test_a3_the_default_exchange_as_alternate_routes_by_queue_name():
    vhost = new_vhost()
    with_alternate(vhost, "x", "")
    queue(vhost, "q")
    assert reached(vhost, "x", "q") == ["q"]
    assert reached(vhost, "x", "other") == []


def test_a_queue_reached_on_several_ways_gets_a_message_once():
    vhost = new_vhost()
    for name in ("a", "b", "c"):
        exchange(vhost, name, "fanout")
    queue(vhost, "q")
    for source, destination in [("a", "x:b"), ("a", "x:c"), ("b", "q"), ("c", "q"), ("a", "q"), ("c", "x:a")]:
        link(vhost, source, destination)
    assert reached(vhost, "a") == ["q"]


def test_routes_without_headers_exchanges_may_be_kept_and_others_not():
    vhost = new_vhost()
    exchange(vhost, "d", "direct")
    exchange(vhost, "f", "fanout")
    exchange(vhost, "h", "headers")
    queue(vhost, "q")
    link(vhost, "f", "q")
    link(vhost, "d", "x:f", "fanout")
    link(vhost, "d", "x:h", "headers")
    link(vhost, "h", "q", "", wired(a=1))
    d = vhost.exchanges["d"]
    assert [route(vhost, d, [key], None).dynamic for key in ("none", "fanout", "headers")] == [False, False, True]
    assert reached(vhost, "d", "headers", headers=wired(a=1)) == ["q"]
    assert reached(vhost, "d", "headers", headers=wired(a=2)) == []


def test_cc_keys_go_through_bound_exchanges_as_well():
    vhost = new_vhost()
    exchange(vhost, "f", "fanout")
    exchange(vhost, "d")
    link(vhost, "f", "x:d")
    for name in "abc":
        queue(vhost, name)
        link(vhost, "d", name, name)
    assert reached(vhost, "f", "a", "c") == ["a", "c"]


def naive_route(exchanges, edges, alternates, start):
    """Fanouts only: what is bound is what matches."""
    seen, waiting, found = {start}, [start], set()
    while waiting:
        name = waiting.pop()
        targets = edges.get(name, set())
        following = {t for t in targets if t in exchanges}
        found |= targets - following
        if not targets and alternates.get(name) in exchanges:
            following = {alternates[name]}
        waiting += following - seen
        seen |= following
    return sorted(found)


XS = ["x0", "x1", "x2", "x3"]
QS = ["q0", "q1"]


@given(
    edges=st.sets(st.tuples(st.sampled_from(XS), st.sampled_from(XS + QS)), max_size=8),
    alternates=st.dictionaries(st.sampled_from(XS), st.sampled_from([*XS, "missing"]), max_size=4),
)
def test_any_web_of_bindings_and_alternates_ends_and_reaches_what_a_naive_walk_reaches(edges, alternates):
    vhost = new_vhost()
    for name in XS:
        if name in alternates:
            with_alternate(vhost, name, alternates[name], "fanout")
        else:
            exchange(vhost, name, "fanout")
    for name in QS:
        queue(vhost, name)
    by_source: dict = {}
    for source, target in edges:
        link(vhost, source, f"x:{target}" if target in XS else target)
        by_source.setdefault(source, set()).add(target)
    for start in XS:
        assert reached(vhost, start, "k") == naive_route(XS, by_source, alternates, start)
