"""Messages as plain values, whatever is in them."""

import gzip
import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from pybroker.control import codec
from pybroker.core.queue.browse.document import plain, time_text
from pybroker.text.body_text import DEPTH_MAX, decoded
from pybroker.wire.table import Array, Table

JSON, TEXT = "application/json", "text/plain"


def body(octets, content_type=None, encoding=None, octets_max=1_000):
    return tuple(decoded(octets if encoding else octets[:octets_max], len(octets), content_type, encoding, octets_max))


@pytest.mark.parametrize(
    ("octets", "content_type", "expected"),
    [
        (b'{"a":[1,null]}', JSON, ({"a": [1, None]}, "json", False)),
        (b"5", JSON, (5, "json", False)),
        (b"5", None, ("5", "text", False)),
        (b"[5]", None, ([5], "json", False)),
        (b"[5]", TEXT, ("[5]", "text", False)),
        (b"[5", JSON, ("[5", "text", False)),
        (b"a\tb\r\n", None, ("a\tb\r\n", "text", False)),
        (b"a\x1b[31m", None, ("611b5b33316d", "hex", False)),
        (b"a\x1b[31m", TEXT, ("a\x1b[31m", "text", False)),
        (b"\xe9", TEXT, ("e9", "hex", False)),
        (b"\xe9", "text/plain; charset=ISO-8859-1", ("é", "text", False)),
        (b"\xe9", "text/plain; charset=rot13", ("e9", "hex", False)),
        (b"xxxx", "text/plain; charset=utf-16", ("78787878", "hex", False)),
        (b"\xe9", "application/octet-stream", ("e9", "hex", False)),
        (b"", None, ("", "text", False)),
        (b"<a/>", "application/soap+xml; charset=utf-8", ("<a/>", "text", False)),
        (b'{"a":1}', "application/vnd.x+json", ({"a": 1}, "json", False)),
    ],
)
def test_a_body_is_decoded_by_its_type_or_shown_in_hexadecimal(octets, content_type, expected):
    assert expected == body(octets, content_type)


def test_a_body_is_cut_between_characters():
    assert ("é" * 4, "text", True) == body("é".encode() * 9, TEXT, None, 9)
    assert ("c3a9c3", "hex", True) == body("é".encode() * 9, "x/y; charset=?", None, 3)
    assert ("", "text", True) == body(b"x", None, None, 0)


def test_a_compressed_body_is_opened():
    assert ({"a": 1}, "json", False) == body(gzip.compress(b'{"a":1}'), JSON, "gzip")
    assert ("x" * 10, "text", True) == body(gzip.compress(b"x" * 99), None, "gzip", 10)
    assert "hex" == body(b"\x1f\x8b never", None, "gzip")[1]


@pytest.mark.parametrize(
    "octets", [b'"\\ud800"', b"NaN", b"[Infinity]", b"9" * 5_000, b"[" * (DEPTH_MAX + 1) + b"]" * (DEPTH_MAX + 1)]
)
def test_json_that_some_program_cannot_read_stays_text(octets):
    assert (octets.decode(), "text", False) == body(octets, JSON, None, 10_000)


@given(st.binary(max_size=300), st.sampled_from([None, JSON, TEXT]), st.sampled_from([None, "gzip", "deflate"]))
def test_any_body_becomes_json(octets, content_type, encoding):
    found = body(octets, content_type, encoding, 100)
    assert json.loads(codec.encode(found)) == list(found)


def test_headers_become_json_too():
    table = Table({"a": Array([1, b"\xff", Decimal("1.5")]), "t": datetime(2026, 1, 2, tzinfo=UTC), "n": float("nan")})
    assert {"a": [1, "\\xff", "1.5"], "t": "2026-01-02T00:00:00+00:00", "n": "nan"} == plain(table)
    assert [None, True, 0.5, "x"] == plain([None, True, 0.5, "x"])


def test_times_are_in_utc():
    assert "2026-11-22T21:57:32.001Z" == time_text(1_795_384_652_001)
    assert ["-1", "99999999999999999"] == [time_text(ms) for ms in (-1, 99_999_999_999_999_999)]
