"""Streams: the mover, retention, and whatever else the streams of a node share.

A stream's messages are committed by the node's log. When enough of them have gathered, or the oldest has waited a
minute, they are written into the stream's files and synced, and only then settled in the log: a crash between the two
leaves them in both, and the files' last seq tells.
"""

from contextlib import contextmanager
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final

from pybroker.core.channel.offset_sweeper import OffsetSweeper
from pybroker.core.stream.conversion.conversion import Conversion
from pybroker.core.stream.filter import bloom_of_run
from pybroker.core.stream.group import Groups
from pybroker.core.stream.pieces.load import Loads
from pybroker.core.stream.pieces.straight import Straight
from pybroker.core.stream.shared_reads import SharedReads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.core.broker import Broker
    from pybroker.core.policy.limits import QueueLimits
    from pybroker.core.stream.facts import StreamFacts
    from pybroker.core.stream.pieces.piece import Piece
    from pybroker.core.stream.stream import Stream
    from pybroker.store.streams.chunk_log import ChunkLog
    from pybroker.store.streams.format import Chunk

    # Makes the files of a new stream, by its id, and calls back with them.
    OpenFiles = Callable[[int, Callable[[ChunkLog | BaseException], None]], None]

# A stream's messages move when they have so many octets, or all streams' together, or after so long.
STREAM_OCTETS: Final = 262_144
NODE_OCTETS: Final = 10_485_760
# While all have so many, those of each become fewer and fuller pieces.
MERGE_OCTETS: Final = 3_145_728
MOVE_MS: Final = 60_000
# So many at once for want of memory, or for their age: the disk has others to serve.
MOVES_MAX: Final = 16
# Of one move. A new segment takes some syncs, and other streams wait behind them.
MOVE_OCTETS_MAX: Final = 4_194_304
MOVE_SEGMENTS_MAX: Final = 16
# Octets that have moved stay in memory for readers near the end: of one stream that has some, and of all.
CACHED_OCTETS_MAX: Final = 4_194_304
NODE_CACHED_OCTETS_MAX: Final = 67_108_864
# While so much has not moved, publishers are not read.
PENDING_OCTETS_MAX: Final = 134_217_728
RETAIN_MS: Final = 10_000
# So long chunks whose entries stay in the files are known to be sound.
SOUND_MS: Final = 30_000
# Of a segment file, if neither an argument nor a policy says; of a bounded stream, a part of what it may have.
SEGMENT_OCTETS: Final = 500_000_000
SEGMENTS_MIN: Final = 8
# Less would make a file of each chunk.
SEGMENT_OCTETS_MIN: Final = 4_096


