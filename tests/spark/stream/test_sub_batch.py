import zlib

import pytest

from pybroker.spark.stream import sub_batch
from pybroker.spark.stream.sub_batch import CannotOpenError, opened
from pybroker.wire.stream.entries import Entry
from tests.stream_peer import entry

MESSAGES = entry(b"one") + entry(b"two" * 100)


def batch(codec: int, data: bytes, messages: int = 2, unpacked: int = len(MESSAGES)) -> Entry:
    return Entry(0, messages, codec, data, unpacked)


def snappy_framed(*parts: bytes) -> bytes:
    pa = pytest.importorskip("pyarrow")
    octets = b"\xff\x06\x00\x00sNaPpY"
    for number, part in enumerate(parts):
        packed = part if number % 2 else pa.compress(part, codec="snappy", asbytes=True)
        octets += bytes([number % 2]) + (len(packed) + 4).to_bytes(3, "little") + bytes(4) + packed
    return octets


def test_plain_and_gzip_need_nothing():
    assert opened(batch(0, MESSAGES), 0) == MESSAGES
    assert opened(batch(1, zlib.compress(MESSAGES, wbits=31)), 0) == MESSAGES


@pytest.mark.parametrize(("codec", "name"), [(2, "snappy"), (3, "lz4"), (4, "zstd")])
def test_other_codecs_are_opened_by_pyarrow(codec, name):
    pa = pytest.importorskip("pyarrow")
    assert opened(batch(codec, pa.compress(MESSAGES, codec=name, asbytes=True)), 0) == MESSAGES


def test_the_framing_format_of_snappy_is_known():
    assert opened(batch(2, snappy_framed(MESSAGES[:50], MESSAGES[50:80], MESSAGES[80:])), 0) == MESSAGES


@pytest.mark.parametrize(
    "damaged",
    [
        batch(0, MESSAGES, messages=3),
        batch(0, MESSAGES[:-1]),
        batch(1, b"no gzip"),
        batch(1, zlib.compress(MESSAGES + b"more", wbits=31)),
        batch(2, b"\xff\xff\xff\xff\xff"),
        batch(2, b"\xff\x06\x00\x00sNaPpY\0\x08\0\0\0\0\0\0\xff\xff\xff\x7f"),
        batch(4, b"no zstd"),
        batch(5, MESSAGES),
        batch(0, b"", messages=60_000),
    ],
)
def test_a_batch_that_cannot_be_opened_is_told(damaged):
    with pytest.raises(CannotOpenError, match="offset 12"):
        opened(damaged, 12)


def test_a_claim_is_bounded(monkeypatch):
    monkeypatch.setattr(sub_batch, "UNPACKED_OCTETS_MAX", 10)
    with pytest.raises(CannotOpenError, match="would become 11"):
        opened(batch(1, b"x", unpacked=11), 0)


def test_parts_of_snappy_are_bounded_together():
    framed = snappy_framed(*[bytes(1_000)] * 4)
    with pytest.raises(CannotOpenError, match="more octets than it announces"):
        opened(batch(2, framed, unpacked=3_999), 0)
