"""EntriesRun: blocks put together, counts, and what it refuses."""

import gc
from zlib import crc32

import pytest

from pybroker.entries_run import EntriesRun, united
from pybroker.run import held

ONE = b"\0\0\0\x03abc"
TWO = b"\0\0\0\x01d"


def run(*blocks: bytes, first_seq: int = 10) -> EntriesRun:
    return EntriesRun(first_seq, list(blocks), len(blocks), len(blocks), sum(map(len, blocks)), 0)


def test_its_data_are_the_blocks() -> None:
    made = run(ONE, TWO)
    assert made.crc == crc32(ONE + TWO)
    assert made.data == ONE + TWO
    assert made.blocks == [ONE + TWO]
    assert (made.count, made.entries, made.octets, made.body_octets) == (2, 2, 12, 4)


def test_another_one_is_joined() -> None:
    made = run(ONE)
    assert made.crc == crc32(ONE)
    made.join(run(TWO, first_seq=11))
    assert made.data == ONE + TWO
    assert made.crc == crc32(ONE + TWO)
    assert (made.count, made.entries, made.octets, made.body_octets) == (2, 2, 12, 4)


def test_blooms_are_united() -> None:
    one, other = b"\x02\x80", b"\x05\x00"
    assert united(one, other) == b"\x07\x80"
    assert united(one, b"") == united(b"", one) == b"\x03\x80"
    assert united(b"", b"") == b""
    assert united(None, one) is united(b"", None) is united(one, b"\x02\x80\x01") is None


def test_a_joined_one_brings_its_bloom() -> None:
    made, other = run(ONE), run(TWO)
    made.bloom, other.bloom = b"", b"\x02\x80"
    made.join(other)
    assert made.at(0).bloom == made.bloom == b"\x03\x80"


@pytest.mark.parametrize(
    ("mine", "theirs", "apart"),
    [
        (b"", b"", False),
        (b"", b"\x02\x80", True),
        (b"\x02\x80", b"", True),
        (b"\x02\x80", b"\x02\x80", False),
        (b"\x02\x80", b"\x04\x80", True),
        (b"\x02\x80", b"\xff\x80", False),
        (None, b"\x02\x80", False),
        (b"", None, False),
    ],
)
def test_other_filter_values_stay_apart_from_a_large_chunk(
    mine: bytes | None, theirs: bytes | None, *, apart: bool
) -> None:
    many, large, small, other = run(*[ONE] * 100), run(bytes(8_192)), run(*[ONE] * 99), run(TWO)
    many.bloom = large.bloom = small.bloom = mine
    other.bloom = theirs
    assert many.stays_apart(other) == large.stays_apart(other) == apart
    assert not small.stays_apart(other)


def test_bodies_are_exact_for_all() -> None:
    made = run(ONE, TWO)
    assert made.body_octets_of(range(2)) == 4
    assert made.body_octets_of(range(1)) == 2


def test_what_it_holds_is_counted() -> None:
    gc.collect()
    before = held.octets
    made = run(ONE)
    made.join(run(TWO))
    assert held.octets - before >= made.octets
    del made
    gc.collect()
    assert held.octets == before


def test_with_other_seqs_it_has_the_same_messages() -> None:
    made = run(ONE)
    made.number(5)
    made.timestamp_ms = 7
    other = made.at(0)
    other.join(run(TWO))
    assert (made.first_seq, made.data, made.timestamp_ms) == (5, ONE, 7)
    assert (other.first_seq, other.data, other.timestamp_ms) == (0, ONE + TWO, 7)


def test_a_chunk_has_the_head_that_clients_read() -> None:
    made = EntriesRun.of_chunk(300, ONE + TWO, 2, 2, 1_700_000_000_456, crc32(ONE + TWO))
    assert made.head == bytes.fromhex("5000 0002 00000002 0000018bcfe569c8 0000000000000001 000000000000012c") + crc32(
        ONE + TWO
    ).to_bytes(4) + bytes.fromhex("0000000c 00000000 00000000")
    assert (made.body_size, made.arrived_ms) == (2, 1_700_000_000_456)


def test_nobody_takes_it_apart() -> None:
    made = run(ONE, TWO)
    made.pack()
    with pytest.raises(NotImplementedError):
        made.contents_at(range(1))
    with pytest.raises(NotImplementedError):
        made.part(range(1))
