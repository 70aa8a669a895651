"""The octets of a stream's files: they never change, and nothing else passes for them."""

import random
import zlib

import pytest

from pybroker.entries_run import EntriesRun
from pybroker.run import WANTS_FILTER
from pybroker.store.format import FormatError, VersionError
from pybroker.store.publish_record import decode_publish
from pybroker.store.streams import format as fmt
from pybroker.store.streams.format import Chunk, Header, Point
from tests.entries import entries, entries_run
from tests.store.records import run_of

LOG_ID, STREAM = 0xE90C4, 7
SEED = fmt.chunk_seed(LOG_ID, STREAM)
HEADER = Header(LOG_ID, STREAM, 300, 1_299, 1_700_000_000_123)


def chunk_octets(bodies=(b"one", b"three"), first=300, *, begins=True):
    chunk = Chunk(run_of(list(bodies), first), 1_301, 1_700_000_000_456)
    return b"".join(fmt.encode_chunk(chunk, SEED, begins=begins))


def test_a_header_has_these_octets():
    assert HEADER.encode().hex() == (
        "706273747265616d01000000c4900e0007000000000000002c0100000000000013050000000000007b68e5cf8b01000000000000"
        "000000000000000042d4bc4d"
    )
    assert Header.decode(HEADER.encode()) == HEADER


def test_meta_has_these_octets():
    meta = Header(LOG_ID, STREAM, 12, flags=fmt.DELETED)
    assert meta.encode(fmt.META_MAGIC).hex() == (
        "706273746d65746101000100c4900e0007000000000000000c000000000000000000000000000000000000000000000000000000"
        "0000000000000000bdc4fe9a"
    )
    assert Header.decode(meta.encode(fmt.META_MAGIC), fmt.META_MAGIC) == meta


def test_a_chunk_has_these_octets():
    assert chunk_octets().hex() == (
        "c42057538100000000000000000101003de4000000000000150500000000000050000002000000020000018bcfe569c800000000"
        "00000001000000000000012c00a0086e00000081000000000000000000000000020000002c01000000000000c869e5cf8b010000"
        "ffffffffffffffff0000020000000000ffffffff0100000000017122000000240000000100010000000f003c0000000000000000"
        "0003100002ce030001000000036f6e65ce0100010000000f003c00000000000000000005100002ce030001000000057468726565"
        "ce"
    )


def entries_octets(*, begins=True):
    run = entries_run(300, b"one", b"three")
    run.timestamp_ms = 1_700_000_000_456
    return b"".join(fmt.encode_chunk(Chunk(run, 1_301, run.timestamp_ms), SEED, begins=begins))


def test_a_chunk_of_entries_has_these_octets():
    assert entries_octets().hex() == (
        "4ca7b5be100000000000000000000100ace4000000000000150500000000000050000002000000020000018bcfe569c800000000"
        "00000001000000000000012ceef118b3000000100000000000000000000000036f6e65000000057468726565"
    )


def test_a_chunk_of_entries_is_read_back():
    octets = b"12345" + entries_octets()
    front = fmt.decode_front(octets, 5, SEED)
    data = octets[5 + fmt.FRONT_OCTETS :]
    assert front == fmt.Front(
        len(octets) - 5, fmt.ENTRIES, 16, zlib.crc32(data), True, 1_301, 300, 2, 1_700_000_000_456, 2
    )
    run = fmt.decode_chunk(front, data)
    assert (run.first_seq, run.count, run.data, run.timestamp_ms) == (
        300,
        2,
        entries(b"one", b"three"),
        1_700_000_000_456,
    )
    assert run.head == octets[5 + fmt.GUARD_OCTETS : 5 + fmt.FRONT_OCTETS]


BLOOMS = (None, b"", bytes(range(16)), bytes(range(255)))


@pytest.mark.parametrize("bloom", BLOOMS)
@pytest.mark.parametrize("run", [entries_run(300, b"one", b"three"), run_of([b"one", b"three"], 300)])
def test_a_chunk_with_a_bloom_is_read_back(run, bloom):
    octets = b"12345" + b"".join(fmt.encode_chunk(Chunk(run, 1_301, 7, bloom), SEED, begins=True)) + b"678"
    front = fmt.decode_front(octets, 5, SEED)
    assert (front.bloom, front.octets) == (bloom, len(octets) - 8)
    assert front.front_octets == fmt.FRONT_OCTETS + len(bloom or b"")
    data = octets[5 + front.front_octets : 5 + front.octets]
    assert zlib.crc32(data) == front.data_crc
    read = fmt.decode_chunk(front, data)
    assert read.count == 2
    if isinstance(run, EntriesRun):
        assert read.bloom == bloom
    else:
        assert bool(read.attributes.wants & WANTS_FILTER) == (bloom is None)
    assert fmt.find_front(octets, 0, SEED) == 5


def test_a_bloom_is_found_when_it_is_encoded():
    run = run_of([b"one"], 300)
    made = [b"".join(fmt.encode_chunk(Chunk(run, 1, 7, bloom), SEED, begins=True)) for bloom in (b"12", lambda: b"12")]
    assert made[0] == made[1]


