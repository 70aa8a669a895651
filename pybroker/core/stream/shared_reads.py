"""SharedReads: chunks found in streams' files lately, for readers that follow each other: each is checked once.

Chunks do not change; what is below a stream's first offset nobody asks for. Entries of large chunks stay in the files,
of which some are open here: these were sound when they were found. The system may let go of them and read them again,
ahead of what it is asked for, so they are found anew from time to time: a disk that damages them is noticed.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.core.peer.slice_buffers import SLICE_OCTETS, SliceBuffers
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
# Of memory that a run takes beside its octets, about.
RUN_OCTETS: Final = 512
# Of all streams, for readers that follow each other closely.
SLICES_OCTETS_MAX: Final = 8_388_608
# A slice that is there is worth so many that are not, up to a bound; without worth every eighth is kept, as a try.
SLICE_WORTH: Final = 8
WORTH_MAX: Final = 64
TRY_EACH: Final = 8


class SharedReads:
    """`octets` are what all chunks that are kept take in memory; into `buffers` readers read for themselves."""

    __slots__ = ("_kept", "_passed", "_segments", "_slices", "_waiting", "_worth", "buffers", "octets", "slice_octets")

    def __init__(self) -> None:
        self._kept: dict[Key, list[Run]] = {}  # the longest unused first
        self._waiting: dict[Key, list[Done]] = {}
        # By stream and first offset, the longest unused first.
        self._segments: dict[tuple[int, int], tuple[Stream, OpenSegment]] = {}
        self._slices: dict[
            tuple[int, int, int], memoryview
        ] = {}  # by stream, chunk and place, the longest unused first
        self._worth = WORTH_MAX  # slices that were not there and are kept all the same
        self._passed = 0  # those that were not, since the last try
        self.slice_octets = 0
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
        kept = self._kept.get(key)
        if kept is not None and not all(self.can_send(stream, run) for run in kept):
            self._drop(key)
            kept = None
        if kept is not None:
            self._kept[key] = self._kept.pop(key)
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
                self.octets += _octets(key, found)
            while self.octets > SHARED_OCTETS_MAX:
                self._drop(next(iter(self._kept)))
        for done in waiting:
            done(found)

    def _drop(self, key: "Key") -> None:
        self.octets -= _octets(key, self._kept.pop(key))

    def forget_stored(self) -> None:
        """Forget chunks whose entries stay in the files: who comes next finds out whether they are sound still."""
        for key in [key for key in self._kept if key[2]]:
            self._drop(key)

    # -- segments ------------------------------------------------------------------------------------------------------

    def can_send(self, stream: "Stream", run: "Run") -> bool:
        """Tell whether a run can be sent to its end: one that stays in a segment which is not open may be gone."""
        return not isinstance(run, StoredEntries) or (stream.id, run.segment) in self._segments

    def segment(self, stream: "Stream", chunk: StoredEntries) -> "OpenSegment | None":
        """Return the segment with the entries of a chunk, if it is open."""
        key = stream.id, chunk.segment
        found = self._segments.pop(key, None)
        if found is None:
            return None
        self._segments[key] = found
        return found[1]

    def keep_open(self, stream: "Stream", segment: "OpenSegment") -> None:
        """Have a segment open for the chunks that are read next."""
        key = stream.id, segment.first_offset
        if key not in self._segments and not stream.deleted:
            self._segments[key] = stream, segment
            if len(self._segments) > SEGMENTS_MAX:
                self._release(next(iter(self._segments)))

    def release_removed(self) -> None:
        """Let go of segments that were removed: the disk is to have their room back."""
        for key, (stream, segment) in list(self._segments.items()):
            if stream.files.is_removed(segment):
                self._release(key)

    def _release(self, key: tuple[int, int]) -> None:
        stream, segment = self._segments.pop(key)
        stream.files.release(segment)

    # -- slices --------------------------------------------------------------------------------------------------------

    def slice(self, stream: "Stream", segment: "OpenSegment", chunk: StoredEntries, at: int) -> memoryview | None:
        """Return octets of a chunk that several readers may want; None if each is to read them for itself."""
        if len(stream.readers) < 2 or at % SLICE_OCTETS:
            return None
        key = stream.id, chunk.first_seq, at
        found = self._slices.pop(key, None)
        if found is not None:
            self._slices[key] = found
            self._worth = min(self._worth + SLICE_WORTH, WORTH_MAX)
            return found
        if self._worth:
            self._worth -= 1
        else:
            self._passed = (self._passed + 1) % TRY_EACH
            if self._passed:
                return None
        made = memoryview(bytearray(min(SLICE_OCTETS, chunk.octets - at)))
        if segment.read_now(chunk.position + at, made) < len(made):
            return None
        self._slices[key] = made
        self.slice_octets += len(made)
        while self.slice_octets > SLICES_OCTETS_MAX:
            self.slice_octets -= len(self._slices.pop(next(iter(self._slices))))
        return made

    # -- the end -------------------------------------------------------------------------------------------------------

    def forget(self, stream: "Stream") -> None:
        """Forget a stream that is deleted, or of which something is not sound any more."""
        for key in [key for key in self._kept if key[0] == stream.id]:
            self._drop(key)
        for place in [place for place in self._segments if place[0] == stream.id]:
            self._release(place)
        for part in [part for part in self._slices if part[0] == stream.id]:
            self.slice_octets -= len(self._slices.pop(part))

    def clear(self) -> None:
        """Forget all: nobody reads."""
        self._kept.clear()
        for place in list(self._segments):
            self._release(place)
        self._slices.clear()
        self.octets = self.slice_octets = 0


def _octets(key: "Key", runs: "list[Run]") -> int:
    """Return about what an answer takes in memory, with what was asked for."""
    filters = key[3]
    asked = 0 if filters is None else filters.octets
    return asked + sum([STORED_OCTETS if isinstance(run, StoredEntries) else RUN_OCTETS + run.octets for run in runs])
