from datetime import UTC, datetime
from decimal import Decimal

import pytest

from pybroker.core.transfer.fields import (
    Fault,
    as_json,
    as_table,
    canonical,
    flag,
    is_pairs,
    optional_text,
    pairs,
    short_text,
    shown,
    tags,
    text,
)
from pybroker.wire.table import Table


def test_numbers_become_what_rabbitmqs_import_makes_of_them():
    """F9: whole numbers are long, others double, at any depth."""
    table = as_table({"i": 1, "f": 1.0, "s": "x", "b": True, "l": [1, {"n": 2}], "t": {"i": -1}})
    assert {"i": "l", "f": "d", "s": "S", "b": "t", "l": "A", "t": "F"} == table.types
    assert ["l", "F"] == table["l"].letters()
    assert "l" == table["t"].type_of("i")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"a": None}, "its arguments have a null, which RabbitMQ does not allow either"),
        ({"a": [None]}, "its arguments have a null, which RabbitMQ does not allow either"),
        ({"a": 1 << 63}, "its arguments have a number of more than 64 bits: 9223372036854775808"),
    ],
)
def test_what_is_no_argument(arguments, fault):
    with pytest.raises(Fault) as caught:
        as_table(arguments)
    assert fault == str(caught.value)


def test_arguments_that_are_nested_too_deep():
    deep = {}
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(Fault, match="nested too deep"):
        as_table(deep)


def test_arguments_as_rabbitmqs_json_shows_them():
    table = Table(
        {"o": b"\xff", "t": datetime.fromtimestamp(5, UTC), "d": Decimal("1.5"), "n": None, "x": float("inf")}
    )
    assert {"o": "\ufffd", "t": 5, "d": 1.5, "n": "undefined", "x": "inf"} == as_json(table)
    assert {"a": [1, {"b": "c"}]} == as_json({"a": (1, {"b": "c"})})


@pytest.mark.parametrize(
    ("read", "value", "fault"),
    [
        (text, None, "it has no n"),
        (text, 5, "its n is not a text but 5"),
        (text, "\ud800", 'its n has an unpaired surrogate: "\\ud800"'),
        (short_text, "é" * 128, "its n has 256 octets; the maximum is 255"),
        (optional_text, [], "its n is not a text but []"),
        (pairs, "x", 'its n is not an object but "x"'),
        (pairs, [["a"]], 'its n is not an object but [["a"]]'),
    ],
)
def test_what_a_member_cannot_be(read, value, fault):
    with pytest.raises(Fault) as caught:
        read({"n": value}, "n")
    assert fault == str(caught.value)


def test_what_a_member_may_be():
    assert "é" * 127 == short_text({"n": "é" * 127}, "n")
    assert [None, None, ""] == [optional_text({"n": each}, "n") for each in (None, "undefined", "")]
    assert [True, False, True] == [flag(each, "n", default=True) for each in ({}, {"n": False}, {"n": None})]
    with pytest.raises(Fault, match="neither true nor false but 1"):
        flag({"n": 1}, "n", default=True)


def test_tables_are_objects_or_lists_of_pairs():
    assert {"max-queues": 5} == pairs({"n": [["max-queues", 5]]}, "n") == pairs({"n": {"max-queues": 5}}, "n")
    assert {} == pairs({"n": []}, "n")
    assert None is pairs({}, "n")
    assert [True, False, False] == [is_pairs([["a", 1]]), is_pairs(["ab"]), is_pairs([[1, 2]])]


def test_tags_are_a_list_or_a_text():
    assert ["a", "b c"] == tags([" a", "b c "]) == tags(" a,b c ,")
    assert [] == tags("") == tags([])
    with pytest.raises(Fault, match="neither a list of texts nor one text but"):
        tags({"a": 1})


def test_equal_values_have_one_form():
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})
    assert 3 == len({canonical(value) for value in (1, 1.0, True)})


def test_long_values_are_cut_in_sentences():
    assert 80 == len(shown("x" * 100))
