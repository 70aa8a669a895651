"""Stream: a queue whose messages stay when they are read, until they are too many or too old.

A message is kept by the node's log like any other one; once it is committed, consumers see it, and some time later it
moves into the stream's own files (`streams`). Invariant: the files have a prefix of the stream, `pieces` the rest, and
of what has moved as much as readers may want again soon. Offsets follow from the order of seqs, so they are the same
after a crash.
"""

from bisect import bisect_left
from collections import deque
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.core.stream import recover
from pybroker.core.stream.consumers import StreamConsumers
from pybroker.core.stream.facts import StreamFacts
from pybroker.core.stream.piece import PIECE_MESSAGES_MAX, PIECE_OCTETS_MAX, Piece, piece_of
from pybroker.core.stream.reader import Reader, on_clock
from pybroker.store.streams.memory import MemoryStreamLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.events.cause import Cause
    from pybroker.core.policy.limits import QueueLimits
    from pybroker.core.queue.recover import Part, Returned
    from pybroker.core.stream.filter import Filters
    from pybroker.core.stream.offset import OffsetSpec
    from pybroker.core.stream.streams import Streams
    from pybroker.run import Run
    from pybroker.store.streams.chunk_log import ChunkLog

    Found = Callable[[list[Run] | BaseException], None]

# A turn serves one reader for so much, in messages that are delivered together; the others have their turn next.
TURN_COST_MAX: Final = 4_096


