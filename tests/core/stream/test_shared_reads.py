"""Readers near each other: each part of the files is read once, and kept as long as there is room."""

import errno

import pytest

from pybroker.core.stream import shared_reads as module
from pybroker.core.stream.filter import Filters
from pybroker.core.stream.shared_reads import RUN_OCTETS, SharedReads
from pybroker.entries_run import EntriesRun
from pybroker.store.disk import DiskError
from pybroker.store.streams.chunk_log import Found
from pybroker.store.streams.format import ENTRIES, Front
from pybroker.store.streams.stored_entries import STORED_OCTETS, StoredEntries
from tests.entries import entries_run


class Files:
    """Files whose reads are answered by the test."""

    def __init__(self):
        self.asked = []
        self.removed, self.released = set(), []

    def is_removed(self, segment):
        return segment in self.removed

    def release(self, segment):
        self.released.append(segment)

    def read(self, offset, octets_max, done, wanted=None):
        self.asked.append((offset, done))

    def read_stored(self, offset, octets_max, done, wanted=None):
        self.asked.append((offset, done))

    def answer(self, found):
        asked, self.asked = self.asked, []
        for _, done in asked:
            done(found)


class Stream:
    def __init__(self, stream_id=1, readers=2):
        self.id = stream_id
        self.files = Files()
        self.deleted = False
        self.readers = dict.fromkeys(range(readers))


@pytest.fixture
def shared():
    return SharedReads()


@pytest.fixture
def read(shared):
    def read(stream, offset, **options):
        found = []
        shared.read(stream, offset, 1_000, found.append, **options)
        return found

    return read


def test_what_is_read_for_one_is_there_for_the_next(shared, read):
    stream, runs = Stream(), [entries_run(5, b"abc")]
    first, second = read(stream, 5), read(stream, 5)
    assert [offset for offset, _ in stream.files.asked] == [5]
    stream.files.answer(runs)
    assert first == second == read(stream, 5) == [runs]
    assert (stream.files.asked, shared.octets) == ([], RUN_OCTETS + 7)
    read(stream, 6)
    read(Stream(2), 5)
    assert [offset for offset, _ in stream.files.asked] == [6]
    shared.clear()
    read(stream, 5)
    assert ([offset for offset, _ in stream.files.asked], shared.octets) == ([6, 5], 0)


def test_readers_with_other_filters_read_for_themselves(shared, read):
    stream, runs = Stream(), [entries_run(5, b"abc")]
    apples, pears = Filters(frozenset(["apples"]), unfiltered=False), Filters(frozenset(["pears"]), unfiltered=False)
    for filters in (apples, None, pears, Filters(frozenset(["apples"]), unfiltered=False)):
        read(stream, 5, filters=filters)
    assert len(stream.files.asked) == 3
    stream.files.answer(runs)
    assert read(stream, 5, filters=apples) == [runs]


@pytest.mark.parametrize(
    ("stream", "found"),
    [(Stream(readers=1), [entries_run(5, b"a")]), (Stream(), []), (Stream(), DiskError("read", "x", errno.EIO))],
)
def test_of_one_reader_or_without_chunks_nothing_is_kept(shared, read, stream, found):
    got = read(stream, 5)
    stream.files.answer(found)
    assert (got, shared.octets) == ([found], 0)
    read(stream, 5)
    assert len(stream.files.asked) == 1


def test_the_longest_unused_go(shared, read, monkeypatch):
    monkeypatch.setattr(module, "SHARED_OCTETS_MAX", 20 + 2 * RUN_OCTETS)
    stream = Stream()
    for offset in (0, 1):
        read(stream, offset)
        stream.files.answer([entries_run(offset, b"12345")])
    read(stream, 0)
    read(stream, 2)
    stream.files.answer([entries_run(2, b"12345")])
    assert shared.octets == 18 + 2 * RUN_OCTETS
    for offset in (0, 2, 1):
        read(stream, offset)
    assert [offset for offset, _ in stream.files.asked] == [1]


class Segment:
    """One that is open."""

    def __init__(self, first_offset=0):
        self.first_offset = first_offset


def stored(offset=5, octets=1_000):
    return StoredEntries.found(Front(octets + 80, ENTRIES, octets, 7, False, 0, offset, 1, 9, 1), 0, 64)


def test_what_stays_in_the_files_is_known_also_for_a_single_reader(shared, read):
    stream, chunk, segment = Stream(readers=1), stored(), Segment()
    got = read(stream, 5, stored=True)
    assert shared.segment(stream, chunk) is None
    stream.files.answer(Found([chunk], segment))
    assert got == read(stream, 5, stored=True) == [[chunk]]
    assert (shared.octets, shared.segment(stream, chunk), stream.files.asked) == (STORED_OCTETS, segment, [])
    # Others get octets.
    read(stream, 5)
    assert len(stream.files.asked) == 1


def test_what_stays_in_the_files_is_looked_at_anew(shared, read):
    stream, runs = Stream(), [entries_run(5, b"abc")]
    read(stream, 5, stored=True)
    stream.files.answer(Found([stored()], Segment()))
    read(stream, 5)
    stream.files.answer(runs)
    shared.forget_stored()
    read(stream, 5, stored=True)
    assert [offset for offset, _ in stream.files.asked] == [5]
    assert (read(stream, 5), shared.octets) == ([runs], RUN_OCTETS + 7)


