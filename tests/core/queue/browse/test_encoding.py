"""Compressed bodies: opened as far as asked, whatever is in them."""

import gzip
import zlib

import pytest
from hypothesis import given, strategies as st

from pybroker.core.queue.browse.encoding import inflated

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
