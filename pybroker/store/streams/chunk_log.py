"""ChunkLog: the core's interface to one stream's own files. Offsets, chunks, and which of them are kept.

`memory.py` is the null engine, `stream_log.py` the one on disk. Calls return at once; `done` is called later, or at
once where nothing has to be waited for.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.run import Run
    from pybroker.store.streams.format import Chunk
    from pybroker.store.streams.reader import Rest
    from pybroker.store.streams.stored_entries import OpenSegment, StoredEntries

    # Tells by its bloom whether a chunk may have messages that are wanted.
    Wanted = Callable[[bytes | None], bool]


class Found(NamedTuple):
    """Runs, and the segment that has the entries of some of them, if there are such."""

    runs: "list[Run]"
    segment: "OpenSegment | None"


class ChunkLog:
    """Messages `first_offset .. next_offset - 1` are kept; in between some may be missing, if they were damaged.

    `last_seq` and `timestamp_ms` are those of the last chunk, 0: there was none.
    """

    first_offset: int
    next_offset: int
    last_seq: int
    timestamp_ms: int

    @property
    def octets(self) -> int:
        """Return what the files take."""
        raise NotImplementedError

    @property
    def segment_count(self) -> int:
        """Return how many segments there are."""
        raise NotImplementedError

    @property
    def first_timestamp_ms(self) -> int:
        """Return when the oldest segment began, as wall time; 0: there is no message."""
        raise NotImplementedError

    @property
    def last_chunk_offset(self) -> int:
        """Return where the last chunk begins; `next_offset` if there is none."""
        raise NotImplementedError

    def append(
        self, chunks: "list[Chunk]", segment_octets_max: int, done: "Callable[[BaseException | None], None]"
    ) -> None:
        """Write and sync chunks; a segment that has so many octets is followed by a new one.

        With an error nothing of it counts, and the caller may try again.
        """
        raise NotImplementedError

    def write_straight(
        self,
        chunks: "list[Chunk]",
        segment_octets_max: int,
        done: "Callable[[BaseException | None], None]",
        *,
        synced: bool,
    ) -> bool:
        """Write chunks that are not committed yet, and count them when `commit` is called.

        If they are not to be `synced`, a loss of power may take them, committed or not.
        False: there is no such way, and nothing is called. With an error nothing of it is ever counted.
        """
        raise NotImplementedError

    def commit(self) -> None:
        """Count what was written straight."""
        raise NotImplementedError

    def read(
        self,
        offset: int,
        octets_max: int,
        done: "Callable[[list[Run] | BaseException], None]",
        wanted: "Wanted | None" = None,
    ) -> None:
        """Give runs from the one with an offset on, or from the first one behind it; none at the end.

        If chunks are `wanted` by their blooms, others may be passed over: a run without entries is in their place.
        """
        raise NotImplementedError

    def read_stored(
        self,
        offset: int,
        octets_max: int,
        done: "Callable[[Found | BaseException], None]",
        wanted: "Wanted | None" = None,
    ) -> None:
        """Do as `read`, but entries of large chunks may stay where they are: then their segment is given as well."""
        raise NotImplementedError

    def read_rest(
        self,
        chunk: "StoredEntries",
        at: int,
        segment: "OpenSegment | None",
        done: "Callable[[Rest | BaseException | None], None]",
    ) -> None:
        """Give entries of a chunk that stayed where it was, from the octet `at` on; None if they are lost.

        A segment that is open is read even if it was removed.
        """
        raise NotImplementedError

    def is_removed(self, segment: "OpenSegment") -> bool:
        """Tell whether a segment was removed that is still open."""
        raise NotImplementedError

    def release(self, segment: "OpenSegment") -> None:
        """Let a segment go, in a thread: if nobody else has it and it was removed, the system frees it then."""
        raise NotImplementedError

    def find_timestamp(self, timestamp_ms: int, done: "Callable[[int | BaseException], None]") -> None:
        """Give the offset of the first chunk that is not older; `next_offset` if all are."""
        raise NotImplementedError

    def retain(
        self, octets_max: int | None, oldest_ms: int | None, done: "Callable[[int | BaseException], None]"
    ) -> None:
        """Remove the oldest segments while there are more octets, but for the last one, and those older than a time.

        Gives how many were removed.
        """
        raise NotImplementedError

    def first_retained(self, octets_max: int | None, oldest_ms: int | None) -> int:
        """Return what `first_offset` would be after `retain` with the same limits."""
        raise NotImplementedError

    def truncate(self, offset: int, done: "Callable[[BaseException | None], None]") -> None:
        """Keep nothing below an offset; gives None, or an error."""
        raise NotImplementedError

    def delete(self, done: "Callable[[BaseException | None], None]") -> None:
        """Remove everything."""
        raise NotImplementedError
