"""Entries: cut out of Publish frames and chunks, and C and Python agree on any octets.

Under the address and undefined behaviour sanitizers, each object in a block of its own:

    cc -std=c11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -shared -fPIC \
        $(python3-config --includes) pybroker/wire/stream/_entries.c -o /tmp/_entries.so
    LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)" PYTHONMALLOC=malloc \
        ASAN_OPTIONS=detect_leaks=0 PYBROKER_ENTRIES=/tmp/_entries.so \
        python -m pytest tests/wire/stream
"""

import random
from itertools import takewhile
from struct import pack

import pytest
from hypothesis import given, strategies as st

from pybroker.entries_run import ENTRIES_MAX
from pybroker.wire.stream import entries
from pybroker.wire.stream.entries import (
    DATA_OCTETS_MAX,
    SINGLE,
    Entry,
    Published,
    entries_of,
    pure_cut,
    pure_scan,
    pure_scan_filtered,
    pure_split,
    scan,
)
from tests.strategies import few
from tests.wire.stream.frames import C, batch, frame, good_entries, message, needs_c, single


def same_scan(buffer: bytes, at: int = 0, stop: int | None = None) -> Published | None:
    stop = len(buffer) if stop is None else stop
    found = pure_scan(buffer, at, stop)
    if C is not None:
        assert C.scan(buffer, at, stop) == found
        assert C.scan(bytearray(buffer), at, stop) == found
    assert pure_scan(bytearray(buffer), at, stop) == found
    published = None if found is None else Published._make(found)
    assert published == scan(buffer, at, stop)
    return published


def same_cut(data: bytes, at: int, entries_max: int, octets_max: int) -> tuple[int, int, int] | None:
    try:
        found = pure_cut(data, at, entries_max, octets_max)
    except ValueError as error:
        if C is not None:
            with pytest.raises(ValueError, match=str(error)):
                C.cut(data, at, entries_max, octets_max)
        return None
    if C is not None:
        assert C.cut(data, at, entries_max, octets_max) == found
    return found


def same_split(data: bytes, at: int) -> tuple[list[bytes], int] | None:
    try:
        found = pure_split(data, at)
    except ValueError as error:
        if C is not None:
            with pytest.raises(ValueError, match=str(error)):
                C.split(data, at)
        return None
    if C is not None:
        assert C.split(data, at) == C.split(bytearray(data), at) == found
    return found


# -- scan -------------------------------------------------------------------------------------------------------------


def test_entries_are_cut_out_of_one_frame():
    several = [single(b"abc"), batch(b"xy", 9, codec=1, unpacked=40), single(b"")]
    octets = frame(*[message(*each) for each in zip((5, 6, 9), several, strict=True)])
    data = b"".join(several)
    found = same_scan(b"junk" + octets, 4)
    assert found == Published(data, 3, 11, pack(">QQQ", 5, 6, 9), 5, 9, 4 + len(octets))


def test_frames_of_one_publisher_are_taken_together():
    first, second = frame(message(1, single(b"a"))), frame(message(2, single(b"b" * 40)), message(3, single(b"")))
    octets = first + second
    found = same_scan(octets + second[:-1])
    assert found is not None
    assert found.data == single(b"a") + single(b"b" * 40) + single(b"")
    assert (found.entries, found.first_id, found.last_id, found.next_at) == (3, 1, 3, len(octets))


@pytest.mark.parametrize(
    "other",
    [
        frame(message(2, single(b"b")), publisher=8),
        frame(message(2, single(b"b")), key=3),
        frame(message(2, single(b"b")), version=2),
        frame(message(2, single(b"b")), number=2),
        frame(message(2, single(b"b")), number=0),
        frame(message(2, pack(">L", 2) + b"b")),
        frame(message(2, batch(b"b", 0))),
        frame(message(2, single(b"b")), number=0xFFFFFFFF),
        pack(">L", 0) + bytes(20),
        b"",
    ],
)
def test_another_kind_of_frame_ends_it(other):
    octets = frame(message(1, single(b"a")))
    found = same_scan(octets + other)
    assert found is not None
    assert found.next_at == len(octets)
    assert (found.entries, found.ids, found.data) == (1, pack(">Q", 1), single(b"a"))


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        frame(message(2, single(b"b")))[:-1],
        frame(message(2, single(b"b")), number=2),
        frame(message(2, single(b"b")), number=0),
        frame(message(2, single(b"b")), number=0xFFFFFFFF),
        frame(message(2, batch(b"b" * 9, 0))),
        frame(message(2, batch(b"", 1)[:-1])),
        frame(message(2, pack(">L", 0x7FFFFFFF))),
        frame(message(2, batch(b"", 1)[:-4] + b"\xff\xff\xff\xff")),
        frame(message(2, single(b"b")), key=1),
        pack(">LHHBL", 0xFFFFFFFF, 2, 1, 1, 1),
        pack(">LHHBL", 0, 2, 1, 1, 0),
    ],
)
def test_a_malformed_frame_gives_nothing(octets):
    assert same_scan(octets) is None


def test_a_frame_without_messages_has_no_ids():
    octets = frame() + frame()
    assert same_scan(octets) == Published(b"", 0, 0, b"", 0, 0, len(octets))


def test_bits_without_a_meaning_are_not_stored():
    found = same_scan(frame(message(1, batch(b"b" * 40, 2, codec=3, bits=0x0F))))
    assert found is not None
    assert found.data == batch(b"b" * 40, 2, codec=3)


