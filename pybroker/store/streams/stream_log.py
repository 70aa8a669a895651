"""StreamLog: one stream on disk, as the hub has it. Blocking work is done by two workers; `done` runs on the hub.

The writer alone changes the folder. How it is read is in `log_reads.py`.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from pybroker.store.streams.log_reads import LogReads
from pybroker.store.streams.recovery import Recovered

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.store.disk import Disk
    from pybroker.store.streams.format import Chunk
    from pybroker.store.streams.writer import Removed, Written
    from pybroker.store.worker import Done, Job, Worker

    # Of the last chunk: where it begins, the offset behind it, its last seq, its time.
    Numbers = tuple[int, int, int, int]


class StreamLog(LogReads):
    """A stream has the offsets `first_offset .. next_offset - 1` on disk; what is below is gone, or was truncated.

    `last_seq` is the journal's seq of the last message, `timestamp_ms` the wall time of the last chunk; 0: there is
    none. `reports` has a sentence for each damage that was found at the start, `cut` is one if an unfinished write was
    cut off; `on_damage` is called with a sentence, once, for damage that is met later.
    """

    __slots__ = (
        "_appending",
        "_deleted",
        "_last_chunk_offset",
        "_log",
        "_remover",
        "_removing",
        "_uncommitted",
        "_waiting",
        "_worker",
        "_writer",
        "cut",
        "first_offset",
        "last_seq",
        "next_offset",
        "reports",
        "timestamp_ms",
    )

    def __init__(
        self, log: "Disk", writer: "Worker", reader: "Worker", recovered: Recovered, remover: "Worker | None" = None
    ) -> None:
        super().__init__(reader, recovered.writer.folder, recovered.segments)
        self._log = log
        # Of the whole folder, and of what is truncated: behind what the writer has begun, and one at a time of all.
        self._remover = remover or writer
        self._worker = writer
        self._writer = recovered.writer
        self._last_chunk_offset = recovered.last_chunk_offset
        self._appending = self._removing = self._deleted = False
        self._uncommitted: tuple[Numbers, list[Written]] | None = None  # of a straight write
        # Most streams have none: an empty tuple takes nothing.
        self._waiting: tuple[Callable[[], None], ...] = ()  # removals, until the one before is done
        self.first_offset = self._floor(recovered.writer.floor)
        self.next_offset = recovered.writer.next_offset
        self.last_seq = recovered.writer.last_seq
        self.timestamp_ms = recovered.writer.timestamp_ms
        self.reports = recovered.reports
        self.cut = recovered.cut

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
        job = partial(self._writer.append, chunks, segment_octets_max)
        self._submit_append(job, partial(self._appended, _numbers(chunks[-1]), done))

    def _submit_append(self, job: "Job", done: "Done") -> None:
        self._appending = True
        try:
            self._worker.submit(job, done)
        except Exception:
            self._appending = False
            raise

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
        job = partial(self._writer.append, chunks, segment_octets_max, straight=True, synced=synced)
        self._submit_append(job, partial(self._written_straight, _numbers(chunks[-1]), done))
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

        # The newest segment is not among them: messages may be written meanwhile.
        self._remover.submit(job, partial(self._removed, after))

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
            try:
                job()
            except Exception:
                self._next_removal()
                raise

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
        if self._waiting:
            job, *others = self._waiting
            self._waiting = tuple(others)
            self._remove(job)
        self._read_parked()

    def _floor(self, floor: int) -> int:
        """Return where the stream begins, which may be behind the floor that is on disk."""
        return max(floor, self._segments.firsts[0]) if self._segments.firsts else floor


def _numbers(last: "Chunk") -> "Numbers":
    return last.run.first_seq, last.next_offset, last.last_seq, last.timestamp_ms


def _nothing(_: object) -> None:
    """Do nothing after a job whose failure costs a start some time, and nothing else."""
