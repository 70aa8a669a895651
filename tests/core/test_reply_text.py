from datetime import UTC, datetime
from decimal import Decimal

import pytest

from pybroker.core.reply_text import FIELD_TYPES, describe, field_type, printed, printed_json, printed_text, quoted
from pybroker.wire.table import Table
from tests.topology import typed, wired


def test_resources_are_described_as_rabbitmq_does():
    assert describe("queue", "q", "/") == "queue 'q' in vhost '/'"


@pytest.mark.parametrize(
    ("letter", "value", "name"),
    [
        ("S", "a", "longstr"),
        ("I", 1, "signedint"),
        ("i", 1, "unsignedint"),
        ("l", 1, "long"),
        ("s", 1, "short"),
        ("u", 1, "unsignedshort"),
        ("b", 1, "byte"),
        ("B", 1, "unsignedbyte"),
        ("t", True, "bool"),
        ("d", 1.5, "double"),
        ("f", 1.5, "float"),
        ("D", Decimal("1.5"), "decimal"),
        ("T", datetime(2026, 1, 1, tzinfo=UTC), "timestamp"),
        ("F", {}, "table"),
        ("A", [], "array"),
        ("x", b"a", "binary"),
        ("V", None, "void"),
    ],
)
def test_every_field_type_has_rabbitmqs_name(letter, value, name):
    assert field_type(typed("k", letter, value), "k") == name
    assert FIELD_TYPES[letter] == name


def test_a_value_that_never_was_on_the_wire_has_the_type_it_would_get():
    assert field_type(Table({"k": 2**40}), "k") == "long"
    assert field_type(Table({"k": 1}), "k") == "signedint"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "undefined"),
        (True, "true"),
        (-5, "-5"),
        ("text", '<<"text">>'),
        ("", "<<>>"),
        (b"\x00\x01", "<<0,1>>"),
        (datetime(1970, 1, 1, 0, 1, tzinfo=UTC), "60"),
        ([1, "a"], '[{signedint,1},{longstr,<<"a">>}]'),
        (wired(a=True), '[{<<"a">>,bool,true}]'),
        ({"a": None}, '[{<<"a">>,void,undefined}]'),
    ],
)
def test_values_are_printed_as_erlang_terms(value, text):
    assert printed(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ("a", '<<"a">>'),
        ([], "[]"),
        ([1, 2], "[1,2]"),
        ([65, 66], '"AB"'),
        ([True, {"b": 1, "a": None}], '[true,#{<<"a">> => null,<<"b">> => 1}]'),
        ([("n", {})], '[{<<"n">>,#{}}]'),
    ],
)
def test_json_is_printed_as_the_terms_that_rabbitmq_makes_of_it(value, text):
    assert text == printed_json(value)


def test_a_formatted_text_is_printed_in_quotes():
    assert printed_text("expected integer, got longstr") == '"expected integer, got longstr"'


def test_quoted_values_are_strings_as_they_are_and_all_else_as_printed():
    assert [quoted("a"), quoted(b"b"), quoted(True), quoted(7)] == ["a", "b", "true", "7"]
