"""StreamLog: one stream on disk, as the hub has it. Blocking work is done by two workers; `done` runs on the hub.

The writer alone changes the folder. A reader gets facts that do not change: a segment, and up to where it is on disk. A
segment may be removed while it is read: such a read is done again with what is there then.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from pybroker.store.disk import DiskError
from pybroker.store.streams.chunk_log import ChunkLog, Found
from pybroker.store.streams.format import segment_name
from pybroker.store.streams.reader import Read, Rest, find_offset, read_rest, read_runs
from pybroker.store.streams.recovery import Recovered

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.run import Run
    from pybroker.store.disk import Disk
    from pybroker.store.streams.chunk_log import Wanted
    from pybroker.store.streams.format import Chunk
    from pybroker.store.streams.segments import Place
    from pybroker.store.streams.stored_entries import StoredEntries
    from pybroker.store.streams.writer import Removed, Written
    from pybroker.store.worker import Worker

    # Of the last chunk: where it begins, the offset behind it, its last seq, its time.
    Numbers = tuple[int, int, int, int]


class StreamLog(ChunkLog):
    """A stream has the offsets `first_offset .. next_offset - 1` on disk; what is below is gone, or was truncated.

    `last_seq` is the journal's seq of the last message, `timestamp_ms` the wall time of the last chunk; 0: there is
    none. `reports` has a sentence for each damage that was found at the start, `cut` is one if an unfinished write was
    cut off; `on_damage` is called with a sentence, once, for damage that is met later.
    """

    __slots__ = (
        "_appending",
        "_deleted",
        "_folder",
        "_last_chunk_offset",
        "_log",
        "_parked",
        "_reader",
        "_remover",
        "_removing",
        "_segments",
        "_told",
        "_uncommitted",
        "_waiting",
        "_worker",
        "_writer",
        "cut",
        "first_offset",
        "last_seq",
        "next_offset",
        "on_damage",
        "reports",
        "timestamp_ms",
    )

    def __init__(
        self, log: "Disk", writer: "Worker", reader: "Worker", recovered: Recovered, remover: "Worker | None" = None
    ) -> None:
        self._log = log
        self._remover = remover or writer  # of the whole folder, behind what the writer has begun
        self._worker = writer
        self._reader = reader
        self._writer = recovered.writer
        self._folder = recovered.writer.folder
        self._segments = recovered.segments
        self._last_chunk_offset = recovered.last_chunk_offset
        self._appending = self._removing = self._deleted = False
        self._uncommitted: tuple[Numbers, list[Written]] | None = None  # of a straight write
        # Most streams have none of these: an empty tuple takes nothing.
        self._waiting: tuple[Callable[[], None], ...] = ()  # removals, until the one before is done
        self._parked: tuple[Callable[[], None], ...] = ()  # reads of a segment that is being removed
        self._told: set[str] | None = None  # most streams are never damaged
        self.first_offset = self._floor(recovered.writer.floor)
        self.next_offset = recovered.writer.next_offset
        self.last_seq = recovered.writer.last_seq
        self.timestamp_ms = recovered.writer.timestamp_ms
        self.reports = recovered.reports
        self.cut = recovered.cut
        self.on_damage: Callable[[str], None] = _nobody

    @property
    def octets(self) -> int:
        """Return how much its segments take on disk."""
        return self._segments.octets

    @property
    def first_timestamp_ms(self) -> int:
        """Return when its oldest segment began, as wall time; 0: there is no message."""
        return self._segments.first_ms if self.first_offset < self.next_offset else 0

    @property
    def segment_count(self) -> int:
        """Return how many segments there are."""
        return len(self._segments)

    @property
    def last_chunk_offset(self) -> int:
        """Return the first offset of the last chunk; `next_offset` if there is none."""
        if self.first_offset >= self.next_offset:
            return self.next_offset
        return max(self.first_offset, self._last_chunk_offset)

    # -- append --------------------------------------------------------------------------------------------------------

    def append(
        self, chunks: "list[Chunk]", segment_octets_max: int, done: "Callable[[BaseException | None], None]"
    ) -> None:
        """Write chunks from `next_offset` on; `done` gets None when all are on disk. Offsets between them are lost.

        Otherwise none of them counts, and they can be given again. One call at a time.
        """
        assert not self._appending
        assert chunks[0].run.first_seq >= self.next_offset
        self._appending = True
        job = partial(self._writer.append, chunks, segment_octets_max)
        self._worker.submit(job, partial(self._appended, _numbers(chunks[-1]), done))

    def _appended(
        self,
        numbers: "Numbers",
        done: "Callable[[BaseException | None], None]",
        result: "list[Written] | BaseException",
    ) -> None:
        self._appending = False
        if isinstance(result, BaseException):
            done(result)
            return
        self._count(numbers, result)
        done(None)

    def _count(self, numbers: "Numbers", segments: "list[Written]") -> None:
        for written in segments:
            self._segments.put(written)
        self._last_chunk_offset, self.next_offset, self.last_seq, self.timestamp_ms = numbers

    def write_straight(
        self,
        chunks: "list[Chunk]",
        segment_octets_max: int,
        done: "Callable[[BaseException | None], None]",
        *,
        synced: bool,
    ) -> bool:
        """Write chunks whose messages may be nowhere else, and which are not committed.

        Readers have them, and the next write may come, when `commit` was called: a start cuts off what the log has not
        committed, and that must be the last write. With an error it is as if there had been none.
        """
        assert not self._appending
        self._appending = True
        job = partial(self._writer.append, chunks, segment_octets_max, straight=True, synced=synced)
        self._worker.submit(job, partial(self._written_straight, _numbers(chunks[-1]), done))
        return True

    def _written_straight(
        self,
        numbers: "Numbers",
        done: "Callable[[BaseException | None], None]",
        result: "list[Written] | BaseException",
    ) -> None:
        if isinstance(result, BaseException):
            self._appending = False
            done(result)
            return
        self._uncommitted = numbers, result
        done(None)

    def commit(self) -> None:
        """Count what was written straight: the log has it as committed."""
        assert self._uncommitted is not None
        self._count(*self._uncommitted)
        self._uncommitted = None
        self._appending = False
        if not self._deleted:
            self._worker.submit(self._writer.note_committed, _nothing)

    # -- read ----------------------------------------------------------------------------------------------------------

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

    def read_rest(self, chunk: "StoredEntries", at: int, done: "Callable[[Rest | BaseException], None]") -> None:
        """Give the entries of a chunk that stayed where it was, from the octet `at` on; None of them is damage."""
        self._reader.submit(partial(read_rest, self._folder, chunk, at), done)

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

    # -- removal -------------------------------------------------------------------------------------------------------

    def retain(
        self, octets_max: int | None, oldest_ms: int | None, done: "Callable[[int | BaseException], None]"
    ) -> None:
        """Remove the oldest segments while there are more octets, or all chunks of one are older than `oldest_ms`.

        The newest segment goes by age alone; an empty one takes its place. `done` gets how many went, or a DiskError.
        """
        self._remove(partial(self._retain, octets_max, oldest_ms, done))

    def _retain(
        self, octets_max: int | None, oldest_ms: int | None, done: "Callable[[int | BaseException], None]"
    ) -> None:
        segments = self._segments
        count = self._outdated(octets_max, oldest_ms)
        every = count == len(segments)
        if every and count and (self._appending or segments.firsts[-1] == self.next_offset):
            every, count = False, count - 1
        doomed = list(segments.firsts[:count])
        floor = self.next_offset if every or not count else segments.firsts[count]

        def job() -> "tuple[Written | None, Removed | None]":
            written = self._writer.begin_segment() if every and count else None
            return written, self._writer.raise_floor(floor, doomed, exact=False) if count else None

        def after(error: BaseException | None, removed: int) -> None:
            done(removed if error is None else error)

        self._worker.submit(job, partial(self._removed, after))

    def first_retained(self, octets_max: int | None, oldest_ms: int | None) -> int:
        """Return what `first_offset` would be after `retain` with the same limits."""
        count, firsts = self._outdated(octets_max, oldest_ms), self._segments.firsts
        if not count:
            return self.first_offset
        return max(self.first_offset, firsts[count] if count < len(firsts) else self.next_offset)

    def _outdated(self, octets_max: int | None, oldest_ms: int | None) -> int:
        """Return how many of the oldest segments are too much or too old."""
        count = self._segments.too_much(octets_max) if octets_max is not None else 0
        return count if oldest_ms is None else max(count, self._segments.not_older(oldest_ms))

    def truncate(self, offset: int, done: "Callable[[BaseException | None], None]") -> None:
        """Let nothing be there below `offset`, at most all that is on disk; `done` gets None, or a DiskError."""
        self._remove(partial(self._truncate, offset, done))

    def _truncate(self, offset: int, done: "Callable[[BaseException | None], None]") -> None:
        floor = min(offset, self.next_offset)
        doomed = self._segments.below(floor)

        def job() -> "tuple[None, Removed | None]":
            # Also where segments begin at it: that they are gone may not be on disk.
            below = floor > self._writer.floor
            return None, self._writer.raise_floor(floor, doomed, exact=True) if below else None

        def after(error: BaseException | None, _removed: int) -> None:
            done(error)

        self._worker.submit(job, partial(self._removed, after))

    def delete(self, done: "Callable[[BaseException | None], None]") -> None:
        """Remove the whole stream; `done` gets None, or a DiskError: then a start would go on with it."""
        self._deleted = True
        self._remove(partial(self._delete, done))

    def _delete(self, done: "Callable[[BaseException | None], None]") -> None:
        def deleted(result: Any) -> None:
            self._next_removal()
            done(result)

        self._remover.submit(partial(self._writer.delete, self._log), deleted)

    def _remove(self, job: "Callable[[], None]") -> None:
        """Do one removal after the other: each is decided when the one before it is done."""
        if self._removing:
            self._waiting += (job,)
        else:
            self._removing = True
            job()

    def _removed(self, done: "Callable[[BaseException | None, int], None]", result: Any) -> None:
        error: BaseException | None = None
        count = 0
        if isinstance(result, BaseException):
            error = result
        else:
            written, removed = result
            if written is not None:
                self._segments.put(written)
            if removed is not None:
                count, error = removed.segments, removed.error
                self._segments.remove(count)
                self.first_offset = max(self.first_offset, self._floor(removed.floor))
        self._next_removal()
        done(error, count)

    def _next_removal(self) -> None:
        self._removing = False
        parked, self._parked = self._parked, ()
        if self._waiting:
            job, *others = self._waiting
            self._waiting = tuple(others)
            self._remove(job)
        for each in parked:
            each()

    def _floor(self, floor: int) -> int:
        """Return where the stream begins, which may be behind the floor that is on disk."""
        return max(floor, self._segments.firsts[0]) if self._segments.firsts else floor


def _numbers(last: "Chunk") -> "Numbers":
    return last.run.first_seq, last.next_offset, last.last_seq, last.timestamp_ms


def _nothing(_: object) -> None:
    """Do nothing after a job whose failure costs a start some time, and nothing else."""


def _nobody(_: str) -> None:
    """Do nothing; a placeholder for a callback."""
