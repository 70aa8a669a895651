"""Facts of a stream for operators: where it was at a time, how old its messages are, and the messages themselves."""

from typing import TYPE_CHECKING, Any

from pybroker.core.auth.permissions import READ, check
from pybroker.core.queue.browse.peek import Wish, wanted_of
from pybroker.core.queue.queue import Queue
from pybroker.core.stream.browse import browse
from pybroker.core.stream.documents import Wanted, documents
from pybroker.core.stream.streams import segment_octets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.core.auth.users import User
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.policy.limits import QueueLimits
    from pybroker.core.stream.pieces.pieces import Pieces
    from pybroker.core.stream.reader import Reader
    from pybroker.core.stream.streams import Streams
    from pybroker.offset_spec import OffsetSpec
    from pybroker.run import Run
    from pybroker.store.streams.chunk_log import ChunkLog


class StreamFacts(Queue):
    """The part of `Stream` that changes nothing of it. Times are wall times, exact to the chunk; 0: there is none."""

    __slots__ = ()

    files: "ChunkLog"
    next_offset: int
    pieces: "Pieces"
    readers: "dict[Consumer, Reader]"

    @property
    def streams(self) -> "Streams":
        """Return the owner of what all streams share."""
        return self.vhost.broker.streams

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
        return sum([piece.stop - piece.offset for piece in self.pieces.resident])

    @property
    def octets_resident(self) -> int:
        """Return the octets of these."""
        return sum([run.octets for run in self._runs])

    @property
    def _runs(self) -> "list[Run]":
        return [piece.run for piece in self.pieces if piece.run is not None]

    @property
    def memory_octets(self) -> int:
        """Return about what its messages take in memory."""
        held = sum([run.held_octets for run in self._runs])
        return held + sum([run.held_octets for reader in self.readers.values() for run in reader.ahead])

    @property
    def runs_in_memory(self) -> "Iterator[Run]":
        """Yield the runs that are held in memory, for its readers or until they move."""
        yield from self._runs
        for reader in list(self.readers.values()):
            yield from list(reader.ahead)

    @property
    def pending(self) -> int:
        """Return the octets of what has not moved into its files."""
        return self.pieces.pending

    def read(self, offset: int, octets_max: int, done: "Callable[[list[Run] | BaseException], None]") -> None:
        """Call `done` with runs from the one with an offset on, as far as consumers may have them.

        They are chunks, or become one: each read gives the same. Their `first_seq` is an offset.

        The first one may begin later, where messages are gone; none are left if there are no runs.
        """
        raise NotImplementedError

    def peek(
        self, user: "User | None", pause: "Callable[[float], object]", **wish: Any
    ) -> "Iterator[list[dict[str, Any]]]":
        """Yield messages as documents, as a queue does; their seqs are their offsets."""
        check(user, self.vhost.name, READ, "queue", self.name)
        wanted = Wish(**wish)
        return wanted_of(browse(self, wanted, pause), self, wanted, pause)

    def documents(
        self, user: "User | None", pause: "Callable[[float], object]", **wish: Any
    ) -> "Iterator[list[dict[str, Any]]]":
        """Yield its messages as documents, as `Wanted` with these fields says; `pause` lets others go on.

        Raises AccessRefused (403): `user` may not read it; InternalError (541): the disk fails.
        """
        check(user, self.vhost.name, READ, "queue", self.name)
        return documents(self, Wanted(**wish), pause)

    def reading_failed(self, error: BaseException) -> None:
        """Tell operators that its files cannot be read now."""
        text = f"cannot read {self!r} now, which is tried again each second: {error}"
        self.vhost.broker.warn("stream.read.late", f"stream {self.id}", text, vhost=self.vhost.name, queue=self.name)

    def offset_of(self, spec: "OffsetSpec") -> int | None:
        """Return the offset of a place, whether there is a message or not; None if that is a matter of time."""
        if spec.offset is not None:
            return spec.offset if spec.offset >= 0 else max(self.first_offset, self.next_offset + spec.offset)
        named = {"first": self.first_offset, "last": self.last_chunk_offset, "next": self.next_offset}
        return named.get(spec.name)

    def timestamp_ms_of(self, spec: "OffsetSpec") -> int:
        """Return the wall time that a place means."""
        if spec.age_ms is not None:
            return self.vhost.broker.clock.timestamp_ms - spec.age_ms
        return spec.timestamp_ms or 0

    def locate(self, spec: "OffsetSpec", done: "Callable[[int | BaseException], None]") -> None:
        """Call `done` with the offset of a place; times may have to be looked up on disk."""
        offset = self.offset_of(spec)
        if offset is not None:
            done(offset)
        else:
            self.find(self.timestamp_ms_of(spec), done)

    def find(self, timestamp_ms: int, done: "Callable[[int | BaseException], None]") -> None:
        """Call `done` with the offset of the first chunk that is not older than a time; the next offset if all are."""
        pieces = self.pieces
        if not pieces or (pieces[0].timestamp_ms >= timestamp_ms and pieces[0].offset > self.first_offset):
            # An earlier one may be young enough.
            self.files.find_timestamp(timestamp_ms, done)
            return
        done(next((piece.offset for piece in pieces if piece.timestamp_ms >= timestamp_ms), self.next_offset))

    @property
    def max_lag(self) -> int:
        """Return how many messages its slowest consumer has still to get; 0: it has none."""
        return max([reader.lag for reader in self.readers.values()], default=0)

    @property
    def octets(self) -> int:
        """Return what its messages take on disk, or will."""
        return self.files.octets + self.pieces.pending

    @property
    def segment_octets_max(self) -> int:
        """Return how large a segment becomes."""
        return segment_octets(self.limits)

    def oldest_retained_ms(self, limits: "QueueLimits") -> int | None:
        """Return the time before which messages are too old by these limits; None if none is."""
        return None if limits.age_max_ms is None else self.vhost.broker.clock.timestamp_ms - limits.age_max_ms

    def surplus(self, limits: "QueueLimits") -> int:
        """Return how many messages retention would remove by these limits, of what is in the files now."""
        first_offset = self.files.first_retained(limits.octets_max, self.oldest_retained_ms(limits))
        return max(0, min(first_offset, self.next_offset) - self.first_offset)

    @property
    def oldest_ms(self) -> int:
        """Return when the oldest messages came; when their segment began, if that was truncated since."""
        if self.messages == 0:
            return 0
        pieces = self.pieces
        if pieces and pieces[0].offset <= self.first_offset:
            return next(piece.timestamp_ms for piece in reversed(pieces) if piece.offset <= self.first_offset)
        return self.files.first_timestamp_ms

    @property
    def newest_ms(self) -> int:
        """Return when the newest messages came that can be read."""
        if self.messages == 0:
            return 0
        readable = (piece.timestamp_ms for piece in reversed(self.pieces) if piece.offset < self.next_offset)
        return next(readable, self.files.timestamp_ms)
