"""Which messages a stream's consumer asks for."""

import pytest

from pybroker.core.stream.filter import Filters, filter_value, filters_of
from tests.core.stream.runs import content, run_of


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


def test_neighbours_that_pass_stay_together():
    run = run_of(
        0, [content(b"", {"x-stream-filter-value": value} if value else None) for value in "xxyx-"[:4]] + [content(b"")]
    )
    assert Filters(frozenset("x"), unfiltered=False).spans(run, range(5)) == [range(2), range(3, 4)]
    assert Filters(frozenset("y"), unfiltered=True).spans(run, range(1, 5)) == [range(2, 3), range(4, 5)]
    assert Filters(frozenset("z"), unfiltered=False).spans(run, range(5)) == []
