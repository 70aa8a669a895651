"""Messages of a stream in memory."""

from pybroker.content_view import body
from pybroker.core.stream.pieces.piece import (
    PIECE_MS_MAX,
    PIECE_OCTETS,
    PIECE_OCTETS_MAX,
    Piece,
    piece_of,
    piece_of_entries,
)
from pybroker.run import PLAIN_ATTRIBUTES
from pybroker.seq_ranges import SeqRanges
from tests.core.stream.runs import PERSISTENT, bodies_run, content, run_of
from tests.entries import bodies_of, entries_run


def test_a_piece_has_seqs_of_the_log_and_its_run_has_offsets():
    run = bodies_run(100, b"a", b"b", b"c")
    piece = piece_of(run, range(1, 3), 7, 5, 1_000)
    assert (piece.offset, piece.stop, piece.first_seq, piece.last_seq) == (7, 9, 101, 102)
    assert (piece.run.first_seq, [body(each) for each in piece.run.contents_at(range(2))]) == (7, [b"b", b"c"])
    assert (run.first_seq, run.count) == (100, 3)
    assert piece.chunk(b"") == (piece.run, 102, 1_000, b"")


def test_a_piece_grows():
    piece = piece_of(bodies_run(1, b"a"), range(1), 0, 5, 0)
    more = [content(b"b"), content(b"c")]
    piece.extend(more, sum(map(len, more)), 2, 1)
    assert (piece.stop, piece.last_seq, piece.octets) == (3, 3, piece.run.octets + PIECE_OCTETS)


def test_entries_that_are_joined_may_leave_out_seqs():
    piece = piece_of_entries(entries_run(1, b"a", b"b"), 7, 5, 0)
    assert piece.seqs == [(1, 2)]
    piece.join(entries_run(3, b"c"))
    assert (piece.seqs, piece.last_seq, piece.stop) == ([(1, 3)], 3, 10)
    piece.join(entries_run(9, b"d"))
    piece.join(entries_run(10, b"e"))
    assert (piece.seqs, piece.chunk(None).last_seq, piece.stop) == ([(1, 3), (9, 10)], 10, 12)
    piece.join(entries_run(12, b"f"))
    assert (piece.seqs, piece.run.count) == ([(1, 3), (9, 10), (12, 12)], 6)


def test_without_contents_it_knows_how_many_there_are():
    logged = SeqRanges()
    logged.add(5, 2, 10)
    logged.add(9, 3, 10)
    piece = Piece(40, None, 5, 0, 0, logged)
    assert (piece.stop, piece.octets) == (45, 0)


def single(offset, timestamp_ms=0, attributes=PERSISTENT, arrived_ms=0):
    run = run_of(100 + 2 * offset, [content(b"%d" % offset)], attributes)
    run.arrived_ms = arrived_ms
    return piece_of(run, range(1), offset, offset, timestamp_ms)


def test_two_pieces_become_one_with_the_time_of_the_newer():
    piece, last = single(7, 1_000), single(8, 1_500)
    assert piece.can_merge(last)
    piece.merge(last)
    assert (piece.offset, piece.stop, piece.position, piece.timestamp_ms) == (7, 9, 8, 1_500)
    assert (piece.seqs, piece.last_seq) == ([(114, 114), (116, 116)], 116)
    assert [body(each) for each in piece.run.contents_at(range(2))] == [b"7", b"8"]
    assert (piece.run.body_octets, piece.octets) == (2, piece.run.octets + PIECE_OCTETS)


def test_entries_become_one_with_the_time_of_the_newer():
    piece = piece_of_entries(entries_run(1, b"a"), 7, 5, 1_000)
    other = piece_of_entries(entries_run(2, b"b"), 8, 6, 1_500)
    other.join(entries_run(9, b"c"))
    piece.merge(other)
    assert (piece.seqs, piece.stop, piece.timestamp_ms) == ([(1, 2), (9, 9)], 10, 1_500)
    assert (bodies_of(piece.run), piece.run.timestamp_ms) == ([b"a", b"b", b"c"], 1_500)


def test_what_does_not_become_one():
    piece = single(0)
    assert not piece.can_merge(single(1, attributes=PLAIN_ATTRIBUTES))
    assert not piece.can_merge(piece_of_entries(entries_run(1, b"a"), 1, 5, 0))
    assert piece.can_merge(single(1, arrived_ms=PIECE_MS_MAX))
    assert not piece.can_merge(single(1, arrived_ms=PIECE_MS_MAX + 1))
    assert not piece.can_merge(piece_of(run_of(1, [bytes(PIECE_OCTETS_MAX)]), range(1), 1, 5, 0))