class Stream(StreamFacts):
    """`first_offset .. next_offset - 1` are the messages that consumers may have; what is up to `end_offset` is not
    committed yet. `pending` counts the octets of pieces that have not moved. Messages of the start end at
    `recovered_offset`: they move at once, since one can be read when the contents of all before it are back.
    """

    retains: ClassVar[bool] = True

    __slots__ = (
        "_growing",
        "_has_files",
        "_uncommitted",
        "end_offset",
        "files",
        "next_offset",
        "pending",
        "pieces",
        "readers",
        "recovered_offset",
    )

    consumers: StreamConsumers

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.pieces: list[Piece] = []  # ascending by offset
        self.readers: dict[Consumer, Reader] = {}
        self.files: ChunkLog = MemoryStreamLog()
        self._has_files = False
        self.next_offset = self.end_offset = self.recovered_offset = 0
        self.pending = 0
        # Commit positions, ascending, and where what is committed with each of them ends.
        self._uncommitted: deque[tuple[int, int]] = deque()
        self._growing: tuple[Run | None, int] = (None, 0)  # the run of the last piece, and how far that has it
        super().__init__(*args, **kwargs)
        self.streams.open(self)
        self.consumers = StreamConsumers()

    @property
    def streams(self) -> "Streams":
        """Return the owner of what all streams share."""
        return self.vhost.broker.streams

    @property
    def has_files(self) -> bool:
        """Tell whether it has a folder of its own."""
        return self._has_files

    def note_files(self) -> None:
        """Note that it has: a start that does not find them tells of the loss."""
        self._has_files = True

    def use_files(self, files: "ChunkLog") -> None:
        """Keep messages in these files from now on: called before anything comes, or with files that are empty."""
        assert not files.next_offset or not self.end_offset
        self.files = files
        if files.next_offset:
            self.next_offset = self.end_offset = files.next_offset

    # -- what others ask ----------------------------------------------------------------------------------------------

    @property
    def first_offset(self) -> int:
        """Return the offset of the oldest message that is kept."""
        return min(self.files.first_offset, self.next_offset)

    @property
    def last_chunk_offset(self) -> int:
        """Return where the last chunk that consumers may have begins."""
        for piece in reversed(self.pieces):
            if piece.offset < self.next_offset:
                return piece.offset
        return min(max(self.files.last_chunk_offset, self.first_offset), self.next_offset)

    @property
    def messages(self) -> int:
        """Return how many messages can be read."""
        return self.next_offset - self.first_offset

    @property
    def messages_ready(self) -> int:
        """Return the same: reading takes nothing away."""
        return self.messages

    @property
    def messages_unacknowledged(self) -> int:
        """Return how many messages its consumers were delivered and have to acknowledge, for their credit."""
        return sum([consumer.unacked for consumer in self.consumers])

    @property
    def messages_resident(self) -> int:
        """Return how many messages have their contents in memory."""
        return sum([piece.stop - piece.offset for piece in self.pieces if piece.run is not None])

    @property
    def octets_resident(self) -> int:
        """Return the octets of these."""
        return sum([piece.run.octets for piece in self.pieces if piece.run is not None])

    @property
    def memory_octets(self) -> int:
        """Return about what its messages take in memory."""
        held = sum([piece.run.held_octets for piece in self.pieces if piece.run is not None])
        return held + sum([run.held_octets for reader in self.readers.values() for run in reader.ahead])

    @property
    def backlogged(self) -> bool:
        """Nobody waits for consumers of a stream: what they have not read yet stays."""
        return False

    @property
    def delivers_at_once(self) -> bool:
        """Tell whether a consumer would get a message now."""
        return self.paused is None and self.consumers.next() is not None

    def has_room(self, octets: int) -> bool:  # noqa: ARG002 - the oldest segments go, whatever comes
        """Take any message."""
        return True

    def set_limits(self, limits: "QueueLimits") -> None:
        """Replace the limits; what is too much or too old by them goes soon."""
        self.limits = limits
        self.vhost.broker.timeouts_differ |= limits.consumer_timeout_ms is not None
        self.bounded = self.rejecting = self.one_by_one = False
        self.streams.retain_soon(self)

    # -- in -----------------------------------------------------------------------------------------------------------

    def enqueue(self, run: "Run", indexes: range, receipt: "Receipt") -> None:  # noqa: ARG002 - it waits already
        """Append messages, which are in the log, transient ones too; consumers have them once they are on disk."""
        log, n = self.log, len(indexes)
        position = log.commit_position
        self.published += n
        self._append(run, indexes, position)
        self.end_offset += n
        if not position:
            self.next_offset = self.end_offset
            self.wake_readers()
        else:
            if self._uncommitted and self._uncommitted[-1][0] == position:
                self._uncommitted[-1] = position, self.end_offset
            else:
                self._uncommitted.append((position, self.end_offset))
                self.streams.uncommitted[self] = None
            if self.readers:
                log.want(position)
        self.streams.appended(self)

    def _append(self, run: "Run", indexes: range, position: int) -> None:
        """Extend the last piece if these messages follow there and nobody can have seen it, or begin one."""
        last, stop = self._growing
        self._growing = run, indexes.stop
        pieces = self.pieces
        piece = pieces[-1] if pieces else None
        if (
            last is run
            and stop == indexes.start
            and piece is not None
            and position
            and piece.position == position
            and piece.run is not None
            and piece.run.contents is not None
            and piece.stop - piece.offset + len(indexes) <= PIECE_MESSAGES_MAX
            and piece.octets < PIECE_OCTETS_MAX
        ):
            contents = run.contents_at(indexes)
            octets = sum(map(len, contents))
            piece.extend(contents, octets, run.body_octets_of(indexes), run.body_size)
            self._count(octets, 0)
            return
        timestamp_ms = max(
            self.vhost.broker.clock.timestamp_ms, piece.timestamp_ms if piece else self.files.timestamp_ms
        )
        piece = piece_of(run, indexes, self.end_offset, position, timestamp_ms)
        pieces.append(piece)
        self._count(piece.octets, 0)

    def log_completed(self, position: int) -> bool:
        """Let consumers have what is committed with a position; tell whether nothing else waits."""
        uncommitted = self._uncommitted
        before = self.next_offset
        while uncommitted and uncommitted[0][0] <= position:
            self.next_offset = uncommitted.popleft()[1]
        if self.next_offset != before:
            self.wake_readers()
            self.streams.appended(self)
        return not uncommitted

    # -- out ----------------------------------------------------------------------------------------------------------

    def attach(self, consumer: "Consumer", spec: "OffsetSpec", filters: "Filters | None" = None) -> None:
        """Have a new consumer begin there; called before it is added to `consumers`."""
        reader = self.readers[consumer] = Reader(self, consumer, self._begin(spec), filters)
        self.streams.count_readers(1)
        if reader.next_offset is None:
            clock = self.vhost.broker.clock
            age_ms = spec.age_ms
            reader.find(clock.timestamp_ms - age_ms if age_ms is not None else spec.timestamp_ms or 0)

    def _begin(self, spec: "OffsetSpec") -> int | None:
        """Return the offset where a consumer begins; None if that is a matter of time."""
        if spec.offset is not None:
            return max(spec.offset + (self.next_offset if spec.offset < 0 else 0), self.first_offset)
        named = {"first": self.first_offset, "last": self.last_chunk_offset, "next": self.next_offset}
        return named.get(spec.name)

    def wake_readers(self) -> None:
        """Have consumers served at the end of this turn, if there are any."""
        if self.readers and not self.awake:
            self.wake()

    def deliver(self, now_ms: int, *, expire: bool = True) -> None:  # noqa: ARG002 - nothing expires by the message
        """Give each able consumer a turn's share of what it has not read."""
        again = False
        for consumer in self.consumers.served():
            reader = self.readers.get(consumer)
            if reader is None:
                continue
            left = TURN_COST_MAX
            while left > 0 and (credit := consumer.credit()) > 0:
                cost = reader.serve(credit, left, now_ms)
                if not cost:
                    break
                left -= cost
            else:
                again = True
            self.consumers.rotate(consumer)
        if again:
            self.wake()

    def count_delivered(self, messages: int) -> None:
        """Count messages that a consumer was given."""
        self.delivered += messages
        self.vhost.traffic.delivered += messages

    def look_again(self, call: "Callable[[], None]") -> None:
        """Do that at the next tick: what was tried may work then."""
        self.streams.again.append(call)

    def read(self, offset: int, octets_max: int, done: "Found") -> None:
        """Call `done` with runs from an offset on, as far as consumers may have them; their seqs are offsets.

        The first one may begin later, where messages are gone; none are left if there are no runs.
        """
        offset = max(offset, self.first_offset)
        pieces = self.pieces
        if offset >= self.next_offset or (pieces and pieces[0].offset <= offset and pieces[0].run is not None):
            done(self._in_memory(offset, octets_max))
        elif pieces and pieces[0].offset <= offset:
            self.look_again(lambda: self.read(offset, octets_max, done))
        else:
            clock = self.vhost.broker.clock
            self.files.read(
                offset,
                octets_max,
                lambda found: done(found if isinstance(found, BaseException) else on_clock(found, clock)),
            )

    @property
    def runs_in_memory(self) -> "Iterator[Run]":
        """Yield the runs that are held in memory, for its readers or until they move."""
        yield from [piece.run for piece in self.pieces if piece.run is not None]
        for reader in list(self.readers.values()):
            yield from list(reader.ahead)

    def _in_memory(self, offset: int, octets_max: int) -> "list[Run]":
        found: list[Run] = []
        for piece in self.pieces:
            if octets_max <= 0 or piece.run is None or piece.offset >= self.next_offset:
                break
            if piece.stop > offset:
                run = piece.run
                found.append(run if piece.offset >= offset else run.part(range(offset - piece.offset, run.count)))
                octets_max -= found[-1].octets
        return found

    # -- settled, returned: credit alone -------------------------------------------------------------------------------

    def settled(self, run: "Run", indexes: range) -> None:
        """Learn that a consumer has read messages: they stay."""

    def forget(self, run: "Run", indexes: range) -> None:
        """Keep messages in the log: `streams` settles what is in the files."""

    def give_back(self, batches: "list[Batch]", *, failed: bool = False) -> None:
        """Learn the same. Nothing is delivered again: a consumer that wants it attaches there."""

    def reject(self, batches: "list[Batch]") -> None:
        """Learn the same, of messages that a consumer does not want."""

    def hold(self) -> None:
        """Deliver on: nothing comes back that would be older."""

    def release(self) -> None:
        """Have consumers served that have credit again."""
        self.wake_readers()

    def purge(self) -> int:
        """Drop what is in memory of a deleted stream; one that is there cannot be purged."""
        assert self.deleted
        self.forget_pieces()
        self.streams.count_readers(-len(self.readers))
        self.readers.clear()
        return 0

    def discard(self) -> None:
        """Remove the files: its row is gone."""
        self.streams.discard(self)

    def consumer_left(self, cause: "Cause") -> None:  # noqa: ARG002 - a stream has no auto-delete
        """Forget where consumers were that have gone."""
        for consumer in [consumer for consumer in self.readers if consumer.cancelled]:
            del self.readers[consumer]
            self.streams.count_readers(-1)

    def touch(self) -> None:
        """Change nothing: a stream does not expire."""

    # -- pieces that leave the memory ----------------------------------------------------------------------------------

    def movable(self, octets_max: int) -> list[Piece]:
        """Return the oldest pieces that are committed and not in the files yet: one without contents comes alone."""
        found: list[Piece] = []
        for piece in islice(self.pieces, self._moved_count(), None):
            if octets_max <= 0 or piece.stop > self.next_offset or (found and piece.run is None):
                break
            found.append(piece)
            if piece.run is None:
                break
            octets_max -= piece.octets
        return found

    def moved(self, pieces: list[Piece]) -> None:
        """Settle what is in the files; the oldest of it leaves the memory."""
        octets = 0
        for piece in pieces:
            octets += piece.octets
            self.log.settle_seqs(self.id, piece.first_seq, piece.last_seq)
        self._count(-octets, octets)
        kept = self.streams.cache_octets(self)
        cached = self.pieces[: self._moved_count()]
        have = sum([piece.octets for piece in cached])
        for count, piece in enumerate(cached):
            if have <= kept:
                del self.pieces[:count]
                return
            have -= piece.octets
            self._count(0, -piece.octets)
        del self.pieces[: len(cached)]

    def _moved_count(self) -> int:
        """Return how many pieces are in the files already; with much in memory that is most of them."""
        return bisect_left(self.pieces, self.files.next_offset, key=attrgetter("offset"))

    def _count(self, pending: int, cached: int) -> None:
        self.pending += pending
        self.streams.count(pending, cached)

    def replace(self, piece: Piece, pieces: list[Piece]) -> None:
        """Put pieces with contents in the place of one without."""
        at = self.pieces.index(piece)
        self.pieces[at : at + 1] = pieces
        self._count(sum([each.octets for each in pieces]), 0)

    def forget_pieces(self) -> None:
        """Let everything in memory go: the stream is deleted."""
        for piece in self.pieces:
            moved = piece.stop <= self.files.next_offset
            self._count(0 if moved else -piece.octets, -piece.octets if moved else 0)
        self.pieces = []

    # -- after a start -------------------------------------------------------------------------------------------------

    @property
    def due_times(self) -> tuple[int, ...]:
        """Nothing is due at a time: retention is looked at every ten seconds."""
        return ()

    def restore(self, parts: "list[Part]", others: int, returned: "Returned | None" = None) -> None:  # noqa: ARG002
        """Take what the log still has of it: what is in its files already is settled, the rest follows there."""
        recover.restore(self, parts)

    def recovered(self, pieces: list[Piece]) -> None:
        """Take what the log still has, behind what is in the files; called once, before anything comes."""
        self.pieces = pieces
        if pieces:
            self.next_offset = self.end_offset = self.recovered_offset = pieces[-1].stop
            self.streams.move(self)

    def truncate(self, offset: int, done: "Callable[[BaseException | None], None]") -> None:
        """Let all messages below an offset go for good; call back with None, or an error."""
        self.streams.truncate(self, min(offset, self.next_offset), done)

    def __repr__(self) -> str:
        return f"stream '{self.name}' in vhost '{self.vhost.name}'"
