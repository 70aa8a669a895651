"""Maintenance keeps the log short and its start quick: checkpoints, footers, unlinking, next file, reserve.

All of it is done in the files thread, none of it is needed for the promise: a missing footer or checkpoint costs time
at the next start, never data. A segment goes only when the newest checkpoint says that nothing in it is live, and the
one before lies behind it too: until then its settles are the only proof that older messages are gone.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.journal.compaction import Compacted, compact
from pybroker.store.journal.file_jobs import FileJobs
from pybroker.store.journal.presence import Presence
from pybroker.store.journal.reserve import OCTETS_MAX as RESERVE_MAX, Reserve, remove
from pybroker.store.segments.checkpoint import Checkpoint, write_checkpoint
from pybroker.store.segments.footer import Footer
from pybroker.store.segments.live_index import Segment
from pybroker.store.segments.segment import seal_segment
from pybroker.store.segments.tidy import tidy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.store.disk import Disk
    from pybroker.store.journal.journal import Journal
    from pybroker.store.journal.writer import Batch
    from pybroker.store.segments.live_index import Recovered
    from pybroker.store.segments.returned_rows import Rows
    from pybroker.store.worker import Worker

# The first segment's size; each further one has twice its forerunner's, so that an idle node's folder stays small.
FIRST_OCTETS: Final = 4_194_304
# A checkpoint is written this often while something changes, and sooner while segments wait for it to be unlinked.
CHECKPOINT_MS: Final = 60_000
UNLINK_MS: Final = 1_000
CHECKPOINTS: Final = 2
# A segment with less than this part of its pairs live is written anew; a small one is not worth it.
COMPACT_PARTS: Final = 0.3
COMPACT_OCTETS: Final = 1_048_576


class Maintenance:
    """`checkpoints` are the commit positions of the valid ones on disk, newest first.

    `unlinked` and `compacted` count segments that are gone, and that were written anew, since the start.
    """

    __slots__ = (
        "_checkpoint_ms",
        "_compacting",
        "_disk",
        "_due",
        "_footers",
        "_held",
        "_jobs",
        "_journal",
        "_pending",
        "_presence",
        "_reserve",
        "_settled",
        "_started",
        "_unlinking",
        "_untidy",
        "_writing",
        "checkpoints",
        "closed",
        "compacted",
        "largest_octets",
        "next_number",
        "segment_octets",
        "unlinked",
    )

    def __init__(
        self, journal: "Journal", disk: "Disk", files: "Worker", largest_octets: int, recovered: "Recovered"
    ) -> None:
        self._journal = journal
        self._disk = disk
        self._jobs = FileJobs(files, journal.fail)
        self.largest_octets = largest_octets
        self.segment_octets = min(FIRST_OCTETS, largest_octets)
        self.checkpoints = recovered.checkpoints[:CHECKPOINTS]
        self.next_number = recovered.next_number
        self.unlinked = self.compacted = 0
        self._compacting = False
        # A commit position, and what to do when it is completed.
        self._settled: tuple[int, list[Callable[[], None]]] | None = None
        self._checkpoint_ms = journal.clock.now_ms
        self._untidy: tuple[Rows, Rows, int] = {}, {}, 0  # what came back, for that one, and the time
        self._due = bool(recovered.missing)  # they are not to be missed again
        self._presence = Presence(journal, disk, self._jobs, self._trouble)
        self._unlinking = False
        self._pending: Checkpoint | None = None  # waits until its commit position is completed
        self._writing = False
        self._footers: list[Segment] = []
        # Tickets of checkpoints that somebody copies, and whether they are on disk; None: they could not be written.
        self._held: dict[int, bool | None] = {}
        self._reserve = Reserve(disk, self._jobs, self._has_room, self._trouble)
        self._started = False
        self.closed = False

    @property
    def reserve_octets(self) -> int:
        """Return the reserve's size: twice what may be in flight, whose records need more room than their contents."""
        return min(RESERVE_MAX, 2 * self.largest_octets)

    # -- what the journal asks and tells -------------------------------------------------------------------------------

    def segment_for(self, room: int, first_seq: int) -> tuple[Segment, bool]:
        """Return the segment that takes a batch of up to `room` octets, and whether it is new: from `first_seq` on."""
        live_index = self._journal.live_index
        last = live_index.segments[-1] if live_index.segments else None
        if last is not None and not last.sealed and last.used + room <= last.size:
            return last, False
        number = self.next_number
        size = max(self.segment_octets, fmt.HEADER_OCTETS + room)
        segment = Segment(number, fmt.seed(self._journal.log_id, number), first_seq, size, fmt.HEADER_OCTETS)
        if last is not None and not last.sealed:
            self.rolled(last)
        live_index.add(segment)
        self.next_number = number + 1
        self._begun()
        return segment, True

    def _begun(self) -> None:
        """Have the next one made ready, twice as large."""
        self.segment_octets = min(2 * self.segment_octets, self.largest_octets)
        self._reserve.prepare(self.segment_octets)
        if not self._started:
            self._started = True
            self._reserve.make(self.reserve_octets, self.segment_octets)

    def rolled(self, segment: "Segment") -> None:
        """Learn that nothing more is written to a segment: it gets its footer, and the log a checkpoint."""
        segment.sealed = True
        self._footers.append(segment)
        self._due = True

    def sealed(self, batch: "Batch") -> None:
        """Learn that a batch was closed: nothing is gathered, so the live index is exact as of its position."""
        if self._journal.live_index.returned.many:
            self._due = True
        if self._due and not self.closed and self._pending is None and not self._writing:
            self._take(batch.commit_position, batch.next_seq)

    def completed(self, commit_position: int) -> None:
        """Learn that batches are on disk."""
        while self._footers and self._footers[0].last_commit_position <= commit_position:
            segment = self._footers[0]
            commit_positions = segment.first_commit_position, segment.last_commit_position
            footer = Footer(*commit_positions, segment.newest_ms, segment.by_target, segment.index)
            job = partial(seal_segment, self._disk, segment.number, segment.seed, segment.used, footer)
            self._jobs.submit(job, partial(self._footed, segment))
            self._footers.pop(0)
        if self._pending is not None and self._pending.commit_position <= commit_position:
            self._write(self._pending)
        self._go_on(commit_position)

    def tick(self, now_ms: int) -> None:
        """Do what is due by the clock; nothing is being gathered or written when there is a checkpoint to take."""
        journal = self._journal
        if self.closed or journal.failed:
            return  # of what failed half-way no checkpoint may speak
        self._jobs.tick()
        self._presence.tick(now_ms)
        segments = journal.live_index.segments
        waiting = any(segment.sealed and not segment.live and not segment.kept for segment in segments)
        since_ms = now_ms - self._checkpoint_ms
        newest = self.checkpoints[0] if self.checkpoints else 0
        changed = journal.last_commit_position > newest
        if (waiting and since_ms >= UNLINK_MS) or (changed and since_ms >= CHECKPOINT_MS):
            self._due = True
        idle = journal.completed == journal.last_commit_position and not journal.commit_position
        if self._due and idle and self._pending is None and not self._writing:
            if not changed:
                # The second checkpoint behind a segment needs a commit position of its own.
                journal.commit_nothing()
                return
            self._take(journal.last_commit_position, journal.safe_seq)
            self.completed(journal.completed)
        if self._started:
            self._reserve.make_again(self.reserve_octets, self.segment_octets, now_ms)

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def _take(self, commit_position: int, next_seq: int) -> None:
        self._pending = self._checkpoint(commit_position, next_seq, {}, clean=False)
        journal = self._journal
        self._untidy = *journal.live_index.returned.freeze(), journal.clock.now_ms + journal.steady_ms
        self._due = False
        self._checkpoint_ms = self._journal.clock.now_ms

    def _checkpoint(self, commit_position: int, next_seq: int, returned: "Rows", *, clean: bool) -> Checkpoint:
        """Return what the live index says now."""
        live_index = self._journal.live_index
        return Checkpoint(
            self._journal.log_id,
            commit_position,
            next_seq,
            clean,
            live_index.settled(),
            returned,
            self.next_number,
            live_index.listed(),
        )

    def _write(self, checkpoint: Checkpoint) -> None:
        keep = [*self.checkpoints[: CHECKPOINTS - 1], *self._held]
        job = partial(_write_tidy, self._disk, checkpoint, self._untidy, keep)
        self._jobs.submit(job, partial(self._written, checkpoint))
        self._untidy = {}, {}, 0
        self._writing = True
        self._pending = None

    def _written(self, checkpoint: Checkpoint, result: "Rows | BaseException") -> None:
        self._writing = False
        failed = isinstance(result, BaseException)
        self._journal.live_index.returned.replace(None if isinstance(result, BaseException) else result)
        if checkpoint.commit_position in self._held:
            self._held[checkpoint.commit_position] = None if failed else True
        if isinstance(result, BaseException):
            self._trouble(result)
            return
        self.checkpoints = [checkpoint.commit_position, *self.checkpoints[: CHECKPOINTS - 1]]
        for segment in self._journal.live_index.segments:
            listed = checkpoint.listed.get(segment.number)
            segment.dead = listed is not None and listed.sealed and not listed.live
        self.unlink()

    def close(self, delivered: "Rows", done: "Callable[[BaseException | None], None]") -> None:
        """Write the footer of the open segment, and the checkpoint of a clean stop: nothing comes after it.

        `delivered` are all messages that were delivered before.
        """
        self.closed = True
        self._reserve.close()
        journal = self._journal
        segments = journal.live_index.segments
        if segments and not segments[-1].sealed:
            self.rolled(segments[-1])
            self.completed(journal.completed)
        checkpoint = self._checkpoint(journal.completed, journal.next_seq, delivered, clean=True)
        keep = [
            commit_position for commit_position in self.checkpoints if commit_position != checkpoint.commit_position
        ][: CHECKPOINTS - 1]
        self._jobs.submit(partial(write_checkpoint, self._disk, checkpoint, keep), done)

    # -- segments ------------------------------------------------------------------------------------------------------

    def _footed(self, segment: "Segment", error: "BaseException | None") -> None:
        if error is not None:
            gone = isinstance(error, DiskError) and error.missing and segment not in self._journal.live_index.segments
            if not gone:
                self._trouble(error)
            return
        segment.by_target = {}
        segment.targets = segment.sets = {}

    def unlink(self) -> None:
        """Have the segments unlinked that nobody needs: as of the newest checkpoint nothing in them is live."""
        if self._held or len(self.checkpoints) < CHECKPOINTS or self._settled is not None:
            return
        journal = self._journal
        behind = self.checkpoints[CHECKPOINTS - 1]
        segments = [
            each
            for each in journal.live_index.segments
            if each.sealed and each.last_commit_position <= behind and not each.kept
        ]
        self._unlink([segment for segment in segments if segment.dead])
        # The settles of the rest may be in a batch that is being written: without that batch the rest would have to
        # come back.
        self._settled = journal.last_commit_position, list(self._compact(segments))
        self._go_on(journal.completed)

    def _go_on(self, commit_position: int) -> None:
        """Do what waited for settles, if these are on disk now."""
        if self._settled is not None and self._settled[0] <= commit_position:
            jobs, self._settled = self._settled[1], None
            if not self._held:
                for job in jobs:
                    job()

    def _unlink(self, dead: "list[Segment]") -> None:
        if dead and not self._unlinking:
            names = [fmt.segment_name(segment.number) for segment in dead]
            self._jobs.submit(partial(remove, self._disk, names), partial(self._removed, dead))
            self._unlinking = True

    def _removed(self, dead: "list[Segment]", error: "BaseException | None") -> None:
        """Forget segments whose files are gone; one whose file is still there is listed by checkpoints until then."""
        self._unlinking = False
        if error is not None:
            self._trouble(error)
            return
        for segment in dead:
            self._journal.live_index.remove(segment)
        self.unlinked += len(dead)

    def _compact(self, segments: "list[Segment]") -> "Iterator[Callable[[], None]]":
        """Yield the compaction of one segment in which little is live: reads of messages wait for it."""
        if self._compacting:
            return
        for segment in segments:
            if segment.dead:
                continue
            small = segment.used < COMPACT_OCTETS or segment.live >= COMPACT_PARTS * segment.published
            if small or segment.by_target or not segment.live:
                continue
            settled = {queue_id: ranges.copies() for queue_id, ranges in segment.settled.items()}
            known = set(segment.pairs)
            job = partial(compact, self._disk, self._journal.log_id, segment.number, segment.index, settled, known)
            yield partial(self._start_compaction, segment, job)
            return

    def _start_compaction(self, segment: "Segment", job: "Callable[[], Compacted]") -> None:
        self._jobs.submit(job, partial(self._compacted, segment))
        self._compacting = True

    def _compacted(self, segment: "Segment", result: "Compacted | BaseException") -> None:
        self._compacting = False
        if isinstance(result, BaseException):
            self._trouble(result)
            return
        # The segment is not looked at again, whether it could be rewritten or not.
        segment.published = result.published or segment.live
        if result.complaint:
            self._journal.on_unreadable(result.complaint)
        if not result.octets:
            return
        self.compacted += 1
        segment.used = result.octets
        self._due = True  # there may be more of them

    def hold(self) -> tuple[int, list[tuple[int, int]]] | None:
        """Keep the log as it is now where it is, until `release`: segments are written further, but none goes.

        Return the position of the checkpoint that is written now, when it is on disk the rest is too, and for each
        segment its number and how many octets belong to it (0: all). None: one is being written, or a batch is being
        closed, ask again; or the log has failed, or is closed.
        """
        if self.closed or self._pending is not None or self._writing or self._journal.is_closing:
            return None
        self._due = True
        self._journal.commit_nothing()
        if self._journal.failed:
            return None  # nothing was begun, and others may hold the last commit position
        commit_position = self._journal.last_commit_position
        self._held[commit_position] = False
        # Of one in which nothing lives the file may just be going.
        there = (each for each in self._journal.live_index.segments if not each.dead)
        return commit_position, [(each.number, 0 if each.sealed else each.used) for each in there]

    def is_held(self, commit_position: int) -> bool | None:
        """Return whether the checkpoint of `hold` is on disk; None if it never will be."""
        return self._held[commit_position]

    def release(self, commit_position: int) -> None:
        """Let go what `hold` kept."""
        del self._held[commit_position]
        try:
            self.unlink()
        except Exception as error:  # noqa: BLE001 - as everything that changes the log
            self._journal.fail(error)

    def _has_room(self) -> None:
        self._journal.on_full("")

    def disk_is_full(self, text: str) -> None:
        """Release the reserve, so that batches in flight, and the settles that make room, can be written."""
        self._journal.on_full(text)
        self._reserve.give_away(self._journal.clock.now_ms)

    def _trouble(self, error: BaseException) -> None:
        """Raise the alarm of a full disk; anything else ends the log, because nobody knows what is on disk.

        The reserve goes too: that it can be made again, and the next segment, is how the end of the alarm is noticed.
        """
        if isinstance(error, DiskError) and error.full:
            self.disk_is_full(str(error))
        else:
            self._journal.fail(error)

    def status(self) -> dict[str, Any]:
        """Return figures for `log status`."""
        return {
            "checkpoints": list(self.checkpoints),
            "unlinked": self.unlinked,
            "compacted": self.compacted,
            "reserve": self._reserve.there,
        }


def _write_tidy(disk: "Disk", checkpoint: Checkpoint, untidy: "tuple[Rows, Rows, int]", retained: list[int]) -> "Rows":
    """Write a checkpoint with what came back, made tidy, and return that. Raises DiskError."""
    old, new, now_ms = untidy
    checkpoint.returned = tidy(old, new, checkpoint.settled, now_ms)
    write_checkpoint(disk, checkpoint, retained)
    return checkpoint.returned