def test_of_runs_in_memory_a_single_reader_leaves_nothing(shared, read):
    stream = Stream(readers=1)
    read(stream, 5, stored=True)
    stream.files.answer(Found([stored(), entries_run(6, b"a")], Segment()))
    assert shared.octets == 0


def test_a_read_for_what_may_stay_that_fails_is_told(shared, read):
    stream, error = Stream(), DiskError("read", "x", errno.EIO)
    got = read(stream, 5, stored=True)
    stream.files.answer(error)
    assert (got, shared.octets) == ([error], 0)


def test_a_stream_is_forgotten(shared, read):
    streams = [Stream(1), Stream(2)]
    for stream in streams:
        read(stream, 5, stored=True)
        stream.files.answer(Found([stored()], Segment()))
    shared.forget(streams[0])
    assert shared.octets == STORED_OCTETS
    assert [shared.segment(stream, stored()) is None for stream in streams] == [True, False]
    shared.clear()
    assert (shared.octets, shared.segment(streams[1], stored())) == (0, None)
    read(streams[0], 5, stored=True)
    streams[0].deleted = True
    streams[0].files.answer(Found([stored()], Segment()))
    assert (shared.octets, shared.segment(streams[0], stored())) == (0, None)


def test_few_segments_are_open(shared, monkeypatch):
    monkeypatch.setattr(module, "SEGMENTS_MAX", 2)
    stream, segments = Stream(), [Segment(first) for first in range(3)]
    chunks = [stored() for _ in segments]
    for chunk, segment in zip(chunks, segments, strict=True):
        chunk.segment = segment.first_offset
        shared.keep_open(stream, segment)
        shared.segment(stream, chunks[0])
    assert [shared.segment(stream, chunk) for chunk in chunks] == [segments[0], None, segments[2]]
    assert stream.files.released == [segments[1]]
    # A second one for the same is not needed.
    shared.keep_open(stream, Segment(0))
    assert shared.segment(stream, chunks[0]) is segments[0]


def test_segments_that_were_removed_are_let_go(shared):
    stream, segments = Stream(), [Segment(first) for first in range(3)]
    for segment in segments:
        shared.keep_open(stream, segment)
    stream.files.removed = set(segments[:2])
    shared.release_removed()
    shared.release_removed()
    assert stream.files.released == segments[:2]
    shared.clear()
    assert stream.files.released == segments


def test_what_passes_over_all_takes_room_as_well(shared, read, monkeypatch):
    monkeypatch.setattr(module, "SHARED_OCTETS_MAX", 10_000)
    stream = Stream()
    for number in range(100):
        read(stream, number, filters=Filters(frozenset([f"{number}" * 100]), unfiltered=False))
        stream.files.answer([EntriesRun.passed_over(number, 10)])
    assert 0 < len(shared._kept) < 12
    assert shared.octets <= 10_000


class Octets(Segment):
    """One with known octets, of which the system has so many in memory."""

    def __init__(self, there=1 << 30):
        super().__init__()
        self.reads = 0
        self.there = there

    def read_now(self, position, buffer):
        self.reads += 1
        for at in range(len(buffer)):
            buffer[at] = (position + at) % 251
        return min(len(buffer), self.there)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "SLICE_OCTETS", 10)


@pytest.mark.usefixtures("small")
def test_readers_of_a_stream_share_slices(shared):
    stream, segment, chunk = Stream(), Octets(), stored(octets=25)
    for at, size in ((0, 10), (10, 10), (20, 5)):
        slices = [shared.slice(stream, segment, chunk, at) for _ in range(3)]
        assert bytes(slices[0]) == bytes((64 + at + each) % 251 for each in range(size))
        assert slices[0] is slices[1] is slices[2]
    assert (segment.reads, shared.slice_octets) == (3, 25)
    # Other places are nobody else's, and a single reader reads for itself.
    assert shared.slice(stream, segment, chunk, 5) is None
    assert shared.slice(Stream(readers=1), segment, chunk, 0) is None
    shared.forget(stream)
    assert shared.slice_octets == 0
    shared.slice(stream, segment, chunk, 0)
    shared.clear()
    assert (segment.reads, shared.slice_octets) == (4, 0)


@pytest.mark.usefixtures("small")
def test_slices_that_are_not_in_memory_are_not_shared(shared):
    assert shared.slice(Stream(), Octets(9), stored(octets=25), 0) is None
    assert shared.slice_octets == 0


@pytest.mark.usefixtures("small")
def test_few_slices_are_kept(shared, monkeypatch):
    monkeypatch.setattr(module, "SLICES_OCTETS_MAX", 25)
    stream, segment, chunk = Stream(), Octets(), stored(octets=100)
    for at in (0, 10, 0, 20, 0, 10):
        shared.slice(stream, segment, chunk, at)
    assert (segment.reads, shared.slice_octets) == (4, 20)


@pytest.mark.usefixtures("small")
def test_readers_far_from_each_other_hardly_try_to_share(shared, monkeypatch):
    monkeypatch.setattr(module, "WORTH_MAX", 3)
    shared._worth = 3
    stream, segment, chunk = Stream(), Octets(), stored(octets=10_000)
    for at in range(0, 4_000, 10):
        shared.slice(stream, segment, chunk, at)
    assert segment.reads < 400 // module.TRY_EACH + 10
    for _ in range(8):
        found = shared.slice(stream, segment, chunk, 3_990) or shared.slice(stream, segment, chunk, 3_990)
    assert found is not None
    # Now it is worth it again.
    assert shared.slice(stream, segment, chunk, 5_000) is not None
