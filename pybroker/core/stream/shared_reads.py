"""SharedReads: chunks found in streams' files lately, for readers that follow each other: each is checked once.

Chunks do not change, so nothing here is ever wrong; what is below a stream's first offset nobody asks for. Entries of
large chunks stay in the files, of which some are open here: what the system still has in memory of those was sound when
it was read from the disk.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.core.peer.slice_buffers import SliceBuffers
from pybroker.store.streams.stored_entries import STORED_OCTETS, StoredEntries

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.stream.filter import Filters
    from pybroker.core.stream.stream import Stream
    from pybroker.run import Run
    from pybroker.store.streams.chunk_log import Found
    from pybroker.store.streams.stored_entries import OpenSegment

    Done = Callable[[list[Run] | BaseException], None]
    # A stream, an offset, whether entries may stay in the files, and which chunks may be passed over.
    Key = tuple[int, int, bool, Filters | None]

# Of all streams.
SHARED_OCTETS_MAX: Final = 16_777_216
SEGMENTS_MAX: Final = 64


class SharedReads:
    """`octets` are what all chunks that are kept take in memory; into `buffers` readers read for themselves."""

    __slots__ = ("_kept", "_segments", "_waiting", "buffers", "octets")

    def __init__(self) -> None:
        self._kept: dict[Key, list[Run]] = {}  # the longest unused first
        self._waiting: dict[Key, list[Done]] = {}
        self._segments: dict[tuple[int, int], OpenSegment] = {}  # by stream and first offset, the longest unused first
        self.buffers = SliceBuffers()
        self.octets = 0

    def read(
        self,
        stream: "Stream",
        offset: int,
        octets_max: int,
        done: "Done",
        filters: "Filters | None" = None,
        *,
        stored: bool = False,
    ) -> None:
        """Call `done` as a stream's files do, with chunks that are not to be changed; some of them may be `stored`."""
        key = stream.id, offset, stored, filters
        wanted = None if filters is None else filters.may_match
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._kept[key] = kept
            done(kept)
        elif key in self._waiting:
            self._waiting[key].append(done)
        else:
            self._waiting[key] = [done]
            if stored:
                stream.files.read_stored(offset, octets_max, partial(self._found, stream, key), wanted)
            else:
                stream.files.read(offset, octets_max, partial(self._read, stream, key), wanted)

    def _found(self, stream: "Stream", key: "Key", found: "Found | BaseException") -> None:
        if isinstance(found, BaseException):
            self._read(stream, key, found)
            return
        if found.segment is not None:
            self.keep_open(stream, found.segment)
        self._read(stream, key, found.runs)

    def _read(self, stream: "Stream", key: "Key", found: "list[Run] | BaseException") -> None:
        waiting = self._waiting.pop(key)
        if not isinstance(found, BaseException) and found and not stream.deleted:
            if len(stream.readers) > 1 or all(isinstance(run, StoredEntries) for run in found):
                self._kept[key] = found
                self.octets += _octets(found)
            while self.octets > SHARED_OCTETS_MAX:
                self._drop(next(iter(self._kept)))
        for done in waiting:
            done(found)

    def _drop(self, key: "Key") -> None:
        self.octets -= _octets(self._kept.pop(key))

    # -- segments ------------------------------------------------------------------------------------------------------

    def segment(self, stream: "Stream", chunk: StoredEntries) -> "OpenSegment | None":
        """Return the segment with the entries of a chunk, if it is open."""
        key = stream.id, chunk.segment
        segment = self._segments.pop(key, None)
        if segment is not None:
            self._segments[key] = segment
        return segment

    def keep_open(self, stream: "Stream", segment: "OpenSegment") -> None:
        """Have a segment open for the chunks that are read next."""
        key = stream.id, segment.first_offset
        if key not in self._segments and not stream.deleted:
            self._segments[key] = segment
            if len(self._segments) > SEGMENTS_MAX:
                del self._segments[next(iter(self._segments))]

    # -- the end -------------------------------------------------------------------------------------------------------

    def forget(self, stream: "Stream") -> None:
        """Forget a stream that is deleted, or of which something is not sound any more."""
        for key in [key for key in self._kept if key[0] == stream.id]:
            self._drop(key)
        for place in [place for place in self._segments if place[0] == stream.id]:
            del self._segments[place]

    def clear(self) -> None:
        """Forget all: nobody reads."""
        self._kept.clear()
        self._segments.clear()
        self.octets = 0


def _octets(runs: "list[Run]") -> int:
    return sum([STORED_OCTETS if isinstance(run, StoredEntries) else run.octets for run in runs])
