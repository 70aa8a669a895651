"""Contents of a stream that are in the node's log alone, since before the start: read back, so that they can move."""

from bisect import bisect_right
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from pybroker.core.stream.pieces.piece import Piece, piece_of, piece_of_entries
from pybroker.entries_run import EntriesRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.stream.stream import Stream
    from pybroker.run import Run


def load(stream: "Stream", piece: Piece, done: "Callable[[], None]") -> None:
    """Put pieces with contents in the place of one without, and call `done`; what cannot be read leaves a gap.

    Of a stream that is deleted meanwhile nothing is put anywhere.
    """
    assert piece.logged is not None
    stream.log.fetch(stream.id, piece.logged, partial(_loaded, stream, piece, done))


def _loaded(stream: "Stream", piece: Piece, done: "Callable[[], None]", found: "list[tuple[Run, range]]") -> None:
    logged, clock = piece.logged, stream.vhost.broker.clock
    assert logged is not None
    if stream.deleted:
        done()
        return
    before = list(accumulate(logged.counts, initial=0))
    wall_ms = clock.timestamp_ms - clock.now_ms
    timestamp_ms = stream.files.timestamp_ms
    pieces: list[Piece] = []
    for run, indexes in found:
        seq = run.first_seq + indexes.start
        at = bisect_right(logged.firsts, seq) - 1
        timestamp_ms = max(timestamp_ms, run.arrived_ms + wall_ms)
        offset = piece.offset + before[at] + seq - logged.firsts[at]
        if not isinstance(run, EntriesRun):
            pieces.append(piece_of(run, indexes, offset, 0, timestamp_ms))
        elif not indexes.start:
            pieces.append(piece_of_entries(run, offset, 0, timestamp_ms))
    stream.pieces.replace(piece, pieces)
    # The log has told of those it cannot read; here they are done with.
    for first, count, _ in logged.without((each.first_seq, each.last_seq) for each in pieces).ranges():
        stream.log.settle_seqs(stream.id, first, first + count - 1)
    done()
