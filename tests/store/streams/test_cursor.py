"""Cursor: chunk by chunk, whatever the pieces are, and past what is damaged."""

import pytest

from pybroker.store.streams import format as fmt
from pybroker.store.streams.cursor import Cursor
from tests.store.streams.lives import chunk

SEED = fmt.chunk_seed(1, 7)
PARTS = [b"".join(fmt.encode_chunk(chunk(offset, 5), SEED, begins=True)) for offset in range(0, 100, 5)]
OCTETS = b"".join(PARTS)


@pytest.fixture(params=[65_536, 100], autouse=True)
def direct(request, monkeypatch):
    """Data of so many octets are read by themselves."""
    monkeypatch.setattr("pybroker.store.streams.cursor.DIRECT_OCTETS", request.param)


def cursor(octets=OCTETS, piece=1_000, stop=None):
    return Cursor(lambda at, count: octets[at : at + count], SEED, 0, len(octets) if stop is None else stop, piece)


def fronts(place):
    """Return the first offsets of all chunks that are sound."""
    found = []
    while place.position < place.stop:
        front = place.front()
        if front is None or place.data(front) is None:
            place.search()
        else:
            found.append(front.first_offset)
            place.position += front.octets
    return found


@pytest.mark.parametrize("piece", [1, 79, 80, 81, 500, 1_000, 1 << 20])
def test_all_chunks_are_found_in_pieces(piece):
    assert fronts(cursor(piece=piece)) == list(range(0, 100, 5))


def test_a_chunk_that_ends_behind_the_stop_is_none():
    assert fronts(cursor(stop=len(OCTETS) - 1)) == list(range(0, 95, 5))


def test_a_file_that_is_shorter_than_said_ends():
    place = cursor(stop=len(OCTETS) + 1_000)
    assert fronts(place) == list(range(0, 100, 5))
    assert place.position == place.stop


@pytest.mark.parametrize("piece", [1, 100, 1_000, 1 << 20])
@pytest.mark.parametrize("at", [0, 40, 100])
def test_what_is_behind_damage_is_found(piece, at):
    start = sum(map(len, PARTS[:7])) + at
    octets = OCTETS[:start] + b"\xff" * 20 + OCTETS[start + 20 :]
    assert fronts(cursor(octets, piece)) == [offset for offset in range(0, 100, 5) if offset != 35]


def test_the_search_ends_where_nothing_is_sound():
    octets = OCTETS[: len(PARTS[0])] + bytes(5_000)
    place = cursor(octets)
    assert fronts(place) == [0]
    assert place.position == len(octets)
