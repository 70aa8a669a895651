"""Straight: entries that are written into the files of their stream before the log commits them, and by the log never.

Otherwise each octet is written three times: zeros and the message in the log, and the message once more when it moves.
Of a batch that is being closed the few streams that have much in it are written first, with all of theirs that has not
moved; then the log commits the rest of the batch, with a mark for each of these streams (store/streams/straight.py).
So there is one order and one commit position for all, and what a client noted with its messages stays with them. If
the files cannot be written the messages go with the batch as usual.

Nobody is told of a message, and no reader has it, before the position is completed.
"""

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from pybroker.core.settings import DISK
from pybroker.entries_run import EntriesRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.stream.pieces.piece import Piece
    from pybroker.core.stream.stream import Stream
    from pybroker.core.stream.streams import Streams
    from pybroker.store.journal.batch_builder import BatchBuilder

# Of a stream in one batch; a sync of less costs more than writing it twice.
OCTETS_MIN: Final = 131_072
# In one batch: the streams are synced one after the other, and the batch waits for them.
STREAMS_MAX: Final = 4
# Other streams that move, lose what is too old, or are being made: they come first, in the same thread, and the batch
# would wait for all.
OTHERS_MAX: Final = 2
# Left from before, which has not moved: a batch does not wait for more of it.
BEFORE_OCTETS_MAX: Final = 4_194_304


class Write:
    """One write into the files of a stream: of `pieces`, which are committed with `position`; `seq` is its last one."""

    __slots__ = ("pieces", "position", "seq", "stream")

    def __init__(self, stream: "Stream", position: int, seq: int) -> None:
        self.stream = stream
        self.position = position
        self.seq = seq
        self.pieces: list[Piece] = []

    @property
    def chunks_octets(self) -> int:
        """Return about how many octets its chunks have."""
        return sum([piece.octets for piece in self.pieces])


class Straight:
    """The writes of a node that are under way. No stream has two, and nothing else is written to its files then."""

    __slots__ = ("_batch", "_left", "_streams", "_waiting", "_writes", "writes_total")

    def __init__(self, streams: "Streams") -> None:
        self._streams = streams
        self._batch: tuple[BatchBuilder, Callable[[], None]] | None = None
        self._left: list[Write] = []  # of the batch that is being closed
        self._waiting: dict[Stream, Write] = {}  # until what moves is on disk
        self._writes: dict[Stream, Write] = {}  # on disk, and not committed
        self.writes_total = 0

    def log_closing(self, position: int, builder: "BatchBuilder", done: "Callable[[], None]") -> bool:
        """Write much of a batch into files first, and call back; tell whether there is so much."""
        if builder.octets < OCTETS_MIN:
            return False
        assert self._batch is None
        sizes = {stream: stream.pieces.octets_of(position) for stream in self._streams.uncommitted}
        large = sorted((each for each in sizes if sizes[each] >= OCTETS_MIN), key=sizes.__getitem__, reverse=True)
        large = large[:STREAMS_MAX]
        if self._must_queue(large):
            return False
        self._batch = builder, done
        # Each has a seq now: above those of the batch's messages, below all others.
        self._left = [Write(stream, position, stream.log.take(1)) for stream in large]
        for write in list(self._left):
            if self._streams.is_appending(write.stream):
                self._waiting[write.stream] = write
            elif not self._begin(write):
                self._left.remove(write)
        if not self._left:
            self._batch = None
        return bool(self._left)

    def _must_queue(self, writing: "list[Stream]") -> bool:
        """Tell whether much is done with the files of streams beside those that are to be written straight."""
        # A stream that is written straight already does not keep the thread: it waits for the log.
        others = (each for each in self._streams.busy() if each not in writing and each not in self._writes)
        return any(True for _ in islice(others, OTHERS_MAX, None))

    def move_ended(self, stream: "Stream") -> bool:
        """Learn that nothing is being written to a stream's files; tell whether a straight write is, now."""
        write = self._waiting.pop(stream, None)
        if write is None:
            return False
        # If it breaks off nobody knows whether the batch may go on.
        with stream.log.together():
            begun = self._begin(write)
        if not begun:
            self._end(write)
        return begun

    def _begin(self, write: Write) -> bool:
        """Have all of a stream written that has not moved, if that can be; tell whether it can."""
        stream = write.stream
        if (
            stream.deleted
            or not self._streams.may_write(stream)
            or self._must_queue([each.stream for each in self._left])
        ):
            return False
        stop = stream.end_of(write.position)
        pieces = write.pieces = stream.pieces.movable(stream.files.next_offset, stop, 1 << 62)
        if not pieces or pieces[-1].stop != stop:
            return False  # of what a start found not all is read back yet
        before = sum([piece.octets for piece in pieces if piece.position != write.position])
        if (
            any(piece.run is None for piece in pieces)
            or before > BEFORE_OCTETS_MAX
            or write.chunks_octets > stream.segment_octets_max
        ):
            return False
        chunks = self._streams.chunks_of(stream, pieces)
        chunks[-1] = chunks[-1]._replace(last_seq=write.seq)
        # Messages that are synced in the log stay so, as do those of AMQP, which are always synced.
        fast = all(piece.position == write.position and isinstance(piece.run, EntriesRun) for piece in pieces)
        synced = not fast or stream.vhost.broker.settings.stream_durability == DISK
        done = partial(self._written, write)
        if not stream.files.write_straight(chunks, stream.segment_octets_max, done, synced=synced):
            return False
        self._streams.begin_writing(stream)
        return True

    def _written(self, write: Write, error: BaseException | None) -> None:
        assert self._batch is not None
        stream, builder = write.stream, self._batch[0]
        # All of it or none: the batch must not be committed without the entries, and without the mark.
        with stream.log.together():
            if error is not None:
                self._streams.end_writing(stream, error, [])
            else:
                builder.withdraw_entries(stream.id)
                stream.tracking.mark(builder, write.pieces[-1].stop, write.seq)
                for piece in write.pieces:
                    if piece.position == write.position and isinstance(piece.run, EntriesRun):
                        piece.go_straight()
                self._writes[stream] = write
                self.writes_total += 1
        self._end(write)

    def _end(self, write: Write) -> None:
        self._left.remove(write)
        if not self._left and self._batch is not None:
            (_, done), self._batch = self._batch, None
            done()

    def log_completed(self, position: int) -> None:
        """Let files have what is committed."""
        for stream, write in list(self._writes.items()):
            if write.position <= position:
                del self._writes[stream]
                stream.files.commit()
                self._streams.end_writing(stream, None, write.pieces)
