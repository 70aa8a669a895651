"""The null engine of streams."""

import pytest

from pybroker.store.streams.format import Chunk
from pybroker.store.streams.memory import MemoryStreamLog
from tests.core.stream.runs import bodies_run
from tests.entries import bodies_of, entries_run


@pytest.fixture
def log():
    made = MemoryStreamLog()
    chunks = [Chunk(bodies_run(0, b"a", b"b"), 7, 100), Chunk(bodies_run(2, b"c"), 9, 200)]
    made.append(chunks, 1_000, lambda error: None)
    return made


def call(function, *arguments):
    found = []
    function(*arguments, found.append)
    return found[0]


def offsets(log, offset, octets_max=1_000):
    return [run.first_seq + index for run in call(log.read, offset, octets_max) for index in range(run.count)]


def test_a_chunk_is_the_same_each_time():
    made = MemoryStreamLog()
    made.append([Chunk(bodies_run(0, b"a"), 1, 100), Chunk(entries_run(1, b"b", b"c"), 3, 200)], 1_000, lambda _: None)
    for _ in range(2):
        runs = call(made.read, 0, 1_000)
        assert [(run.first_seq, run.arrived_ms, bodies_of(run)) for run in runs] == [
            (0, 100, [b"a"]),
            (1, 200, [b"b", b"c"]),
        ]
        runs[0].arrived_ms = runs[1].arrived_ms = 7


def test_facts(log):
    assert (log.first_offset, log.next_offset, log.last_seq, log.timestamp_ms, log.last_chunk_offset) == (
        0,
        3,
        9,
        200,
        2,
    )
    assert (log.segment_count, log.octets > 0) == (2, True)
    assert MemoryStreamLog().last_chunk_offset == 0
    assert (log.first_timestamp_ms, MemoryStreamLog().first_timestamp_ms) == (100, 0)


def test_reading(log):
    assert offsets(log, 0) == [0, 1, 2]
    assert offsets(log, 1, 1) == [0, 1]
    assert offsets(log, 2) == [2]
    assert offsets(log, 3) == []


@pytest.mark.parametrize(("at_ms", "offset"), [(0, 0), (100, 0), (101, 2), (201, 3)])
def test_times(log, at_ms, offset):
    assert call(log.find_timestamp, at_ms) == offset


@pytest.mark.parametrize(
    ("octets_max", "oldest_ms", "first"),
    [(None, None, 0), (1, None, 2), (None, 101, 2), (None, 201, 3), (1_000, 100, 0)],
)
def test_retention(log, octets_max, oldest_ms, first):
    assert log.first_retained(octets_max, oldest_ms) == first
    removed = call(log.retain, octets_max, oldest_ms)
    assert (log.first_offset, removed) == (first, {0: 0, 2: 1, 3: 2}[first])


def test_truncation_is_exact(log):
    assert call(log.truncate, 1) is None
    assert offsets(log, 0) == [0, 1, 2]
    call(log.truncate, 0)
    assert log.first_offset == 1
    call(log.truncate, 99)
    assert log.first_offset == 3


def test_deletion(log):
    assert call(log.delete) is None
    assert call(log.read, 0, 100) == []
