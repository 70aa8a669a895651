"""Piece: consecutive messages of a stream that are in memory, or still in the node's log alone. It becomes a chunk."""

from typing import TYPE_CHECKING, Final

from pybroker.entries_run import EntriesRun
from pybroker.run import Run
from pybroker.store.streams.format import Chunk

if TYPE_CHECKING:
    from pybroker.seq_ranges import SeqRanges

# The first messages of a run that may grow; a chunk is sent whole to whom reads by chunks.
PIECE_MESSAGES_MAX: Final = 4_096
PIECE_OCTETS_MAX: Final = 262_144
# Taken beside its contents: most of it, where each message was published alone.
PIECE_OCTETS: Final = 500


class Piece:
    """Messages `offset .. stop - 1`; their seqs in the node's log begin with `first_seq`, and follow each other but for
    entries that were joined.

    `run` is None while their contents are in the log alone, since before the start: they are `logged` there. A run's
    `first_seq` here is its offset. `position` is the commit position with which they are on disk.
    `octets` is about what it takes in memory.
    """

    __slots__ = ("first_seq", "logged", "octets", "offset", "position", "run", "spans", "stop", "timestamp_ms")

    def __init__(
        self,
        offset: int,
        run: Run | None,
        first_seq: int,
        position: int,
        timestamp_ms: int,
        logged: "SeqRanges | None" = None,
    ) -> None:
        self.offset = offset
        self.run = run
        self.logged = logged
        self.first_seq = first_seq
        self.position = position
        self.timestamp_ms = timestamp_ms
        count = run.count if run is not None else logged.count if logged is not None else 0
        self.stop = offset + count
        self.spans: list[tuple[int, int]] | None = None  # all seqs, if they do not follow each other
        self.octets = run.octets + PIECE_OCTETS if run is not None else 0

    def extend(self, contents: list[bytes], octets: int, body_octets: int, body_size: int) -> None:
        """Append messages whose seqs follow the last one's."""
        assert self.run is not None
        self.run.extend(contents, octets, body_octets, body_size)
        self.stop += len(contents)
        self.octets += octets

    def begin_at(self, offset: int) -> None:
        """Leave out messages below an offset, of one without contents."""
        if offset > self.offset:
            assert self.logged is not None
            self.logged.pop_front(offset - self.offset)
            self.offset, self.first_seq = offset, self.logged.first_seq

    def join(self, run: EntriesRun) -> None:
        """Append entries whose seqs are above the last one's."""
        assert isinstance(self.run, EntriesRun)
        if run.first_seq != self.last_seq + 1:
            self.spans = self.seqs
            self.spans.append((run.first_seq, run.first_seq + run.count - 1))
        elif self.spans is not None:
            self.spans[-1] = self.spans[-1][0], run.first_seq + run.count - 1
        self.run.join(run)
        self.stop += run.count
        self.octets += run.octets

    @property
    def last_seq(self) -> int:
        """Return the seq of the last message in the node's log."""
        if self.spans is not None:
            return self.spans[-1][1]
        return self.first_seq + self.stop - self.offset - 1

    @property
    def seqs(self) -> "list[tuple[int, int]]":
        """Return the seqs of all messages in the node's log, as ranges (first, last)."""
        return self.spans if self.spans is not None else [(self.first_seq, self.last_seq)]

    @property
    def chunk(self) -> Chunk:
        """Return it as the stream's files take it; its contents are in memory."""
        assert self.run is not None
        return Chunk(self.run, self.last_seq, self.timestamp_ms)


def piece_of(run: Run, indexes: range, offset: int, position: int, timestamp_ms: int) -> Piece:
    """Return consecutive messages of a run, which other queues may have too, as a run that begins at an offset."""
    mine = run.part(indexes)
    first_seq, mine.first_seq = mine.first_seq, offset
    return Piece(offset, mine, first_seq, position, timestamp_ms)


def piece_of_entries(run: EntriesRun, offset: int, position: int, timestamp_ms: int) -> Piece:
    """Return entries, whose seqs are those of the node's log, as a piece that begins at an offset."""
    mine = run.at(offset)
    mine.timestamp_ms = timestamp_ms
    return Piece(offset, mine, run.first_seq, position, timestamp_ms)
