"""Piece: consecutive messages of a stream that are in memory, or still in the node's log alone. It becomes a chunk."""

from array import array
from typing import TYPE_CHECKING, Final

from pybroker.entries_run import EntriesRun
from pybroker.run import Run
from pybroker.store.streams.format import Chunk

if TYPE_CHECKING:
    from pybroker.seq_ranges import SeqRanges
    from pybroker.store.streams.format import Bloom

# The first messages of a run that may grow; a chunk is sent whole to whom reads by chunks.
PIECE_MESSAGES_MAX: Final = 4_096
PIECE_OCTETS_MAX: Final = 262_144
# Pieces of about this time become one that nobody has seen: a reader who asks for a time gets so much more at most.
PIECE_MS_MAX: Final = 1_000
# Taken beside its contents: most of it, where each message was published alone.
PIECE_OCTETS: Final = 500


class Piece:
    """Messages `offset .. stop - 1`; their seqs in the node's log begin with `first_seq`, and follow each other unless
    pieces, or entries, were put together.

    `run` is None while their contents are in the log alone, since before the start: they are `logged` there. A run's
    `first_seq` here is its offset. `position` is the commit position with which they are on disk.
    `octets` is about what it takes in memory; what went `straight` into the stream's files the log never has.
    """

    __slots__ = (
        "_spans",
        "first_seq",
        "logged",
        "octets",
        "offset",
        "position",
        "run",
        "stop",
        "straight",
        "timestamp_ms",
    )

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
        self._spans: array[int] | None = None  # first and last of all seqs, if they do not follow each other
        self.octets = run.octets + PIECE_OCTETS if run is not None else 0
        self.straight = False

    def extend(self, contents: list[bytes], octets: int, body_octets: int, body_size: int) -> None:
        """Append messages whose seqs follow the last one's."""
        assert self.run is not None
        self.run.extend(contents, octets, body_octets, body_size)
        self.stop += len(contents)
        self.octets += octets

    def go_straight(self) -> None:
        """Be in the stream's files and not in the log."""
        self.straight = True

    def begin_at(self, offset: int) -> None:
        """Leave out messages below an offset, of one without contents."""
        if offset > self.offset:
            assert self.logged is not None
            self.logged.pop_front(offset - self.offset)
            self.offset, self.first_seq = offset, self.logged.first_seq

    def join(self, run: EntriesRun) -> None:
        """Append entries whose seqs are above the last one's."""
        assert isinstance(self.run, EntriesRun)
        self._follow([(run.first_seq, run.first_seq + run.count - 1)])
        self.run.join(run)
        self.stop += run.count
        self.octets += run.octets

    def can_merge(self, other: "Piece") -> bool:
        """Tell whether the next piece may become part of this one: a chunk is not too large, nor of too long a time."""
        mine, theirs = self.run, other.run
        if (
            mine is None
            or theirs is None
            or self.octets + other.octets > PIECE_OCTETS_MAX
            or theirs.arrived_ms - mine.arrived_ms > PIECE_MS_MAX
            or other.stop - self.offset > PIECE_MESSAGES_MAX
        ):
            return False
        if isinstance(mine, EntriesRun):
            return isinstance(theirs, EntriesRun) and not mine.stays_apart(theirs)
        if isinstance(theirs, EntriesRun):
            return False
        return (
            mine.names == theirs.names
            and mine.attributes == theirs.attributes
            and mine.channel == theirs.channel
            and mine.frame_octets_max == theirs.frame_octets_max
            and mine.origin == theirs.origin
            and mine.contents is not None
            and theirs.contents is not None
        )

    def merge(self, other: "Piece") -> None:
        """Append the messages of the next piece, which is given up; the time is that of the newest one then."""
        mine, theirs = self.run, other.run
        assert mine is not None
        assert theirs is not None
        self._follow(other.seqs)
        if isinstance(mine, EntriesRun):
            assert isinstance(theirs, EntriesRun)
            mine.join(theirs)
            mine.timestamp_ms = other.timestamp_ms
        else:
            assert theirs.contents is not None
            mine.extend(theirs.contents, theirs.octets, theirs.body_octets, theirs.body_size)
        self.timestamp_ms, self.position = other.timestamp_ms, other.position
        self.stop = other.stop
        self.octets += theirs.octets

    def _follow(self, seqs: "list[tuple[int, int]]") -> None:
        """Note the seqs of messages that are appended."""
        spans = self._spans or array("Q", self.seqs[0])
        for first, last in seqs:
            if first == spans[-1] + 1:
                spans[-1] = last
            else:
                spans.extend((first, last))
        self._spans = spans if len(spans) > 2 else None

    @property
    def last_seq(self) -> int:
        """Return the seq of the last message in the node's log."""
        if self._spans is not None:
            return self._spans[-1]
        return self.first_seq + self.stop - self.offset - 1

    @property
    def seqs(self) -> "list[tuple[int, int]]":
        """Return the seqs of all messages in the node's log, as ranges (first, last)."""
        spans = self._spans
        return [(self.first_seq, self.last_seq)] if spans is None else list(zip(spans[::2], spans[1::2], strict=True))

    def chunk(self, bloom: "Bloom") -> Chunk:
        """Return it as the stream's files take it, with this bloom; its contents are in memory."""
        assert self.run is not None
        return Chunk(self.run, self.last_seq, self.timestamp_ms, bloom)


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
