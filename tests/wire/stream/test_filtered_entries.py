"""Entries with filter values: cut out of Publish frames of version 2, and C and Python agree on any octets."""

import random
from struct import pack

import pytest
from hypothesis import given, strategies as st

from pybroker.wire.stream.bloom import bloom_of
from pybroker.wire.stream.entries import (
    FILTERED_ENTRIES_MAX,
    FILTERED_OCTETS_MAX,
    Published,
    pure_scan_filtered,
    scan,
    scan_filtered,
)
from tests.strategies import few
from tests.wire.stream.frames import C, batch, frame, good_entries, message, needs_c, single


def same_scan_filtered(buffer: bytes, at: int = 0, stop: int | None = None, octets: int = 16) -> Published | None:
    stop = len(buffer) if stop is None else stop
    found = pure_scan_filtered(buffer, at, stop, octets)
    if C is not None:
        assert C.scan_filtered(buffer, at, stop, octets) == found
        assert C.scan_filtered(bytearray(buffer), at, stop, octets) == found
    assert pure_scan_filtered(bytearray(buffer), at, stop, octets) == found
    published = None if found is None else Published._make(found)
    assert published == scan_filtered(buffer, at, stop, octets)
    return published


# -- version 2 --------------------------------------------------------------------------------------------------------


def filtered(publishing_id: int, value: bytes | None, entry: bytes) -> bytes:
    length = -1 if value is None else len(value)
    return pack(">Qh", publishing_id, length) + (value or b"") + entry


def test_filter_values_are_told_apart_from_entries():
    octets = frame(
        filtered(1, b"eu", single(b"a")), filtered(2, None, batch(b"b", 2)), filtered(3, b"", single(b"")), version=2
    )
    published = same_scan_filtered(b"x" + octets, 1, 1 + len(octets))
    assert published is not None
    assert published.bloom == bloom_of([b"eu", None, b""], 16)
    assert published.data == single(b"a") + batch(b"b", 2) + single(b"")
    assert (published.entries, published.messages, published.ids) == (3, 4, pack(">QQQ", 1, 2, 3))
    assert (published.first_id, published.last_id, published.next_at) == (1, 3, 1 + len(octets))


@pytest.mark.parametrize("octets", [1, 16, 17, 255])
def test_the_bloom_is_of_all_frames(octets):
    values = [b"", *[b"value %d" % (number // 2) for number in range(9)], b"a" * 256, b"a" * 300]
    frames = b"".join([frame(filtered(1, value, single(b"a")), version=2) for value in values])
    broken = frame(filtered(2, b"other", single(b"a")), filtered(2, b"one", b""), version=2)
    published = same_scan_filtered(frames + broken, octets=octets)
    assert published is not None
    assert (published.bloom, published.entries) == (bloom_of(values, octets), 12)
    assert published.next_at == len(frames)


def test_octets_are_limited_over_several_frames():
    frames = [frame(filtered(1, b"a", single(bytes(4_000))), version=2) for _ in range(3)]
    octets = b"".join(frames)
    published = same_scan_filtered(octets)
    assert published is not None
    assert (published.entries, published.next_at) == (2, 2 * len(frames[0]))
    few = frame(*[filtered(1, b"a", single(b""))] * 40, version=2)
    published = same_scan_filtered(few * 3)
    assert published is not None
    assert (published.entries, FILTERED_ENTRIES_MAX) == (80, 100)
    large = frame(filtered(1, b"a", single(bytes(FILTERED_OCTETS_MAX))), version=2)
    published = same_scan_filtered(large + large)
    assert published is not None
    assert published.next_at == len(large)


def test_without_a_value_there_is_no_bloom():
    published = same_scan_filtered(frame(filtered(1, None, single(b"a")), version=2))
    assert published is not None
    assert published.bloom == b""
    octets = frame(message(1, single(b"a")))
    published = scan(octets, 0, len(octets))
    assert published is not None
    assert published.bloom == b""


def test_frames_of_both_versions_are_not_taken_together():
    one, two = frame(message(1, single(b"a"))), frame(filtered(2, b"x", single(b"b")), version=2)
    for octets, found in ((one + two, scan(one + two, 0, len(one + two))), (two + one, same_scan_filtered(two + one))):
        assert found is not None
        assert (found.entries, found.next_at) == (1, len(one) if octets.startswith(one) else len(two))


@pytest.mark.parametrize(
    "octets",
    [
        frame(message(1, single(b"a"))),
        frame(filtered(1, b"eu", single(b"a")), version=2)[:-1],
        frame(filtered(1, b"eu", single(b"a")), version=2, number=2),
        frame(filtered(1, b"eu", single(b"a")) * 2, version=2, number=1),
        frame(filtered(1, b"eu", b"\0\0\0\x09"), version=2),
        frame(pack(">Qh", 1, -2) + single(b"a"), version=2),
        frame(pack(">Qh", 1, 900) + single(b"a"), version=2),
        frame(bytes(9), bytes(9), b"", version=2, number=1),
    ],
)
def test_a_malformed_frame_of_version_2_gives_nothing(octets):
    assert same_scan_filtered(octets) is None


def test_a_frame_of_version_2_may_be_empty():
    assert same_scan_filtered(frame(version=2), 0, 13) == Published(b"", 0, 0, b"", 0, 0, 13)


@needs_c
def test_sizes_of_blooms_are_in_range():
    for octets in (0, 256, -1):
        with pytest.raises(TypeError, match="1 to 255"):
            C.scan_filtered(b"", 0, 0, octets)


# -- any octets -------------------------------------------------------------------------------------------------------

filtered_frames = st.builds(
    lambda messages, publisher: frame(*[filtered(*each) for each in messages], publisher=publisher, version=2),
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.none() | st.binary(max_size=40), good_entries), max_size=6),
    st.sampled_from([1, 1, 1, 2]),
)


@few
@given(st.lists(filtered_frames, max_size=5), st.data())
def test_any_filtered_frames_mean_the_same_to_both(several, data):
    octets = b"".join(several)
    cut_at = data.draw(st.integers(0, len(octets)))
    bloom_octets = data.draw(st.integers(16, 255))
    same_scan_filtered(octets, octets=bloom_octets)
    same_scan_filtered(octets, 0, cut_at, bloom_octets)
    same_scan_filtered(octets, cut_at, None, bloom_octets)


def same_damaged(source: random.Random, whole: bytes) -> None:
    octets = bytearray(whole)
    for _ in range(source.randrange(3)):
        octets[source.randrange(len(octets))] = source.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
    same_scan_filtered(bytes(octets), 0, len(octets) - source.choice((0, 0, 1, 9)))


def test_thousands_of_damaged_frames_mean_the_same_to_both(seed):
    source = random.Random(seed)
    values = (None, b"", b"a", b"eu-west-1", bytes(40))
    for _ in range(2_000):
        messages = []
        for _ in range(source.randrange(5)):
            body = bytes(source.choice((0, 1, 10, 27, 28, 29, 60)))
            entry = single(body) if source.random() < 0.7 else batch(body, source.randrange(3), source.randrange(8))
            messages.append(filtered(source.getrandbits(64), source.choice(values), entry))
        same_damaged(source, frame(*messages, version=2) + frame(*messages[:2], version=2))
