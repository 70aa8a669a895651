from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from pybroker.core.exchange.headers import Pattern, same
from pybroker.core.routing.binding import Binding
from pybroker.core.routing.router import route
from pybroker.errors import PreconditionFailed
from pybroker.wire.table import Table, decode_table, encode_table
from tests.topology import exchange, link, new_vhost, queue, reached, refusal, typed, wired

VALUES = st.sampled_from([1, 2, "a", "b", True, None, 1.0])
FIELDS = st.dictionaries(st.sampled_from(["a", "b", "c", "x-a", "x-b"]), VALUES, max_size=4)


def naive(mode: str, wanted: dict, headers: dict) -> bool:
    """Read the rule out of RabbitMQ's words: all or any, x- keys only with-x, void asks for presence."""
    found = []
    for key, value in wanted.items():
        if key.startswith("x-") and not mode.endswith("-with-x"):
            continue
        there = key in headers
        found.append(
            there and (value is None or (type(value) is type(headers[key]) and value == headers[key]))  # True is not 1
        )
    return any(found) if mode.startswith("any") else all(found)


@given(st.sampled_from(["all", "any", "all-with-x", "any-with-x"]), FIELDS, FIELDS)
def test_it_matches_as_the_rule_says(mode, wanted, headers):
    vhost = new_vhost()
    exchange(vhost, "h", "headers")
    queue(vhost, "q")
    link(vhost, "h", "q", "", decode_table(encode_table({"x-match": mode, **wanted}))[0])
    sent = decode_table(encode_table(headers))[0]
    assert reached(vhost, "h", headers=sent) == (["q"] if naive(mode, wanted, headers) else [])


def test_without_x_match_all_is_meant():
    vhost = new_vhost()
    exchange(vhost, "h", "headers")
    queue(vhost, "q")
    link(vhost, "h", "q", "", wired(a=1, b=2))
    assert reached(vhost, "h", headers=wired(a=1)) == []
    assert reached(vhost, "h", headers=wired(a=1, b=2, c=3)) == ["q"]


def test_a_message_without_headers_matches_only_what_asks_for_nothing():
    vhost = new_vhost()
    exchange(vhost, "h", "headers")
    for name, mode in [("all", "all"), ("any", "any")]:
        queue(vhost, name)
        link(vhost, "h", name, "", wired(x_match=mode))
    assert reached(vhost, "h", headers=None) == ["all"]


def test_the_routing_key_does_not_matter_and_the_result_must_not_be_kept():
    vhost = new_vhost()
    h = exchange(vhost, "h", "headers")
    queue(vhost, "q")
    link(vhost, "h", "q", "k", wired(a=1))
    found = route(vhost, h, ["other"], wired(a=1))
    assert ([q.name for q in found.queues], found.dynamic) == (["q"], True)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (True, 1, False),
        (1, 1.0, False),
        ("a", b"a", True),
        (b"a", "a", True),
        ("a", b"\xff", False),
        (None, 0, False),
        (1, "1", False),
        (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), True),
        (wired(a=1), wired(a=1), True),
        (wired(a=1), wired(a=True), False),
        (wired(k=[1, "a"])["k"], wired(k=[1, "a"])["k"], True),
        (wired(k=[1])["k"], wired(k=[True])["k"], False),
    ],
)
def test_values_are_equal_as_erlang_finds_them_equal(left, right, expected):
    assert same(left, right) == expected


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            wired(x_match="some"),
            'Invalid x-match field value <<"some">>; expected all, any, all-with-x, or any-with-x',
        ),
        (wired(x_match=1), "Invalid x-match field type signedint (value 1); expected longstr"),
        (typed("x-match", "t", True), "Invalid x-match field type bool (value true); expected longstr"),
        (
            typed("x-match", "S", b"\xff\x00"),
            "Invalid x-match field value <<255,0>>; expected all, any, all-with-x, or any-with-x",
        ),
    ],
)
def test_a_bad_x_match_is_refused(arguments, text):
    vhost = new_vhost()
    exchange(vhost, "h", "headers")
    queue(vhost, "q")
    with pytest.raises(PreconditionFailed) as error:
        link(vhost, "h", "q", "", arguments)
    assert refusal(error.value) == (406, text)
    assert not vhost.exchanges["h"].in_use


def test_other_types_take_any_x_match():
    vhost = new_vhost()
    queue(vhost, "q")
    for type_name in ("direct", "fanout", "topic"):
        exchange(vhost, type_name, type_name)
        link(vhost, type_name, "q", "", wired(x_match="nonsense"))
        assert reached(vhost, type_name, headers=Table()) == ["q"]


MODES = st.sampled_from(["all", "any", "all-with-x", "any-with-x"])
RICH = st.dictionaries(
    st.sampled_from(["a", "b", "c", "x-a"]),
    st.one_of(VALUES, st.sampled_from([b"a", b"\xff", False, 0.5, [1], {"k": 1}, datetime(2026, 1, 1, tzinfo=UTC)])),
    max_size=4,
)


@given(st.lists(st.tuples(MODES, RICH, st.booleans()), max_size=12), st.lists(RICH, min_size=1, max_size=4))
def test_many_bindings_made_and_taken_away_match_as_each_alone_does(bindings, messages):
    vhost = new_vhost()
    h = exchange(vhost, "h", "headers")
    queues = [queue(vhost, f"q{number}") for number in range(5)]
    patterns = []
    for at, (mode, wanted, stays) in enumerate(bindings):
        found = queues[at % 5]
        arguments = decode_table(encode_table({"x-match": mode, **wanted}))[0]
        binding = Binding(h, found, "", arguments)
        added = h.add(binding)
        if not stays and added:
            h.remove(binding)
        elif added:
            patterns.append(Pattern(arguments, found))
    for message in messages:
        headers = decode_table(encode_table(message))[0]
        expected = {pattern.destination.name for pattern in patterns if pattern.matches(headers)}
        assert expected == set(reached(vhost, "h", headers=headers))
    if not patterns:
        assert ({}, {}, {}) == (h._places, h._patterns, h._unconditional)


@pytest.mark.parametrize("mode", ["any", "all"])
def test_a_message_looks_at_those_bindings_alone_that_its_headers_speak_for(mode, monkeypatch):
    vhost = new_vhost()
    exchange(vhost, "h", "headers")
    for i in range(300):
        queue(vhost, f"q{i}")
        link(vhost, "h", f"q{i}", "", wired(x_match=mode, kind="order" if mode == "all" else f"k{i}", number=i))
    looked = []
    matches = Pattern.matches
    monkeypatch.setattr(Pattern, "matches", lambda *args: looked.append(args) or matches(*args))
    assert ["q7"] == reached(vhost, "h", headers=wired(kind="order", number=7, more="x"))
    assert len(looked) <= 2