def test_each_octet_of_a_front_with_a_bloom_is_covered():
    run = entries_run(300, b"one", b"three")
    octets = b"".join(fmt.encode_chunk(Chunk(run, 1_301, 7, bytes(range(16))), SEED, begins=True))
    for bit in range(8 * (fmt.FRONT_OCTETS + 16)):
        changed = bytearray(octets)
        changed[bit // 8] ^= 1 << bit % 8
        assert fmt.decode_front(bytes(changed), 0, SEED) is None, bit
    for stop in range(fmt.FRONT_OCTETS + 16):
        assert fmt.decode_front(octets[:stop], 0, SEED) is None


def test_a_chunk_with_a_bloom_has_these_octets():
    run = entries_run(300, b"one", b"three")
    octets = b"".join(fmt.encode_chunk(Chunk(run, 1_301, 7, bytes(range(16))), SEED, begins=True))
    assert octets.hex() == (
        "a45122fb100000000000000010000100ace40000000000001505000000000000000102030405060708090a0b0c0d0e0f50000002"
        "0000000200000000000000000000000000000001000000000000012ceef118b3000000100000000000000000000000036f6e6500"
        "0000057468726565"
    )


def test_a_gap_has_these_octets():
    assert fmt.encode_gap(300, 5, 1_301, 1_700_000_000_456, SEED, begins=True).hex() == (
        "44bae8ff000000000000000000020100bce4000000000000150500000000000050000000000000050000018bcfe569c800000000"
        "00000001000000000000012c00000000000000000000000000000000"
    )


def test_a_point_has_these_octets():
    seed = fmt.point_seed(LOG_ID, STREAM, 300)
    point = Point(312, 1_700_000_000_456, 65_700, fmt.SYNCED)
    assert point.encode(seed).hex() == ("3801000000000000c869e5cf8b010000a40001000000000001000000f381cb60")
    assert fmt.decode_point(point.encode(seed), 0, seed) == point
    assert fmt.decode_point(bytes(32) + point.encode(seed), 1, seed) == point
    assert fmt.decode_point(point.encode(seed), 1, seed) is None
    assert fmt.decode_point(point.encode(seed), 0, fmt.point_seed(LOG_ID, STREAM, 301)) is None


def test_a_chunk_is_read_back():
    octets = b"12345" + chunk_octets()
    front = fmt.decode_front(octets, 5, SEED)
    assert front == fmt.Front(
        len(octets) - 5, fmt.CONTENTS, front.data_octets, front.data_crc, True, 1_301, 300, 2, 1_700_000_000_456, 2
    )
    assert front.next_offset == 302
    run = decode_publish(octets[5 + fmt.FRONT_OCTETS :])
    assert (run.first_seq, run.count, run.arrived_ms) == (300, 2, 1_700_000_000_456)
    assert run.contents_at(range(2)) == run_of([b"one", b"three"]).contents


def test_only_the_first_chunk_of_a_write_begins():
    assert fmt.decode_front(chunk_octets(begins=True), 0, SEED).begins
    assert not fmt.decode_front(chunk_octets(begins=False), 0, SEED).begins


def test_a_gap_is_read_back():
    octets = fmt.encode_gap(300, 5, 1_301, 1_700_000_000_456, SEED, begins=True)
    front = fmt.decode_front(octets, 0, SEED)
    assert (front.octets, front.kind, front.first_offset, front.next_offset) == (80, fmt.GAP, 300, 305)


def test_a_front_with_a_flipped_bit_is_none():
    octets = chunk_octets()
    for bit in range(8 * fmt.FRONT_OCTETS):
        changed = bytearray(octets)
        changed[bit // 8] ^= 1 << bit % 8
        assert fmt.decode_front(bytes(changed), 0, SEED) is None, bit


def test_a_header_with_a_flipped_bit_is_refused():
    for bit in range(8 * fmt.HEADER_OCTETS):
        changed = bytearray(HEADER.encode())
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FormatError):
            Header.decode(bytes(changed))


def test_a_newer_version_is_told_apart(monkeypatch):
    monkeypatch.setattr(fmt, "VERSION", 2)
    octets = HEADER.encode()
    monkeypatch.undo()
    with pytest.raises(VersionError):
        Header.decode(octets)


def test_a_chunk_of_another_stream_or_log_is_none():
    for seed in (fmt.chunk_seed(LOG_ID, 8), fmt.chunk_seed(1, STREAM)):
        assert fmt.decode_front(chunk_octets(), 0, seed) is None


def test_chunks_are_found_among_other_octets():
    rng = random.Random(1)
    octets = b"".join(
        [rng.randbytes(100), bytes(50), chunk_octets(), bytes(11), chunk_octets((b"",) * 70, 302), rng.randbytes(9)]
    )
    first = fmt.find_front(octets, 0, SEED)
    assert first == 150
    second = fmt.find_front(octets, first + 1, SEED)
    assert fmt.decode_front(octets, second, SEED).first_offset == 302
    assert fmt.find_front(octets, second + 1, SEED) == -1


def test_names_tell_the_first_offset():
    assert fmt.segment_name(300) == "00000000000000000300.log"
    assert fmt.index_name(300) == "00000000000000000300.idx"
    assert fmt.first_offset_of("00000000000000000300.log") == 300
    assert fmt.first_offset_of("00000000000000000300.idx", fmt.INDEX_SUFFIX) == 300
    for name in ("meta", "300.log", "00000000000000000300.idx", "0000000000000000030x.log", "+0000000000000000300.log"):
        assert fmt.first_offset_of(name) is None
