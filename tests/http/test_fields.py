"""Members of bodies."""

import pytest

from pybroker.http import fields
from pybroker.http.errors import HttpError


def refused(call, *args):
    with pytest.raises(HttpError) as caught:
        call(*args)
    assert caught.value.status == 400
    return caught.value.reason


def test_required():
    assert fields.required({"b": 1, "a": None}, "a", "b") == [None, 1]
    assert refused(fields.required, {"b": 1}, "a", "b", "c") == "[{key_missing,a},{key_missing,c}]"


def test_flags():
    given = {"a": True, "b": "true", "c": False, "d": "false", "e": "x", "f": 1, "g": None}
    assert [fields.flag(given, name) for name in "abcdz"] == [True, True, False, False, False]
    assert [refused(fields.flag, given, name) for name in "efg"] == [
        ["not_boolean", "x"],
        ["not_boolean", 1],
        ["not_boolean", None],
    ]


def test_numbers():
    assert [fields.integer(value) for value in (5, "-5")] == [5, -5]
    for value in ("x", True, None, 1.5, []):
        assert refused(fields.integer, value) == ["not_integer", value]


def test_texts():
    assert fields.text("x", "it") == "x"
    assert refused(fields.text, 5, "it") == "it is not a text"
    assert [fields.word(value) for value in ("x", 5, 1.5)] == ["x", "5", "1.5"]
    assert refused(fields.word, True) == ["not_string", True]


def test_arguments():
    assert [fields.arguments(each) for each in ({}, {"arguments": None}, {"arguments": []})] == [{}, {}, {}]
    value = {"a": [1, {"b": "c"}]}
    assert fields.arguments({"headers": value}, "headers") == value
    assert refused(fields.arguments, {"arguments": 5}) == "arguments is not an object"
    for value in ({"a": None}, {"a": [None]}, {"a": {"b": [{"c": None}]}}):
        assert refused(fields.arguments, {"arguments": value}) == "null_not_allowed"


def test_tags():
    assert [fields.tags(value) for value in ("", " a , b,", ["a", " b "], [])] == [[], ["a", "b"], ["a", "b"], []]
    for value in (5, None, [5]):
        assert refused(fields.tags, value) == "tags are neither a list of texts nor one text"


def test_json():
    assert fields.as_json({"ä": [1, None]}) == '{"ä":[1,null]}'
