"""Readers near each other: each part of the files is read once, and kept as long as there is room."""

import errno

import pytest

from pybroker.core.stream import shared_reads as module
from pybroker.core.stream.shared_reads import SharedReads
from pybroker.store.disk import DiskError
from tests.entries import entries_run


class Files:
    """Files whose reads are answered by the test."""

    def __init__(self):
        self.asked = []

    def read(self, offset, octets_max, done):
        self.asked.append((offset, done))

    def answer(self, found):
        asked, self.asked = self.asked, []
        for _, done in asked:
            done(found)


class Stream:
    def __init__(self, stream_id=1, readers=2):
        self.id = stream_id
        self.files = Files()
        self.readers = dict.fromkeys(range(readers))


@pytest.fixture
def shared():
    return SharedReads()


@pytest.fixture
def read(shared):
    def read(stream, offset):
        found = []
        shared.read(stream, offset, 1_000, found.append)
        return found

    return read


def test_what_is_read_for_one_is_there_for_the_next(shared, read):
    stream, runs = Stream(), [entries_run(5, b"abc")]
    first, second = read(stream, 5), read(stream, 5)
    assert [offset for offset, _ in stream.files.asked] == [5]
    stream.files.answer(runs)
    assert first == second == read(stream, 5) == [runs]
    assert (stream.files.asked, shared.octets) == ([], 7)
    read(stream, 6)
    read(Stream(2), 5)
    assert [offset for offset, _ in stream.files.asked] == [6]
    shared.clear()
    read(stream, 5)
    assert ([offset for offset, _ in stream.files.asked], shared.octets) == ([6, 5], 0)


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
    monkeypatch.setattr(module, "SHARED_OCTETS_MAX", 20)
    stream = Stream()
    for offset in (0, 1):
        read(stream, offset)
        stream.files.answer([entries_run(offset, b"12345")])
    read(stream, 0)
    read(stream, 2)
    stream.files.answer([entries_run(2, b"12345")])
    assert shared.octets == 18
    for offset in (0, 2, 1):
        read(stream, offset)
    assert [offset for offset, _ in stream.files.asked] == [1]
