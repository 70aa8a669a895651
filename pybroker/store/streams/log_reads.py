"""The part of StreamLog that reads. A reader gets facts that do not change: a segment, and up to where it is on disk.

A segment may be removed while it is read: such a read is done again with what is there then.
"""

from functools import partial
from typing import TYPE_CHECKING

from pybroker.store.disk import DiskError
from pybroker.store.streams.chunk_log import ChunkLog, Found
from pybroker.store.streams.format import segment_name
from pybroker.store.streams.reader import Read, Rest, find_offset, read_rest, read_runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.run import Run
    from pybroker.store.streams.chunk_log import Wanted
    from pybroker.store.streams.folder import Folder
    from pybroker.store.streams.segments import Place, Segments
    from pybroker.store.streams.stored_entries import OpenSegment, StoredEntries
    from pybroker.store.streams.writer import Writer
    from pybroker.store.worker import Worker


class LogReads(ChunkLog):
    """Messages `first_offset .. next_offset - 1` may be read. `on_damage` gets a sentence, once, about each damage."""

    __slots__ = ("_folder", "_parked", "_reader", "_segments", "_told", "on_damage")

    _deleted: bool
    _removing: bool
    _writer: "Writer"

    def __init__(self, reader: "Worker", folder: "Folder", segments: "Segments") -> None:
        self._reader = reader
        self._folder = folder
        self._segments = segments
        # Most streams have none of these: an empty tuple takes nothing.
        self._parked: tuple[Callable[[], None], ...] = ()  # reads of a segment that is being removed
        self._told: set[str] | None = None  # most streams are never damaged
        self.on_damage: Callable[[str], None] = _nobody

    def read(
        self,
        offset: int,
        octets_max: int,
        done: "Callable[[list[Run] | BaseException], None]",
        wanted: "Wanted | None" = None,
    ) -> None:
        """Read runs, the first of which has `offset`, or is the next one that is there; about so many octets.

        They are chunks as they were written, so each read gives the same; those that are not `wanted` are passed over.
        `done` gets at least one, none at the end, or a DiskError. Their `arrived_ms` is wall time.
        """

        def read(found: Found | BaseException) -> None:
            done(found if isinstance(found, BaseException) else found.runs)

        self._read(offset, octets_max, read, wanted, stored=False)

    def read_stored(
        self,
        offset: int,
        octets_max: int,
        done: "Callable[[Found | BaseException], None]",
        wanted: "Wanted | None" = None,
    ) -> None:
        """Do as `read`, but large chunks of entries that are sound stay where they are."""
        self._read(offset, octets_max, done, wanted, stored=True)

    def _read(
        self,
        offset: int,
        octets_max: int,
        done: "Callable[[Found | BaseException], None]",
        wanted: "Wanted | None",
        *,
        stored: bool,
    ) -> None:
        offset = max(offset, self.first_offset)
        if self._deleted or offset >= self.next_offset:
            self._reader.submit(lambda: Found([], None), done)
            return
        self._writer.keep_cached()
        place = self._segments.place(self._segments.holding(offset), self.next_offset)
        job = partial(read_runs, self._folder, place, offset, octets_max, wanted, stored=stored)
        again = partial(self._read, octets_max=octets_max, done=done, wanted=wanted, stored=stored)
        self._reader.submit(job, partial(self._was_read, place, offset, again, done))

    def _was_read(
        self,
        place: "Place",
        offset: int,
        again: "Callable[[int], None]",
        done: "Callable[[Found | BaseException], None]",
        result: Read | BaseException,
    ) -> None:
        if isinstance(result, DiskError) and result.missing:
            self._again(place, offset, again)
        elif isinstance(result, BaseException):
            done(result)
        else:
            for report in result.reports:
                self._tell(report)
            if result.runs:
                done(Found(result.runs, result.segment))
            else:
                again(result.next_offset)

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
        self._reader.submit(partial(read_rest, self._folder, chunk, at, segment), done)

    def is_removed(self, segment: "OpenSegment") -> bool:
        """Tell whether a segment was removed that is still open."""
        return segment.first_offset < self._segments.firsts[0]

    def release(self, segment: "OpenSegment") -> None:
        """Let a segment go, in a thread: if nobody else has it and it was removed, the system frees it then."""
        self._reader.submit([segment].clear, _ignore)

    def find_timestamp(self, timestamp_ms: int, done: "Callable[[int | BaseException], None]") -> None:
        """Find the first chunk that is not older.

        `done` gets its first offset, `next_offset` if all are older, or a DiskError.
        """
        self._find(timestamp_ms, done, self.first_offset)

    def _find(self, timestamp_ms: int, done: "Callable[[int | BaseException], None]", offset: int) -> None:
        """Find it in segments that end behind `offset`."""
        segments = self._segments
        offset = max(offset, self.first_offset)
        number = max(segments.not_older(timestamp_ms), segments.holding(offset))
        if self._deleted or offset >= self.next_offset or number >= len(segments):
            answer = self.next_offset
        elif segments.begins_later(number, timestamp_ms):
            answer = max(offset, segments.firsts[number])
        else:
            place = segments.place(number, self.next_offset)
            job = partial(find_offset, self._folder, place, timestamp_ms)
            self._reader.submit(job, partial(self._was_found, place, timestamp_ms, done))
            return
        self._reader.submit(lambda: answer, done)

    def _was_found(
        self,
        place: "Place",
        timestamp_ms: int,
        done: "Callable[[int | BaseException], None]",
        result: int | BaseException,
    ) -> None:
        if isinstance(result, DiskError) and result.missing:
            self._again(place, place.first_offset, lambda onward: self._find(timestamp_ms, done, onward))
        elif isinstance(result, BaseException):
            done(result)
        elif result == place.stop_offset < self.next_offset:
            self._find(timestamp_ms, done, result)
        else:
            done(max(result, self.first_offset))

    def _again(self, place: "Place", offset: int, job: "Callable[[int], None]") -> None:
        """Do again what found no segment there: when it is known to be removed, or behind it, if it is lost."""
        if self._removing:
            self._parked += (partial(job, offset),)
        elif self._deleted or place.first_offset not in self._segments.firsts:
            job(offset)
        else:
            self._tell(
                f"stream {self._folder.stream_id} is damaged: {segment_name(place.first_offset)} is missing, with "
                f"messages {place.first_offset} to {place.stop_offset - 1}"
            )
            job(place.stop_offset)

    def _tell(self, report: str) -> None:
        if self._told is None:
            self._told = set()
        if report not in self._told:
            self._told.add(report)
            self.on_damage(report)

    def _read_parked(self) -> None:
        """Go on with reads that waited for a removal."""
        parked, self._parked = self._parked, ()
        for each in parked:
            each()


def _ignore(_: object) -> None:
    """Do nothing with an answer."""


def _nobody(_: str) -> None:
    """Do nothing; a placeholder for a callback."""
