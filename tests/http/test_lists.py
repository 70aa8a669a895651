"""Lists: order, pages, columns."""

from types import SimpleNamespace

import pytest
from werkzeug.datastructures import MultiDict

from pybroker.http import lists
from pybroker.http.errors import HttpError

DOCUMENTS = [
    {"vhost": "b", "name": "x", "n": 2, "stats": {"rate": 1.5}},
    {"vhost": "a", "name": "Y", "n": 10},
    {"vhost": "a", "name": "X", "n": None, "stats": {"rate": 0.5}},
]


def answer(**query):
    return lists.answer(SimpleNamespace(query=MultiDict(query)), list(DOCUMENTS))


def names(**query):
    found = answer(**query)
    return [each["name"] for each in (found["items"] if isinstance(found, dict) else found)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["X", "Y", "x"]),
        ({"sort": ""}, ["x", "Y", "X"]),
        ({"sort": "name"}, ["X", "Y", "x"]),
        ({"sort": "name", "sort_reverse": "true"}, ["x", "Y", "X"]),
        ({"sort": "stats.rate"}, ["Y", "X", "x"]),
        ({"sort": "n"}, ["x", "Y", "X"]),
        ({"sort": "nothing.at.all"}, ["x", "Y", "X"]),
    ],
)
def test_order(query, expected):
    assert names(**query) == expected


def test_columns():
    assert answer(columns="name,stats.rate")[2] == {"name": "x", "stats": {"rate": 1.5}}
    assert answer(columns="none") == [{}, {}, {}]
    assert answer(columns="name", page="1")["items"][0] == {"name": "X"}


def test_pages():
    found = answer(page="1", page_size="2")
    assert found.pop("items") == [DOCUMENTS[2], DOCUMENTS[1]]
    assert found == {
        "filtered_count": 3,
        "item_count": 2,
        "page": 1,
        "page_count": 2,
        "page_size": 2,
        "total_count": 3,
    }
    assert answer(page="2", page_size="3")["items"] == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"name": "x"}, ["X", "x"]),
        ({"name": "^[xz]$", "use_regex": "true"}, ["X", "x"]),
        ({"name": "."}, []),
        ({"name": ".", "use_regex": "true"}, ["X", "Y", "x"]),
    ],
)
def test_names_are_looked_for_in_pages(query, expected):
    assert names(page="1", **query) == expected
    assert len(names(**query)) == 3


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("n>2", ["Y"]),
        ("n<3", ["X", "x"]),
        ("n==0", ["X"]),
        ("stats.rate>1,n>1", ["x"]),
        ("name==0", ["X", "Y", "x"]),
        (",", ["X", "Y", "x"]),
    ],
)
def test_members_are_compared(where, expected):
    assert names(where=where) == expected
    assert answer(where=where, page="1")["filtered_count"] == len(expected)


@pytest.mark.parametrize("where", ["n", "n>", "n>x", "n>=1", "n>1.5", "n > 1", ">1"])
def test_bad_comparisons(where):
    with pytest.raises(HttpError, match="whole number"):
        answer(where=where)


@pytest.mark.parametrize(
    ("query", "error", "reason"),
    [
        ({"page": "0"}, "invalid_pagination_parameters", "page number 0, page size undefined"),
        ({"page": "1", "page_size": "600"}, "invalid_pagination_parameters", "page number 1, page size 600"),
        ({"page": "9"}, "page_out_of_range", "Page out of range, page: 9 page size: 100, len: 3"),
        ({"page": "a"}, "bad_request", "Pagination parameters are invalid"),
        ({"page": "1", "name": "(", "use_regex": "true"}, "bad_request", "Pagination parameters are invalid"),
        ({"page": "1", "name": "a" * 1_025, "use_regex": "true"}, "bad_request", "Pagination parameters are invalid"),
    ],
)
def test_bad_pages(query, error, reason):
    with pytest.raises(HttpError) as caught:
        answer(**query)
    assert (caught.value.status, caught.value.error) == (400, error)
    assert caught.value.reason.endswith(reason)
