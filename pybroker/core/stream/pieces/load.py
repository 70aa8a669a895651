"""Loads: contents of streams that are in the node's log alone, since before the start, are read back to be moved.

Readers wait for them, so more comes back while messages move, which may take long.
"""

from bisect import bisect_right
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from pybroker.core.stream.pieces.piece import Piece, piece_of, piece_of_entries
from pybroker.entries_run import EntriesRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.stream.stream import Stream
    from pybroker.core.stream.streams import Streams
    from pybroker.run import Run

# Streams whose messages come back or move at once: those of all would be in memory together.
LOADS_MAX: Final = 256


class Loads:
    """The loads of a node that are under way, one of each stream."""

    __slots__ = ("_streams", "_under_way")

    def __init__(self, streams: "Streams") -> None:
        self._streams = streams
        self._under_way: dict[Stream, None] = {}

    @property
    def _are_many(self) -> bool:
        return len(self._under_way) + self._streams.moves >= LOADS_MAX

    def begin(self, stream: "Stream", piece: Piece) -> None:
        """Have a piece's contents read back, and moved, unless some of this stream are; later if there are many."""
        if stream in self._under_way:
            return
        if self._are_many:
            self._streams.again.append(partial(self._streams.move, stream))
            return
        self._under_way[stream] = None
        try:
            load(stream, piece, partial(self._loaded, stream))
        except Exception:
            self._under_way.pop(stream, None)
            raise

    def _loaded(self, stream: "Stream") -> None:
        self._under_way.pop(stream, None)
        stream.wake_readers()
        self._streams.move(stream)
        self.begin_ahead(stream)

    def begin_ahead(self, stream: "Stream") -> None:
        """Have more of a stream read back while its messages move."""
        is_recovering = stream.files.next_offset < stream.recovered_offset
        if is_recovering and not stream.deleted and self._streams.may_load_ahead and not self._are_many:
            piece = stream.pieces.first_logged
            if piece is not None:
                self.begin(stream, piece)


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
