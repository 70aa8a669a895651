"""Stream: a queue whose messages stay when they are read, until they are too many or too old.

A message is kept by the node's log like any other one; once it is committed, consumers see it, and some time later it
moves into the stream's own files (`streams`). Invariant: the files have a prefix of the stream, `pieces` the rest, and
of what has moved as much as readers may want again soon. Offsets follow from the order of seqs, so they are the same
after a crash.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from pybroker.core.queue.backlog import Backlog
from pybroker.core.stream.chunk_reader import ChunkReader
from pybroker.core.stream.consumers import StreamConsumers
from pybroker.core.stream.facts import StreamFacts
from pybroker.core.stream.pieces import recover
from pybroker.core.stream.pieces.piece import piece_of, piece_of_entries
from pybroker.core.stream.pieces.pieces import Pieces
from pybroker.core.stream.reader import Reader, on_clock
from pybroker.core.stream.tracking import Tracking
from pybroker.store.streams.memory import MemoryStreamLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.events.cause import Cause
    from pybroker.core.policy.limits import QueueLimits
    from pybroker.core.queue.recover import Part, Returned
    from pybroker.core.stream.filter import Filters
    from pybroker.core.stream.pieces.piece import Piece
    from pybroker.entries_run import EntriesRun
    from pybroker.offset_spec import OffsetSpec
    from pybroker.run import Run
    from pybroker.store.streams.chunk_log import ChunkLog

    class Publisher(Protocol):
        """One that is told when the stream is deleted."""

        def stream_gone(self) -> None:
            """Learn that it is."""

    Found = Callable[[list[Run] | BaseException], None]

# A turn serves one reader for so much, in messages that are delivered together; the others have their turn next.
TURN_COST_MAX: Final = 4_096
# Of all readers of a stream together.
READERS_COST_MAX: Final = 16_384
# One for all streams: its messages are in pieces and files.
_NO_BACKLOG: Final = Backlog(durable=True)


class Stream(StreamFacts):
    """`first_offset .. next_offset - 1` are the messages that consumers may have; what is up to `end_offset` is not
    committed yet. Messages of the start end at `recovered_offset`: they move at once, since one can be read when the
    contents of all before it are back.
    """

    retains: ClassVar[bool] = True

    __slots__ = (
        "__weakref__",
        "_chunks_seen",
        "_uncommitted",
        "end_offset",
        "files",
        "has_files",
        "next_offset",
        "pieces",
        "publishers",
        "readers",
        "recovered_offset",
        "tracking",
    )

    consumers: StreamConsumers

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.readers: dict[Consumer, Reader] = {}
        self.publishers: dict[Publisher, None] = {}  # of the stream protocol, who are told when it is deleted
        self.files: ChunkLog = MemoryStreamLog()
        self.has_files = False
        self._chunks_seen = False  # a reader takes pieces as chunks, which never change
        self.next_offset = self.end_offset = self.recovered_offset = 0
        # Commit positions, ascending, and where what is committed with each of them ends.
        self._uncommitted: list[tuple[int, int]] = []
        super().__init__(*args, **kwargs)
        self.backlog = _NO_BACKLOG
        self.pieces = Pieces(self.streams.count)
        self.tracking = Tracking(self)
        self.streams.open(self)
        self.consumers = StreamConsumers()

    @property
    def companions(self) -> "tuple[Tracking, ...]":
        """Return what it has in the log beside its messages."""
        return (self.tracking,)

    def note_files(self) -> None:
        """Note that it has: a start that does not find them tells of the loss."""
        self.has_files = True

    def use_files(self, files: "ChunkLog") -> None:
        """Keep messages in these files from now on: called before anything comes, or with files that are empty."""
        assert not files.next_offset or not self.end_offset
        self.files = files
        if files.next_offset:
            self.next_offset = self.end_offset = files.next_offset

    # -- what others ask ----------------------------------------------------------------------------------------------

    @property
    def uncommitted_position(self) -> int:
        """Return the commit position of its newest messages; 0: all are committed."""
        return self._uncommitted[-1][0] if self._uncommitted else 0

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
        position = self.log.commit_position
        try:
            # Extend the last piece if these messages follow there and nobody can have seen it, or begin one.
            if not self.pieces.grow(run, indexes, position):
                self.pieces.append(piece_of(run, indexes, self.end_offset, position, self._timestamp_ms()))
            self._published(len(indexes), position)
        except Exception as error:
            # The log has them. A start would give them the offsets that others have here.
            self.log.fail(error)
            raise

    def publish_entries(self, run: "EntriesRun", receipt: "Receipt") -> None:
        """Append entries of a stream client, which get their seqs here; the receipt learns what to wait for."""
        log, n = self.log, run.count
        run.number(log.take(n))
        position = log.append(run, range(n), (self.id,))
        try:
            receipt.wait(log, position)
            if not self.pieces.join(run, position):
                self.pieces.append(piece_of_entries(run, self.end_offset, position, self._timestamp_ms()))
            traffic = self.vhost.traffic
            traffic.publish_in += n
            traffic.publish_out += n
            self._published(n, position)
        except Exception as error:
            self.log.fail(error)
            raise

    def _published(self, n: int, position: int) -> None:
        """Let consumers have so many messages once a position is committed; 0: at once."""
        self.published += n
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
                self.log.want(position)
        self.streams.appended(self)

    def _timestamp_ms(self) -> int:
        """Return the time of a chunk that begins now, which is never less than that of the one before."""
        before_ms = self.pieces[-1].timestamp_ms if self.pieces else self.files.timestamp_ms
        return max(self.vhost.broker.clock.timestamp_ms, before_ms)

    def log_completed(self, position: int) -> bool:
        """Let consumers have what is committed with a position; tell whether nothing else waits."""
        uncommitted = self._uncommitted
        before = self.next_offset
        while uncommitted and uncommitted[0][0] <= position:
            self.next_offset = uncommitted.pop(0)[1]
        if self.next_offset != before:
            if self.streams.are_crowded and not self._chunks_seen:
                self.pieces.merge(self.next_offset, entries=not self.readers)
            self.wake_readers()
            self.streams.appended(self)
        return not uncommitted

    # -- out ----------------------------------------------------------------------------------------------------------

    def attach(self, consumer: "Consumer", spec: "OffsetSpec", filters: "Filters | None" = None) -> None:
        """Have a new consumer begin there; called before it is added to `consumers`."""
        kind = ChunkReader if consumer.takes_chunks else Reader
        offset = self.offset_of(spec)
        self.pieces.seal()
        if spec.name == "next":
            # Messages published before are not new, though they may not be committed yet.
            offset = self.end_offset
        reader = kind(self, consumer, None if offset is None else max(offset, self.first_offset), filters)
        self.streams.count_readers(consumer not in self.readers)
        self.readers[consumer] = reader
        self._chunks_seen |= consumer.takes_chunks
        if offset is None:
            reader.find(self.timestamp_ms_of(spec))

    def detach(self, consumer: "Consumer") -> None:
        """Forget where a consumer was, which stays and begins anew when it is attached again. Idempotent."""
        if self.readers.pop(consumer, None) is not None:
            self.streams.count_readers(-1)
            self.pieces.seal()
            self._chunks_seen = any(each.takes_chunks for each in self.readers)

    def last_offset_of(self, consumer: "Consumer") -> int | None:
        """Return the offset of the last message that a consumer was sent, 0 before the first; None: it has no place."""
        reader = self.readers.get(consumer)
        return None if reader is None or reader.next_offset is None else max(0, reader.next_offset - 1)

    def lag_of(self, consumer: "Consumer") -> int | None:
        """Return how many messages a consumer has still to get; None: it has no place."""
        reader = self.readers.get(consumer)
        return None if reader is None else reader.lag

    def wake_readers(self) -> None:
        """Have consumers served at the end of this turn, if there are any."""
        if self.readers and not self.awake:
            self.wake()

    def deliver(self, now_ms: int, *, expire: bool = True) -> None:  # noqa: ARG002 - nothing expires by the message
        """Give each able consumer a turn's share of what it has not read."""
        again = False
        all_left = READERS_COST_MAX
        for consumer in self.consumers.served():
            reader = self.readers.get(consumer)
            if reader is None:
                continue
            if all_left <= 0:
                again = True
                break
            left = mine = min(TURN_COST_MAX, all_left)
            while left > 0 and (credit := consumer.credit()) > 0:
                cost = reader.serve(credit, left, now_ms)
                if not cost:
                    break
                left -= cost
            else:
                again = True
            all_left -= mine - left
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
        """Call `done` with runs from the one with an offset on, as far as consumers may have them; seqs are offsets.

        The first one may begin later, where messages are gone; none are left if there are no runs.
        """
        offset = max(offset, self.first_offset)
        pieces = self.pieces
        if offset >= self.next_offset or (pieces and pieces[0].offset <= offset and pieces[0].run is not None):
            pieces.seal()
            done(pieces.runs(offset, self.next_offset, octets_max))
        elif pieces and pieces[0].offset <= offset:
            self.look_again(lambda: self.read(offset, octets_max, done))
        else:
            clock = self.vhost.broker.clock
            self.files.read(
                offset,
                octets_max,
                lambda found: done(found if isinstance(found, BaseException) else on_clock(found, clock)),
            )

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
        self.pieces.forget(self.files.next_offset)
        self.streams.count_readers(-len(self.readers))
        self.readers.clear()
        for publisher in list(self.publishers):
            publisher.stream_gone()
        return 0

    def discard(self) -> None:
        """Remove the files: its row is gone."""
        self.pieces.forget(self.files.next_offset)  # if `purge` found no memory
        self.tracking.forget()
        self.streams.discard(self)

    def consumer_left(self, cause: "Cause") -> None:  # noqa: ARG002 - a stream has no auto-delete
        """Forget where consumers were that have gone."""
        for consumer in [consumer for consumer in self.readers if consumer.cancelled]:
            self.detach(consumer)

    def touch(self) -> None:
        """Change nothing: a stream does not expire."""

    # -- moving --------------------------------------------------------------------------------------------------------

    def movable(self, octets_max: int) -> "list[Piece]":
        """Return the oldest pieces that are committed and not in the files yet: one without contents comes alone."""
        return self.pieces.movable(self.files.next_offset, self.next_offset, octets_max)

    def end_of(self, position: int) -> int:
        """Return where what is committed with a position, or before, ends."""
        uncommitted = self._uncommitted
        return max([end for each, end in uncommitted if each <= position], default=self.next_offset)

    def moved(self, pieces: "list[Piece]") -> None:
        """Settle what is in the files; the oldest of it leaves the memory."""
        for piece in pieces:
            for first, last in () if piece.straight else piece.seqs:
                self.log.settle_seqs(self.id, first, last)
        self.pieces.moved(pieces)
        # Nobody waits for what all have read: a consumer that comes reads the files.
        read_to = min([reader.next_offset or 0 for reader in self.readers.values()], default=0)
        self.pieces.drop(self.files.next_offset, read_to, self.streams.cache_octets(self))

    # -- after a start -------------------------------------------------------------------------------------------------

    @property
    def due_times(self) -> tuple[int, ...]:
        """Nothing is due at a time: retention is looked at every ten seconds."""
        return ()

    def restore(self, parts: "list[Part]", others: int, returned: "Returned | None" = None) -> None:  # noqa: ARG002
        """Take what the log still has of it: what is in its files already is settled, the rest follows there."""
        recover.restore(self, parts)

    def recovered(self, pieces: "list[Piece]") -> None:
        """Take what the log still has, behind what is in the files; called once, before anything comes."""
        self.pieces.restore(pieces)
        if pieces:
            self.next_offset = self.end_offset = self.recovered_offset = pieces[-1].stop
            self.streams.move(self)

    def truncate(self, offset: int, done: "Callable[[BaseException | None], None]") -> None:
        """Let all messages below an offset go for good; call back with None, or an error."""
        self.streams.truncate(self, min(offset, self.next_offset), done)

    def __repr__(self) -> str:
        return f"stream '{self.name}' in vhost '{self.vhost.name}'"