class Streams:
    """`pending` and `cached` are the octets of all pieces that have not moved, and of those that have.

    `known` are all that are not deleted, `uncommitted` those that wait for the log; `again` is called at the next tick,
    and `trackers` store offsets at each.
    Without `open_files` a stream lives as long as the process.
    """

    __slots__ = (
        "_broker",
        "_gathering",
        "_leaving",
        "_loads",
        "_moving",
        "_retain_ms",
        "_retaining",
        "_save",
        "_sound_ms",
        "again",
        "cached",
        "conversion",
        "groups",
        "known",
        "open_files",
        "pending",
        "readers",
        "shared_reads",
        "straight",
        "trackers",
        "uncommitted",
    )

    def __init__(self, broker: "Broker", save: "Callable[[Stream], int]") -> None:
        self._broker = broker
        self._save = save  # a stream's row
        self.known: dict[Stream, None] = {}
        self._gathering: dict[Stream, int] = {}  # since when there is something to move, the longest time first
        self._moving: dict[Stream, bool] = {}  # whether messages are written to its files, which are there
        self._loads = Loads(self)
        self.straight = Straight(self)
        self._retaining: dict[Stream, None] = {}  # whose files are being looked at
        self._retain_ms = self._sound_ms = 0
        self.uncommitted: dict[Stream, None] = {}
        self.again: list[Callable[[], None]] = []
        self.trackers = OffsetSweeper(broker.turn)
        self.pending = self.cached = self.readers = 0
        self.shared_reads = SharedReads()
        self._leaving: dict[Stream, int] = {}  # deleted ones, and the commit position of the definitions
        self.open_files: OpenFiles | None = None
        self.groups = Groups()
        self.conversion = Conversion(self._unopened)

    @property
    def is_behind(self) -> bool:
        """Tell whether the disk has to catch up before more is published."""
        return self.pending > PENDING_OCTETS_MAX

    @property
    def are_crowded(self) -> bool:
        """Tell whether so much is in memory that small pieces are to become larger ones."""
        return self.pending >= MERGE_OCTETS

    @property
    def may_load_ahead(self) -> bool:
        """Tell whether there is room in memory for contents that cannot move yet."""
        return self.pending < NODE_OCTETS

    @property
    def moves(self) -> int:
        """Return with how many streams' files something is done, without removals."""
        return len(self._moving)

    @property
    def has_caught_up(self) -> bool:
        """Tell whether publishers that waited for that may go on."""
        return self.pending <= PENDING_OCTETS_MAX // 2

    def log_completed(self, position: int) -> None:
        """Let consumers have what is on disk by now, and files what went straight into them."""
        self.straight.log_completed(position)
        for stream in list(self.uncommitted):
            if stream.log_completed(position):
                del self.uncommitted[stream]

    def count(self, pending: int, cached: int) -> None:
        """Count octets that came, moved or left the memory."""
        self.pending += pending
        self.cached += cached

    def count_readers(self, more: int) -> None:
        """Count consumers that came or left."""
        self.readers += more

    def tick(self) -> None:
        """Do what is due about once a second."""
        now_ms = self._broker.clock.now_ms
        calls, self.again = self.again, []
        while calls:
            call = calls.pop(0)
            try:
                call()
            except Exception:
                # The others must not be lost with it, nor itself.
                self.again += (*calls, call)
                raise
        self.trackers.start()
        if self.readers:
            self.shared_reads.release_removed()
        else:
            self.shared_reads.clear()
        if now_ms - self._sound_ms >= SOUND_MS:
            self._sound_ms = now_ms
            self.shared_reads.forget_stored()
        self._move_oldest(lambda since_ms: now_ms - since_ms >= MOVE_MS)
        if now_ms - self._retain_ms >= RETAIN_MS:
            self._retain_ms = now_ms
            for stream in list(self.known):
                self.retain(stream)

    def _unopened(self, stream: "StreamFacts") -> None:
        text = f"messages of {stream!r} are in sub-batches that cannot be opened: only its stream clients get them"
        self._broker.warn("stream.unopened", f"codec of {stream.id}", text, vhost=stream.vhost.name, queue=stream.name)

    # -- files ---------------------------------------------------------------------------------------------------------

    def open(self, stream: "Stream") -> None:
        """Have the files of a new stream made; until then nothing moves."""
        if self.open_files is not None:
            with self._working(stream, is_written=False):
                self.open_files(stream.id, partial(self._opened, stream))

    def _opened(self, stream: "Stream", found: "ChunkLog | BaseException") -> None:
        if isinstance(found, BaseException):
            self._write_late(stream, found)
            if stream.deleted:
                self._moving.pop(stream, None)
            else:
                self.again.append(partial(self.open, stream))
            return
        self._moving.pop(stream, None)
        stream.use_files(found)
        if stream.deleted:
            self.discard(stream)
            return
        stream.note_files()
        self._save(stream)
        self.move(stream)

    def discard(self, stream: "Stream") -> None:
        """Forget a stream that is deleted; its files go when that is on disk: a crash brings back both, or none."""
        self.known.pop(stream, None)
        self._gathering.pop(stream, None)
        self.uncommitted.pop(stream, None)
        self.shared_reads.forget(stream)
        self.conversion.forget(stream)
        # Once only, though its files may have been made since.
        self._leaving.setdefault(stream, self._broker.definitions.commit_position)
        self.definitions_completed()

    def definitions_completed(self) -> None:
        """Learn that definitions are on disk."""
        leaving, completed = self._leaving, self._broker.definitions.completed
        for stream in list(takewhile(lambda each: leaving[each] <= completed, leaving)):
            del leaving[stream]
            stream.files.delete(partial(self._removed, stream))

    def _removed(self, stream: "Stream", error: "BaseException | None") -> None:
        if error is not None:
            text = f"cannot remove the files of {stream!r}, which is deleted; the next start does: {error}"
            self._broker.warn("stream.remove_failed", f"stream {stream.id}", text)

    # -- moving --------------------------------------------------------------------------------------------------------

    def appended(self, stream: "Stream") -> None:
        """Learn that a stream has more, or more of it on disk; move if that is enough."""
        if stream not in self._gathering:
            self._gathering[stream] = self._broker.clock.now_ms
        if stream.pending >= STREAM_OCTETS:
            self.move(stream)
        elif self.pending >= NODE_OCTETS:
            self._move_oldest(lambda _: self.pending >= NODE_OCTETS)

    def _move_oldest(self, is_due: "Callable[[int], bool]") -> None:
        """Move streams that have had something for the longest time, by when that was, a few at a time."""
        due = takewhile(lambda each: is_due(self._gathering[each]), self._gathering)
        for stream in list(islice(due, max(0, MOVES_MAX - len(self._moving)))):
            self.move(stream)

    def move(self, stream: "Stream") -> None:
        """Write what is committed into the stream's files, unless that is being done."""
        if stream in self._moving or stream.deleted:
            return
        pieces = stream.movable(min(MOVE_OCTETS_MAX, MOVE_SEGMENTS_MAX * stream.segment_octets_max))
        if not pieces:
            return
        if pieces[0].run is None:
            self._loads.begin(stream, pieces[0])
            return
        with self._working(stream, is_written=True):
            chunks = self.chunks_of(stream, pieces)
            stream.files.append(chunks, stream.segment_octets_max, partial(self._moved, stream, pieces))

    @contextmanager
    def _working(self, stream: "Stream", *, is_written: bool) -> "Iterator[None]":
        """Note that something is done with a stream's files, unless memory is too short for it to begin."""
        self._moving[stream] = is_written
        try:
            yield
        except Exception:
            self._moving.pop(stream, None)
            raise

    def chunks_of(self, stream: "Stream", pieces: "list[Piece]") -> "list[Chunk]":
        """Return pieces as the files of a stream take them; all of their contents are in memory."""
        octets = stream.limits.filter_octets
        return [piece.chunk(bloom_of_run(piece.run, octets)) for piece in pieces if piece.run is not None]

    def _moved(self, stream: "Stream", pieces: "list[Piece]", error: "BaseException | None") -> None:
        self._moving.pop(stream, None)
        try:
            if error is None and not stream.deleted:
                self._count_moved(stream, pieces)
        finally:
            # A batch of the log may wait for this.
            begun = self.straight.move_ended(stream)
        if begun or stream.deleted:
            return
        if error is not None:
            self._write_late(stream, error)
            self.again.append(partial(self.move, stream))
            return
        self._move_on(stream)

    def _count_moved(self, stream: "Stream", pieces: "list[Piece]") -> None:
        stream.moved(pieces)
        self._gathering.pop(stream, None)
        if stream.pending:
            self._gathering[stream] = self._broker.clock.now_ms

    def _move_on(self, stream: "Stream") -> None:
        # Messages that a start found move on in any case: consumers wait for the contents of the last ones.
        if stream.pending >= STREAM_OCTETS or stream.files.next_offset < stream.recovered_offset:
            self.move(stream)
            self._loads.begin_ahead(stream)
        self._move_oldest(lambda _: self.pending >= NODE_OCTETS)

    # -- straight writes -----------------------------------------------------------------------------------------------

    def is_appending(self, stream: "Stream") -> bool:
        """Tell whether messages are just being moved into a stream's files: that comes to an end soon."""
        return self._moving.get(stream, False)

    def busy(self) -> "Iterator[Stream]":
        """Yield the streams with whose files something is done, removals of what is too old or too much as well."""
        yield from self._moving
        for stream in self._retaining:
            if stream not in self._moving:
                yield stream

    def may_write(self, stream: "Stream") -> bool:
        """Tell whether nothing is done with the files of a stream."""
        return stream not in self._moving

    def begin_writing(self, stream: "Stream") -> None:
        """Learn that messages go straight into the files: nothing moves meanwhile."""
        self._moving[stream] = False

    def end_writing(self, stream: "Stream", error: "BaseException | None", pieces: "list[Piece]") -> None:
        """Learn that they are committed, or that with an error they are not there."""
        self._moving.pop(stream, None)
        if stream.deleted:
            return
        if error is not None:
            self._write_late(stream, error)
            self.again.append(partial(self.move, stream))
            return
        self._count_moved(stream, pieces)
        self._move_on(stream)

    def _write_late(self, stream: "Stream", error: BaseException) -> None:
        text = f"cannot write the files of {stream!r}, which is tried again each second: {error}"
        vhost, name = stream.vhost.name, stream.name
        self._broker.warn("stream.write.late", f"stream {stream.id}", text, vhost=vhost, queue=name)

    def cache_octets(self, stream: "Stream") -> int:
        """Return how much of what has moved stays in memory for a stream's readers."""
        return CACHED_OCTETS_MAX if stream.readers and self.cached <= NODE_CACHED_OCTETS_MAX else 0

    # -- retention -----------------------------------------------------------------------------------------------------

    def retain_soon(self, stream: "Stream") -> None:
        """Have a stream's limits applied at the next tick."""
        self.known[stream] = None
        self._retain_ms = 0

    def retain(self, stream: "Stream") -> None:
        """Remove the segments that are too much or too old."""
        limits = stream.limits
        if stream in self._retaining or stream.deleted or (limits.octets_max is None and limits.age_max_ms is None):
            return
        self._retaining[stream] = None
        try:
            # Differs from RabbitMQ: the segment that is written to goes by age as well.
            stream.files.retain(limits.octets_max, stream.oldest_retained_ms(limits), partial(self._retained, stream))
        except Exception:
            self._retaining.pop(stream, None)
            raise

    def _retained(self, stream: "Stream", found: "int | BaseException") -> None:
        self._retaining.pop(stream, None)
        if not isinstance(found, int):
            text = f"cannot remove old segments of {stream!r}, which is tried again: {found}"
            self._broker.warn("stream.retain_failed", f"stream {stream.id}", text)

    def truncate(self, stream: "Stream", offset: int, done: "Callable[[BaseException | None], None]") -> None:
        """Remove all below an offset, once what is to stay is in the files.

        `done` is not called if the stream is deleted meanwhile.
        """
        if stream.deleted:
            return
        if offset <= stream.files.next_offset:
            stream.files.truncate(offset, done)
            return
        self.move(stream)
        self.again.append(partial(self.truncate, stream, offset, done))


def segment_octets(limits: "QueueLimits") -> int:
    """Return how large a segment file of a stream with these limits becomes."""
    octets = limits.segment_octets_max
    if octets is None:
        octets = SEGMENT_OCTETS if limits.octets_max is None else min(SEGMENT_OCTETS, limits.octets_max // SEGMENTS_MIN)
    # Differs from RabbitMQ: its segments have 500 MB in a stream that is to have less, too, and any size asked for.
    return max(SEGMENT_OCTETS_MIN, octets)
