"""The null engine of streams: chunks that live as long as the process, for a broker without a disk."""

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from pybroker.entries_run import EntriesRun
from pybroker.store.streams.chunk_log import ChunkLog, Found

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.run import Run
    from pybroker.store.streams.chunk_log import Wanted
    from pybroker.store.streams.format import Chunk
    from pybroker.store.streams.reader import Rest
    from pybroker.store.streams.stored_entries import OpenSegment, StoredEntries


class MemoryStreamLog(ChunkLog):
    """Calls back at once. Each chunk is a segment."""

    def __init__(self) -> None:
        self._chunks: list[Chunk] = []
        self.first_offset = self.next_offset = self.last_seq = self.timestamp_ms = 0

    @property
    def octets(self) -> int:
        """Return what the contents take."""
        return sum([chunk.run.octets for chunk in self._chunks])

    @property
    def segment_count(self) -> int:
        """Return how many chunks there are."""
        return len(self._chunks)

    @property
    def first_timestamp_ms(self) -> int:
        """Return when the oldest chunk came."""
        return self._chunks[0].timestamp_ms if self._chunks else 0

    @property
    def last_chunk_offset(self) -> int:
        """Return where the last chunk begins."""
        return self._chunks[-1].run.first_seq if self._chunks else self.next_offset

    def append(
        self,
        chunks: "list[Chunk]",
        segment_octets_max: int,  # noqa: ARG002 - each chunk is a segment
        done: "Callable[[BaseException | None], None]",
    ) -> None:
        """Keep chunks."""
        self._chunks += chunks
        last = chunks[-1]
        self.next_offset = last.run.first_seq + last.run.count
        self.last_seq, self.timestamp_ms = last.last_seq, last.timestamp_ms
        done(None)

    def write_straight(
        self,
        chunks: "list[Chunk]",  # noqa: ARG002 - there is no log that would commit them
        segment_octets_max: int,  # noqa: ARG002
        done: "Callable[[BaseException | None], None]",  # noqa: ARG002
        *,
        synced: bool,  # noqa: ARG002
    ) -> bool:
        """Write nothing so."""
        return False

    def commit(self) -> None:
        """Do nothing: nothing was written straight."""

    def read(
        self,
        offset: int,
        octets_max: int,
        done: "Callable[[list[Run] | BaseException], None]",
        wanted: "Wanted | None" = None,  # noqa: ARG002 - all of it is in memory
    ) -> None:
        """Give runs from the one with an offset on. Their `arrived_ms` is wall time."""
        offset = max(offset, self.first_offset)
        at = max(0, bisect_right(self._chunks, offset, key=lambda chunk: chunk.run.first_seq) - 1)
        found: list[Run] = []
        for chunk in self._chunks[at:]:
            run = chunk.run
            if octets_max <= 0:
                break
            if run.first_seq + run.count > offset:
                copy = run.at(run.first_seq) if isinstance(run, EntriesRun) else run.part(range(run.count))
                copy.arrived_ms = chunk.timestamp_ms
                found.append(copy)
                octets_max -= run.octets
        done(found)

    def read_stored(
        self,
        offset: int,
        octets_max: int,
        done: "Callable[[Found | BaseException], None]",
        wanted: "Wanted | None" = None,
    ) -> None:
        """Do as `read`: all of it is in memory."""

        def read(found: "list[Run] | BaseException") -> None:
            done(found if isinstance(found, BaseException) else Found(found, None))

        self.read(offset, octets_max, read, wanted)

    def read_rest(
        self,
        chunk: "StoredEntries",
        at: int,
        segment: "OpenSegment | None",
        done: "Callable[[Rest | BaseException | None], None]",
    ) -> None:
        """Refuse: nobody was given such a chunk."""
        raise NotImplementedError(f"no entries of {chunk!r} are in {segment!r} from {at} on for {done!r}")

    def is_removed(self, segment: "OpenSegment") -> bool:
        """Refuse: nobody was given a segment."""
        raise NotImplementedError(f"{segment!r} is not of this stream")

    def release(self, segment: "OpenSegment") -> None:
        """Refuse: nobody was given a segment."""
        raise NotImplementedError(f"{segment!r} is not of this stream")

    def find_timestamp(self, timestamp_ms: int, done: "Callable[[int | BaseException], None]") -> None:
        """Give the offset of the first chunk that is not older."""
        at = bisect_left(self._chunks, timestamp_ms, key=lambda chunk: chunk.timestamp_ms)
        done(self._chunks[at].run.first_seq if at < len(self._chunks) else self.next_offset)

    def retain(
        self, octets_max: int | None, oldest_ms: int | None, done: "Callable[[int | BaseException], None]"
    ) -> None:
        """Forget the oldest chunks."""
        self._raise_floor(self.first_retained(octets_max, oldest_ms))
        count = self._outdated(octets_max, oldest_ms)
        del self._chunks[:count]
        done(count)

    def first_retained(self, octets_max: int | None, oldest_ms: int | None) -> int:
        """Return what `first_offset` would be after `retain` with the same limits."""
        count = self._outdated(octets_max, oldest_ms)
        return max(
            self.first_offset, self._chunks[count].run.first_seq if count < len(self._chunks) else self.next_offset
        )

    def _outdated(self, octets_max: int | None, oldest_ms: int | None) -> int:
        """Return how many of the oldest chunks are too much or too old."""
        octets = self.octets
        for at, chunk in enumerate(self._chunks):
            too_much = octets_max is not None and octets > octets_max and at < len(self._chunks) - 1
            if not too_much and (oldest_ms is None or chunk.timestamp_ms >= oldest_ms):
                return at
            octets -= chunk.run.octets
        return len(self._chunks)

    def truncate(self, offset: int, done: "Callable[[BaseException | None], None]") -> None:
        """Forget what is below."""
        self._raise_floor(offset)
        self._chunks = [chunk for chunk in self._chunks if chunk.run.first_seq + chunk.run.count > offset]
        done(None)

    def _raise_floor(self, offset: int) -> None:
        self.first_offset = max(self.first_offset, min(offset, self.next_offset))

    def delete(self, done: "Callable[[BaseException | None], None]") -> None:
        """Forget everything."""
        self._chunks = []
        done(None)
