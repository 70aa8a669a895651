"""Sub-batches are opened as far as they are what they say, and not beyond what they may take."""

import gzip
import struct

import pytest

from pybroker.core.stream.conversion.sub_batch import UNPACKED_OCTETS_MAX, opened
from pybroker.wire.stream.entries import Entry
from tests.entries import batch, entries

DATA = entries(b"one", b"", b"three")


def packed(data: bytes, messages: int = 3, unpacked: int | None = None, codec: int = 1) -> Entry:
    return Entry(0, messages, codec, data, len(DATA) if unpacked is None else unpacked)


def test_plain_ones_and_gzip_are_opened():
    assert opened(packed(DATA, codec=0)) == DATA
    assert opened(packed(gzip.compress(DATA))) == DATA


@pytest.mark.parametrize("codec", range(2, 8))
def test_other_codecs_are_not(codec):
    assert opened(packed(DATA, codec=codec)) is None


@pytest.mark.parametrize(
    "entry",
    [
        packed(gzip.compress(DATA), unpacked=len(DATA) - 1),
        packed(gzip.compress(DATA), unpacked=len(DATA) + 1),
        packed(gzip.compress(DATA)[:-1]),
        packed(b"no gzip"),
        packed(b""),
        packed(gzip.compress(DATA), messages=2),
        packed(gzip.compress(DATA), messages=4),
        packed(DATA, messages=65_535, codec=0),
        packed(DATA[:-1], codec=0),
        packed(DATA + b"\0", codec=0),
        packed(batch(b"a", b"b", b"c"), codec=0),
        packed(struct.pack(">L", 1 << 30) * 9, codec=0),
    ],
)
def test_one_that_is_not_what_it_says_is_not_opened(entry):
    assert opened(entry) is None


def test_a_bomb_is_not_opened():
    data = entries(bytes(UNPACKED_OCTETS_MAX))
    bomb = gzip.compress(data, 1)
    assert opened(packed(bomb, 1, len(data))) is None
    assert opened(packed(bomb, 1, 1_000)) is None
    data = entries(bytes(UNPACKED_OCTETS_MAX - 4))
    assert opened(packed(gzip.compress(data, 1), 1, len(data))) == data
