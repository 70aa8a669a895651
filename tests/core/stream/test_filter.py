"""Which messages a stream's consumer asks for."""

import pytest

from pybroker.core.stream.filter import (
    KNOWN_OCTETS_MAX,
    VALUES_MAX,
    Filters,
    bloom_of_run,
    filter_value,
    filters_of,
    filters_of_properties,
)
from pybroker.entries_run import EntriesRun
from pybroker.run import WANTS_FILTER, RunAttributes
from pybroker.wire.stream.bloom import bloom_of
from tests.core.stream.runs import bodies_run, content, run_of
from tests.entries import entries_run

FILTERED = RunAttributes(persistent=True, wants=WANTS_FILTER)


def filtered_run(first_seq, *values):
    return run_of(first_seq, [content(b"x", {"x-stream-filter-value": value}) for value in values], FILTERED)


def wanted(*values, unfiltered=False):
    return Filters(frozenset(values), unfiltered)


def test_without_the_argument_nothing_is_filtered():
    assert filters_of({"x-stream-match-unfiltered": True}) is None


@pytest.mark.parametrize(("argument", "values"), [("x", {"x"}), (["x", "y"], {"x", "y"}), ([], set())])
def test_one_value_or_several(argument, values):
    assert filters_of({"x-stream-filter": argument}) == Filters(frozenset(values), unfiltered=False)


@pytest.mark.parametrize(
    ("headers", "value"),
    [
        ({"x-stream-filter-value": "x"}, "x"),
        ({"x-stream-filter-value": 1}, None),
        ({"a": "x-stream-filter-value"}, None),
        (None, None),
    ],
)
def test_the_value_is_a_text_in_the_headers(headers, value):
    assert filter_value(content(b"body", headers)) == value


def test_values_in_long_properties_are_found_as_well():
    headers = {"x-stream-filter-value": "x", "a": "b" * KNOWN_OCTETS_MAX}
    assert filter_value(content(b"", headers)) == "x"


def test_neighbours_that_pass_stay_together():
    run = run_of(
        0, [content(b"", {"x-stream-filter-value": value} if value else None) for value in "xxyx-"[:4]] + [content(b"")]
    )
    assert Filters(frozenset("x"), unfiltered=False).spans(run, range(5)) == [range(2), range(3, 4)]
    assert Filters(frozenset("y"), unfiltered=True).spans(run, range(1, 5)) == [range(2, 3), range(4, 5)]
    assert Filters(frozenset("z"), unfiltered=False).spans(run, range(5)) == []


def test_chunks_are_passed_over_by_their_blooms():
    apples, mixed = bloom_of([b"apples"], 16), bloom_of([b"apples", None], 255)
    assert wanted("apples").may_match(apples)
    assert wanted("pears", "apples").may_match(mixed)
    assert not wanted("pears").may_match(apples)
    assert not wanted("pears").may_match(mixed)
    assert wanted("pears", unfiltered=True).may_match(mixed)
    assert not wanted("pears", unfiltered=True).may_match(apples)


def test_without_values_only_the_wish_for_such_messages_matches():
    assert not wanted("apples").may_match(b"")
    assert wanted("apples", unfiltered=True).may_match(b"")


def test_everything_may_be_where_nothing_is_known():
    assert wanted("apples").may_match(None)


def test_too_many_values_match_each_chunk_with_values():
    many = wanted(*[f"value {number}" for number in range(VALUES_MAX + 1)])
    assert many.may_match(bloom_of([b"apples"], 255))
    assert not many.may_match(b"")


def test_a_chunk_that_was_passed_over_has_nothing_for_anybody():
    many = wanted(*[f"value {number}" for number in range(VALUES_MAX + 1)], unfiltered=True)
    run = EntriesRun.passed_over(7, 5)
    assert not many.may_match_run(run)
    assert not wanted("a").may_match_run(run)


def test_a_run_in_memory_is_judged():
    assert wanted("a").may_match_run(entries_run(0, b"x", bloom=bloom_of([b"a"], 16)))
    assert not wanted("b").may_match_run(entries_run(0, b"x", bloom=bloom_of([b"a"], 16)))
    assert not wanted("a").may_match_run(bodies_run(0, b"x"))
    assert wanted("a", unfiltered=True).may_match_run(bodies_run(0, b"x"))
    assert wanted("a").may_match_run(filtered_run(0, "b", "a"))
    assert not wanted("c").may_match_run(filtered_run(0, "b", "a"))


def test_values_beside_messages_are_not_told_apart():
    chunk = entries_run(0, b"x", bloom=bloom_of([b"a", None], 16))
    assert wanted("a").of_chunk(chunk) == wanted("a", unfiltered=True)
    assert wanted("b").of_chunk(chunk) == wanted("b")
    for run in (entries_run(0, b"x", bloom=b""), entries_run(0, b"x"), filtered_run(0, "a")):
        assert wanted("a").of_chunk(run) == wanted("a")


def test_the_bloom_of_a_run():
    assert bloom_of_run(entries_run(0, b"x", bloom=b"12"), 16) == b"12"
    assert bloom_of_run(bodies_run(0, b"x"), 16) == b""
    find = bloom_of_run(filtered_run(0, "ü", "a", 5), 17)
    assert find() == bloom_of(["ü".encode(), b"a", None], 17)


@pytest.mark.parametrize(
    ("properties", "filters"),
    [
        ({}, None),
        ({"match-unfiltered": "true"}, None),
        ({"filter.0": "a", "filter.1": "b", "name": "x"}, wanted("a", "b")),
        ({"filter.x": "a", "match-unfiltered": "true"}, wanted("a", unfiltered=True)),
        ({"filter.0": "a", "match-unfiltered": "yes"}, wanted("a")),
    ],
)
def test_properties_of_a_subscription(properties, filters):
    assert filters_of_properties(properties) == filters
