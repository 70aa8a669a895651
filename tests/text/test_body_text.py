"""Compressed bodies: opened as far as asked, whatever is in them."""

import gzip
import zlib

import pytest
from hypothesis import given, strategies as st

from pybroker.text import body_text as module
from pybroker.text.body_text import inflated, inflated_pieces

TEXT = b"hello, hello, hello"


def deflated(octets, bits):
    deflater = zlib.compressobj(9, zlib.DEFLATED, bits)
    return deflater.compress(octets) + deflater.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(TEXT)),
        (" GZIP ", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", deflated(TEXT, -15)),
        ("zlib", zlib.compress(TEXT)),
    ],
)
def test_each_framing_is_known(encoding, body):
    assert (TEXT, True) == inflated(body, encoding, 100)
    assert (TEXT[:5], False) == inflated(body, encoding, 5)
    assert not inflated(body, encoding, 0)[0]


@pytest.mark.parametrize("encoding", ["", None, "br", "utf-8", "gzip"])
def test_others_are_not(encoding):
    assert (None, False) == inflated(b"hello", encoding, 100)


def test_a_bomb_costs_what_was_asked_for():
    bomb = gzip.compress(b"\0" * 50_000_000)
    assert (b"\0" * 1_000, False) == inflated(bomb, "gzip", 1_000)


def test_what_precedes_damage_is_shown_as_not_all():
    octets, whole = inflated(gzip.compress(bytes(range(256)) * 9)[:-9], "gzip", 10_000)
    assert octets
    assert not whole


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate"]))
def test_nothing_that_comes_raises(body, encoding):
    inflated(body, encoding, 50)


def in_pieces(octets, encoding, octets_max, size=7):
    pieces = [octets[at : at + size] for at in range(0, len(octets), size)]
    return b"".join(inflated_pieces(lambda: iter(pieces), encoding, octets_max))


@pytest.mark.parametrize("make", [gzip.compress, zlib.compress, lambda octets: zlib.compress(octets, wbits=-15)])
def test_pieces_are_opened_as_the_whole_is(make):
    encoding = "gzip" if make is gzip.compress else "deflate"
    text = bytes(range(256)) * 900
    assert text == in_pieces(make(text), encoding, 1_000_000)
    assert text[:1_000] == in_pieces(make(text), encoding, 1_000)
    assert text.startswith(in_pieces(make(text)[:-300], encoding, 1_000_000))


def test_pieces_of_a_bomb_are_few_and_small(monkeypatch):
    monkeypatch.setattr(module, "PIECE_OCTETS", 1_000)
    bomb = gzip.compress(bytes(10_000_000))
    sizes = [len(octets) for octets in inflated_pieces(lambda: iter([bomb]), "gzip", 5_500)]
    assert sizes == [1_000] * 5 + [500]


def test_pieces_of_something_else_are_none():
    assert in_pieces(b"hello", "gzip", 100) == b""
    assert in_pieces(gzip.compress(b"x"), "br", 100) == b""
    assert list(inflated_pieces(lambda: iter([]), "gzip", 100)) == []
