"""The octets of a segment: what is written is read, what is changed is noticed."""

import random
from array import array

import pytest
from hypothesis import given, strategies as st

from pybroker.store import format as fmt
from pybroker.store.segments.scan import Record, scan
from tests.store.records import SEED, one_of_each, payload_of

U64 = st.integers(0, (1 << 64) - 1)
U32 = st.integers(0, (1 << 32) - 1)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


# -- headers -----------------------------------------------------------------------------------------------------------


@given(U32, U64, U64, U64)
def test_a_header_is_read_as_it_was_written(log_id, number, size, created_ms):
    header = fmt.SegmentHeader(log_id, number, size, created_ms)
    assert len(header.encode()) == fmt.HEADER_OCTETS
    assert fmt.SegmentHeader.decode(header.encode() + b"more") == header


def test_every_flipped_bit_of_a_header_is_found():
    octets = fmt.segment_header(7, 0, 4096, 5)
    for bit in range(8 * len(octets)):
        flipped = bytearray(octets)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(fmt.FormatError) as raised:
            fmt.SegmentHeader.decode(bytes(flipped))
        assert raised.type is fmt.FormatError  # not a newer version


def test_a_newer_version_is_refused_by_a_sentence_that_names_both(monkeypatch):
    monkeypatch.setattr(fmt, "VERSION", 2)
    octets = fmt.segment_header(7, 0, 4096)
    monkeypatch.undo()
    with pytest.raises(fmt.VersionError) as raised:
        fmt.SegmentHeader.decode(octets)
    assert str(raised.value) == "the log has version 2, this program supports up to 1: start a newer one"


@pytest.mark.parametrize("octets", [b"", b"pybroker", bytes(64), b"x" * 64])
def test_what_is_no_segment_is_refused(octets):
    with pytest.raises(fmt.FormatError):
        fmt.SegmentHeader.decode(octets)


@given(U64)
def test_a_trailer_is_read_as_it_was_written(offset):
    assert len(fmt.trailer(offset)) == fmt.TRAILER_OCTETS
    assert fmt.decode_trailer(fmt.trailer(offset)) == offset


def test_every_flipped_bit_of_a_trailer_is_found():
    for bit in range(8 * fmt.TRAILER_OCTETS):
        octets = bytearray(fmt.trailer(4711))
        octets[bit // 8] ^= 1 << bit % 8
        assert fmt.decode_trailer(bytes(octets)) is None
    assert fmt.decode_trailer(b"short") is None


@given(U64)
def test_a_segments_name_tells_its_number(number):
    assert fmt.segment_number(fmt.segment_name(number)) == number


@pytest.mark.parametrize(
    "name", ["seg.", "seg.1", "seg.000000000000000g", "ckpt.0000000000000001", "seg.+00000000000001f"]
)
def test_other_names_are_no_segments(name):
    assert fmt.segment_number(name) is None


# -- records -----------------------------------------------------------------------------------------------------------


@given(U64, U64, U32, U32, U32)
def test_a_batch_is_read_as_it_was_written(commit_position, wall_ms, records, octets, seed):
    made = fmt.batch_header(commit_position, wall_ms, records, octets, seed)
    assert len(made) == fmt.BATCH_RECORD_OCTETS
    assert fmt.decode_batch(payload_of(made, fmt.BATCH, seed)) == (commit_position, wall_ms, records, octets)


@given(U32, st.integers(0, 255), st.booleans(), st.lists(U64).map(tuple))
def test_targets_are_read_as_they_were_written(set_id, priority, timed, queue_ids):
    payload = payload_of(fmt.targets(set_id, priority, timed, queue_ids, SEED), fmt.TARGETS)
    assert fmt.decode_targets(payload) == (set_id, priority, timed, queue_ids)


@given(st.lists(st.tuples(U64, U32, st.lists(st.tuples(U64, U64), max_size=5))))
def test_settles_are_read_as_they_were_written(groups):
    flat = [(queue_id, times, array("Q", [seq for pair in pairs for seq in pair])) for queue_id, times, pairs in groups]
    assert fmt.decode_settle(payload_of(fmt.settle(flat, SEED), fmt.SETTLE)) == flat


@given(U64)
def test_proven_is_read_as_it_was_written(commit_position):
    made = fmt.proven(commit_position, SEED)
    assert len(made) == fmt.PROVEN_RECORD_OCTETS
    assert fmt.decode_proven(payload_of(made, fmt.PROVEN)) == commit_position


def test_every_flipped_bit_of_a_record_is_found():
    for octets in one_of_each():
        for bit in range(8 * len(octets)):
            flipped = bytearray(octets)
            flipped[bit // 8] ^= 1 << bit % 8
            assert not [found for found in scan(bytes(flipped), 0, SEED) if isinstance(found, Record)]


def test_a_record_of_another_segment_or_log_is_none():
    seeds = {fmt.seed(log_id, number) for log_id in range(20) for number in range(50)}
    assert len(seeds) == 1_000
    for octets in one_of_each(fmt.seed(1, 1)):
        assert not [found for found in scan(octets, 0, fmt.seed(0, 1)) if isinstance(found, Record)]
        assert not [found for found in scan(octets, 0, fmt.seed(1, 2)) if isinstance(found, Record)]


def test_a_record_that_is_torn_anywhere_is_none():
    rng = random.Random(1)
    for octets in one_of_each():
        for end in range(len(octets)):
            for rest in (b"", bytes(100), rng.randbytes(100)):
                torn = octets[:end] + rest
                found = [each for each in scan(torn, 0, SEED) if isinstance(each, Record) and each.offset == 0]
                # The lost octets may have been zeros: then nothing was lost.
                assert not found or torn.startswith(octets)
