import json
import math
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from pybroker.control import codec
from pybroker.wire.table import Table, decode_table, encode_table

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_a_value_is_one_line_of_ascii_and_comes_back(value):
    line = codec.encode(value)
    assert line.isascii()
    assert line.index(b"\n") == len(line) - 1
    assert codec.decode(line) == value


@given(st.binary(max_size=200))
def test_any_octets_are_a_value_or_a_bad_line(octets):
    try:
        value = codec.decode(octets)
    except codec.BadLine:
        return
    assert repr(json.loads(octets)) == repr(value)  # NaN is not equal to itself


def test_nesting_without_end_is_a_bad_line():
    with pytest.raises(codec.BadLine):
        codec.decode(b"[" * 100_000)


def test_a_request_comes_back():
    line = codec.encode_request("ping", {"a": [1]})
    assert codec.decode_request(line) == ("ping", {"a": [1]}, False, None, None)
    assert codec.decode_request(b'{"command":"ping"}') == ("ping", {}, False, None, None)
    assert codec.decode_request(b'{"command":"ping","held":1}') == ("ping", {}, False, None, None)
    assert codec.decode_request(codec.encode_request("ping", {}, progress=True)) == ("ping", {}, True, None, None)
    assert codec.decode_request(codec.encode_request("ping", {}, session="s")).session == "s"
    assert codec.decode_request(codec.encode_request("ping", {}, held={"node": "n"})) == (
        "ping",
        {},
        False,
        {"node": "n"},
        None,
    )


@pytest.mark.parametrize(
    "line", [b"", b"1", b"[]", b"{}", b'{"command":1}', b'{"command":"x","args":[]}', b"{", b"\xff"]
)
def test_what_is_no_request_is_a_bad_line(line):
    with pytest.raises(codec.BadLine):
        codec.decode_request(line)


def test_a_table_shows_rabbitmqs_names_of_types():
    table = {
        "s": "text",
        "i": 5,
        "l": 2**40,
        "t": True,
        "d": 0.5,
        "n": None,
        "x": b"octets",
        "T": datetime(2020, 1, 1, tzinfo=UTC),
        "A": [1, "a", {"k": "v"}],
        "F": {"k": [False]},
    }
    assert codec.table_triples(table) == [
        ["s", "longstr", "text"],
        ["i", "signedint", 5],
        ["l", "long", 2**40],
        ["t", "bool", True],
        ["d", "double", 0.5],
        ["n", "void", None],
        ["x", "binary", "octets"],
        ["T", "timestamp", 1_577_836_800],
        ["A", "array", [["signedint", 1], ["longstr", "a"], ["table", [["k", "longstr", "v"]]]]],
        ["F", "table", [["k", "array", [["bool", False]]]]],
    ]


def test_a_decoded_table_remembers_its_types():
    table, _ = decode_table(encode_table(Table({"a": 1, "b": 2})))
    table.types["a"] = "l"
    table.types["b"] = "B"
    assert codec.table_triples(table) == [["a", "long", 1], ["b", "unsignedbyte", 2]]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_does_not_have_is_text(value):
    assert codec.table_triples({"d": value}) == [["d", "double", str(value)]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(b"\xff\x00", "\\xff\x00"), ((1, 2), [1, 2]), (frozenset("a"), ["a"]), (Decimal("1.5"), "1.5")],
)
def test_values_that_json_does_not_know(value, expected):
    assert codec.decode(codec.encode(value)) == (list(value) if isinstance(value, tuple) else expected)
    assert codec.plain(value) == expected


def test_lines_at_once_are_what_they_are_one_by_one():
    values = [["q\n", 1], {"end": 1}, None, "ä"]
    octets = b"".join(map(codec.encode, values))
    assert codec.encode_lines(iter(values)) == octets
    assert codec.decode_lines(octets) == [codec.decode(line) for line in octets.splitlines()] == values


@pytest.mark.parametrize(
    "octets", [b"1,2\n", b"[1\n2]\n", b"[1\n", b"\n", b"1\n\n", b"]\n[\n", b"\xff\n", b"[" * 9_000 + b"\n"]
)
def test_lines_that_are_not_one_value_each_are_refused(octets):
    with pytest.raises(codec.BadLine):
        codec.decode_lines(octets)


def test_a_document_in_lines(monkeypatch):
    monkeypatch.setattr(codec, "LINE_OCTETS", 8)
    document = {"queues": ["aaaa", "bbbb", "c"], "rabbit_version": "3" * 100, "odd": {"a": 1}, "users": []}
    lines = [codec.decode(line) for line in codec.document_lines(document)]
    assert lines == [
        ["rabbit_version", "3" * 80],
        ["odd", {}],
        ["queues", ["aaaa"]],
        ["queues", ["bbbb"]],
        ["queues", ["c"]],
        ["users", []],
    ]
    assert list(codec.document_lines({"users": ["\ud800"]})) == [b'["users",["\\ud800"]]\n']
    with pytest.raises(codec.BadLine, match="an item has 600002 octets"):
        list(codec.document_lines({"users": ["x" * 600_000]}))