def test_octets_are_limited_over_several_frames():
    each = frame(message(1, single(bytes(DATA_OCTETS_MAX // 2))))
    found = same_scan(each * 3)
    assert found is not None
    assert found.entries == 1
    large = frame(message(1, single(bytes(DATA_OCTETS_MAX))))
    found = same_scan(large + each)
    assert found is not None
    assert found.next_at == len(large)


def test_entries_are_limited_over_several_frames():
    each = frame(*[message(i, single(b"")) for i in range(40_000)])
    found = same_scan(each * 2)
    assert found is not None
    assert found.entries == 40_000
    large = frame(*[message(i, single(b"")) for i in range(ENTRIES_MAX + 1)])
    found = same_scan(large + each)
    assert found is not None
    assert found.entries == ENTRIES_MAX + 1


def test_an_end_behind_the_buffer_is_refused():
    if C is not None:
        with pytest.raises(ValueError, match="behind the end"):
            C.scan(b"", 0, 1)
        with pytest.raises(TypeError):
            C.scan(b"", -1, 0)
        with pytest.raises(TypeError):
            C.scan(b"", 0)
        with pytest.raises(TypeError):
            C.cut(b"", 0, 1)
    assert same_scan(b"", 5, 0) is None


# -- a chunk's data ---------------------------------------------------------------------------------------------------

DATA = single(b"abc") + batch(b"de", 3, codec=1, unpacked=7) + single(b"")


def test_entries_are_told_apart():
    assert list(entries_of(DATA)) == [
        Entry(0, 1, SINGLE, b"abc", 3),
        Entry(1, 3, 1, b"de", 7),
        Entry(4, 1, SINGLE, b"", 0),
    ]


def test_data_are_cut_at_entries():
    assert same_cut(DATA, 0, 65_535, 1_000) == (len(DATA), 3, 5)
    assert same_cut(DATA, 0, 2, 1_000) == (20, 2, 4)
    assert same_cut(DATA, 0, 9, 19) == (7, 1, 1)
    assert same_cut(DATA, 7, 9, 14) == (20, 1, 3)
    assert same_cut(DATA, 7, 0, 0) == (20, 1, 3)
    assert same_cut(DATA, len(DATA), 9, 9) == (len(DATA), 0, 0)
    assert same_cut(b"", 0, 9, 9) == (0, 0, 0)


def test_messages_are_split_up_to_a_sub_batch():
    assert same_split(DATA, 0) == ([b"abc"], 7)
    assert same_split(DATA, 7) == ([], 7)
    assert same_split(DATA, 20) == ([b""], len(DATA))
    assert same_split(DATA, len(DATA)) == ([], len(DATA))
    for octets in (b"\0\0\0", b"\x80\0\0", b"\0\0\0\1", single(b"a") + b"\x7f\xff\xff\xff"):
        assert same_split(octets, 0) is None


def test_malformed_data_are_refused():
    for octets in (DATA[:-1], batch(b"", 0), b"\x80", single(b"a") + b"\0"):
        assert same_cut(octets, 0, 99, 99) is None
        with pytest.raises(ValueError, match="malformed entry"):
            list(entries_of(octets))


# -- any octets -------------------------------------------------------------------------------------------------------

frames = st.builds(
    lambda messages, publisher: frame(*[message(*each) for each in messages], publisher=publisher),
    st.lists(st.tuples(st.integers(0, 2**64 - 1), good_entries), max_size=6),
    st.sampled_from([1, 1, 1, 2]),
)


@few
@given(st.lists(frames, max_size=5), st.data())
def test_any_frames_mean_the_same_to_both(several, data):
    octets = b"".join(several)
    found = same_scan(octets)
    if several:
        assert found is not None
        parts = list(entries_of(found.data))
        assert (len(parts), sum(part.messages for part in parts)) == (found.entries, found.messages)
        same_cut(found.data, 0, data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9_000)))
        split = same_split(found.data, 0)
        assert split is not None
        assert split[0] == [part.data for part in takewhile(lambda part: part.codec == SINGLE, parts)]
    cut_at = data.draw(st.integers(0, len(octets)))
    same_scan(octets, 0, cut_at)
    same_scan(octets, cut_at)


def test_thousands_of_damaged_frames_mean_the_same_to_both(seed):
    source = random.Random(seed)
    seen = 0
    for _ in range(3_000):
        messages = []
        for _ in range(source.randrange(5)):
            body = bytes(source.choice((0, 1, 10, 27, 28, 29, 60)))
            entry = single(body) if source.random() < 0.7 else batch(body, source.randrange(3), source.randrange(8))
            messages.append(message(source.getrandbits(64), entry))
        octets = bytearray(frame(*messages) + frame(*messages[:2]))
        for _ in range(source.randrange(3)):
            octets[source.randrange(len(octets))] = source.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
        found = same_scan(bytes(octets), 0, len(octets) - source.choice((0, 0, 1, 9)))
        seen += found is not None and found.entries > 0
        same_cut(bytes(octets[21:]), 0, source.randrange(4), source.randrange(200))
        same_split(bytes(octets[21:]), source.choice((0, 0, 1)))
    assert seen > 600


# -- which one runs ---------------------------------------------------------------------------------------------------


@needs_c
def test_a_module_built_for_another_seam_is_not_used(monkeypatch):
    monkeypatch.delenv("PYBROKER_PURE", raising=False)
    assert C.SEAM == entries.SEAM
    monkeypatch.setattr(entries, "SEAM", C.SEAM + 1)
    assert entries._choose() == ("pure Python", pure_scan, pure_scan_filtered, pure_cut, pure_split)


def test_pure_is_what_the_environment_asks_for(monkeypatch):
    monkeypatch.setenv("PYBROKER_PURE", "1")
    assert entries._choose() == ("pure Python", pure_scan, pure_scan_filtered, pure_cut, pure_split)
