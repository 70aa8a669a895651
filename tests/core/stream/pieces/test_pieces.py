"""Pieces of a stream: they grow while nobody sees them, move, and leave the memory."""

import pytest

from pybroker.core.stream.pieces.piece import Piece, piece_of, piece_of_entries
from pybroker.core.stream.pieces.pieces import Pieces
from pybroker.seq_ranges import SeqRanges
from tests.core.stream.runs import bodies_run, content
from tests.entries import entries_run


@pytest.fixture
def counted():
    return [0, 0]


@pytest.fixture
def pieces(counted):
    def count(pending, cached):
        counted[0] += pending
        counted[1] += cached

    return Pieces(count)


def put(pieces, offset, *bodies, position=1):
    made = piece_of(bodies_run(100 + offset, *bodies), range(len(bodies)), offset, position, 0)
    pieces.append(made)
    return made


def logged(offset, count):
    found = SeqRanges()
    found.add(100 + offset, count, 1)
    return Piece(offset, None, 100 + offset, 0, 0, found)


def test_the_last_one_grows_while_its_run_does_and_it_is_not_committed(pieces, counted):
    run = bodies_run(100, b"a")
    assert not pieces.grow(run, range(1), 1)
    pieces.append(piece_of(run, range(1), 0, 1, 0))
    more = [content(b"b")]
    run.extend(more, len(more[0]), 1, 1)
    assert pieces.grow(run, range(1, 2), 1)
    assert (pieces[0].stop, pieces.pending, counted[0]) == (2, pieces[0].octets, pieces[0].octets)
    run.extend(more, len(more[0]), 1, 1)
    assert not pieces.grow(run, range(2, 3), 2)


def test_one_that_waits_for_nothing_does_not_grow(pieces):
    run = bodies_run(100, b"a", b"b")
    pieces.grow(run, range(1), 0)
    pieces.append(piece_of(run, range(1), 0, 0, 0))
    assert not pieces.grow(run, range(1, 2), 0)


def test_looking_up(pieces):
    first, second = put(pieces, 0, b"a", b"b"), put(pieces, 5, b"c")
    assert [pieces.find(offset) for offset in (0, 1, 2, 5, 6)] == [first, first, second, second, None]
    assert [run.first_seq for run in pieces.runs(1, 6, 1_000)] == [0, 5]
    assert [run.first_seq for run in pieces.runs(1, 5, 1_000)] == [0]
    assert [run.first_seq for run in pieces.runs(0, 6, 1)] == [0]
    assert (len(pieces), list(reversed(pieces)), pieces.resident) == (2, [second, first], [first, second])


def test_what_moves(pieces):
    first, second, third = (put(pieces, offset, b"a") for offset in range(3))
    assert pieces.movable(0, 3, 1) == [first]
    assert pieces.movable(0, 2, 1_000_000) == [first, second]
    assert pieces.movable(2, 3, 1_000_000) == [third]


def test_one_without_contents_moves_alone(pieces):
    pieces.restore([logged(0, 2), logged(2, 1)])
    without = pieces[0]
    assert pieces.movable(0, 3, 1_000) == [without]
    loaded = piece_of(bodies_run(100, b"a", b"b"), range(2), 0, 0, 0)
    pieces.replace(without, [loaded])
    assert (pieces.movable(0, 3, 1_000_000), pieces.pending) == ([loaded], loaded.octets)


def test_what_moved_leaves_the_memory(pieces, counted):
    first, second, third = (put(pieces, offset, b"a") for offset in range(3))
    pieces.moved([first, second])
    assert counted == [third.octets, first.octets + second.octets]
    pieces.drop(2, 0, second.octets)
    assert (list(pieces), counted) == ([second, third], [third.octets, second.octets])
    pieces.drop(2, 2, second.octets)
    assert (list(pieces), counted) == ([third], [third.octets, 0])
    pieces.forget(2)
    assert (list(pieces), counted, pieces.pending) == ([], [0, 0], 0)


def spans(pieces):
    return [(piece.offset, piece.stop) for piece in pieces]


def test_committed_ones_become_one(pieces, counted):
    for offset in range(4):
        put(pieces, offset, b"a", position=offset)
    pieces.merge(3, entries=False)
    assert spans(pieces) == [(0, 3), (3, 4)]
    assert counted == [sum(piece.octets for piece in pieces), 0]
    assert [run.count for run in pieces.runs(0, 3, 1_000)] == [3]


def test_one_that_somebody_saw_or_that_moves_stays_as_it_is(pieces):
    put(pieces, 0, b"a")
    pieces.seal()
    put(pieces, 1, b"b")
    pieces.merge(2, entries=True)
    assert spans(pieces) == [(0, 1), (1, 2)]
    put(pieces, 2, b"c")
    pieces.movable(0, 2, 1_000_000)
    pieces.merge(3, entries=True)
    assert spans(pieces) == [(0, 1), (1, 2), (2, 3)]
    put(pieces, 3, b"d")
    pieces.merge(4, entries=True)
    assert spans(pieces) == [(0, 1), (1, 2), (2, 4)]


def test_entries_become_one_only_if_nobody_reads(pieces):
    for offset in range(2):
        pieces.append(piece_of_entries(entries_run(100 + offset, b"a"), offset, offset, 0))
    pieces.merge(2, entries=False)
    assert spans(pieces) == [(0, 1), (1, 2)]
    pieces.merge(2, entries=True)
    assert spans(pieces) == [(0, 2)]


def test_one_without_contents_stays_as_it_is(pieces):
    pieces.restore([logged(0, 2), logged(2, 1)])
    pieces.merge(3, entries=True)
    assert spans(pieces) == [(0, 2), (2, 3)]
