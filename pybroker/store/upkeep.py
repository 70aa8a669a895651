"""Upkeep: what keeps the log short and its start quick. Checkpoints, footers, unlinking, the next file, the reserve.

All of it is done in the files thread, none of it is needed for the promise: a missing footer or checkpoint costs time
at the next start, never data. A segment goes only when nothing in it is live and two checkpoints lie behind it: until
then its settles are the only proof that older messages are gone (data-model.md: Unlinking and compaction).
"""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.store import format as fmt
from pybroker.store.checkpoint import Checkpoint, write_checkpoint
from pybroker.store.compaction import Compacted, compact
from pybroker.store.disk import NEW_SUFFIX, DiskError
from pybroker.store.footer import Footer
from pybroker.store.log import UNCOMMITTED_OCTETS_MAX
from pybroker.store.segment import seal_segment
from pybroker.store.writer import PREPARED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.store.disk import Disk
    from pybroker.store.journal import Journal
    from pybroker.store.ledger import Segment
    from pybroker.store.worker import Worker
    from pybroker.store.writer import Batch

# Kept so that what is in flight, settles, and the checkpoints that free segments can be written on a full disk. What is
# in flight stands before the settles of all that was drained since: without room for it nothing would ever be unlinked.
RESERVE: Final = "reserve"
RESERVE_OCTETS_MAX: Final = 2 * UNCOMMITTED_OCTETS_MAX
# The first segment's size; each further one has twice its forerunner's, so that an idle node's folder stays small.
FIRST_OCTETS: Final = 4_194_304
# A checkpoint is written this often while something changes, and sooner while segments wait for it to be unlinked.
CHECKPOINT_MS: Final = 60_000
UNLINK_MS: Final = 1_000
CHECKPOINTS: Final = 2
# A segment with less than this part of its pairs live is written anew; a small one is not worth it.
COMPACT_PARTS: Final = 0.3
COMPACT_OCTETS: Final = 1_048_576


class Upkeep:
    """`checkpoints` are the tickets of the valid ones on disk, newest first.

    `unlinked` and `compacted` count segments that are gone, and that were written anew, since the start.
    """

    __slots__ = (
        "_checkpoint_ms",
        "_closed",
        "_compacting",
        "_disk",
        "_due",
        "_files",
        "_footers",
        "_held",
        "_journal",
        "_pending",
        "_preparing",
        "_reserve",
        "_reserve_ms",
        "_settled",
        "_started",
        "_writing",
        "checkpoints",
        "compacted",
        "largest_octets",
        "next_number",
        "segment_octets",
        "unlinked",
    )

    def __init__(
        self, journal: "Journal", disk: "Disk", files: "Worker", largest_octets: int, checkpoints: list[int]
    ) -> None:
        self._journal = journal
        self._disk = disk
        self._files = files
        self.largest_octets = largest_octets
        self.segment_octets = min(FIRST_OCTETS, largest_octets)
        self.checkpoints = checkpoints[:CHECKPOINTS]
        segments = journal.ledger.segments
        self.next_number = segments[-1].number + 1 if segments else 1
        self.unlinked = self.compacted = 0
        self._compacting = False
        self._settled: tuple[int, list[Callable[[], None]]] | None = None  # what to do when this ticket is completed
        self._checkpoint_ms = journal.clock.now_ms
        self._due = False
        self._pending: Checkpoint | None = None  # waits until its ticket is completed
        self._writing = False
        self._footers: list[Segment] = []
        self._held: list[int] = []  # tickets of checkpoints that somebody copies
        self._reserve = RESERVE in disk.names()
        self._reserve_ms = 0
        self._preparing = False
        self._started = False
        self._closed = False

    @property
    def reserve_octets(self) -> int:
        """Return the reserve's size: twice what may be in flight, whose records need more room than their contents."""
        return min(RESERVE_OCTETS_MAX, 2 * self.largest_octets)

    # -- what the journal tells ----------------------------------------------------------------------------------------

    def begun(self) -> None:
        """Learn that a segment was begun: the next one is made ready, twice as large."""
        self.segment_octets = min(2 * self.segment_octets, self.largest_octets)
        self._prepare()
        if not self._started:
            self._started = True
            self._keep_reserve()

    def rolled(self, segment: "Segment") -> None:
        """Learn that nothing more is written to a segment: it gets its footer, and the log a checkpoint."""
        segment.sealed = True
        self._footers.append(segment)
        self._due = True

    def sealed(self, batch: "Batch") -> None:
        """Learn that a batch was closed: nothing is gathered, so what the ledger says is exact as of its ticket."""
        if self._due and not self._closed and self._pending is None and not self._writing:
            self._take(batch.ticket, batch.next_seq)

    def completed(self, ticket: int) -> None:
        """Learn that batches are on disk."""
        while self._footers and self._footers[0].last_ticket <= ticket:
            segment = self._footers.pop(0)
            tickets = segment.first_ticket, segment.last_ticket
            footer = Footer(*tickets, segment.newest_ms, segment.stretches, segment.index)
            job = partial(seal_segment, self._disk, segment.number, segment.seed, segment.used, footer)
            self._files.submit(job, partial(self._footed, segment))
        if self._pending is not None and self._pending.ticket <= ticket:
            self._write(self._pending)
        self._go_on(ticket)

    def tick(self, now_ms: int) -> None:
        """Do what is due by the clock; nothing is being gathered or written when there is a checkpoint to take."""
        if self._closed:
            return
        journal = self._journal
        waiting = any(segment.sealed and not segment.live for segment in journal.ledger.segments)
        since_ms = now_ms - self._checkpoint_ms
        newest = self.checkpoints[0] if self.checkpoints else 0
        changed = journal.last_ticket > newest
        if (waiting and since_ms >= UNLINK_MS) or (changed and since_ms >= CHECKPOINT_MS):
            self._due = True
        idle = journal.completed == journal.last_ticket and not journal.ticket
        if self._due and idle and self._pending is None and not self._writing:
            if not changed:
                # The second checkpoint behind a segment needs a ticket of its own.
                journal.commit_nothing()
                return
            self._take(journal.last_ticket, journal.safe_seq)
            self.completed(journal.completed)
        if self._started and not self._reserve and now_ms - self._reserve_ms >= UNLINK_MS:
            self._reserve_ms = now_ms
            self._keep_reserve()

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def _take(self, ticket: int, next_seq: int) -> None:
        self._due = False
        self._checkpoint_ms = self._journal.clock.now_ms
        self._pending = Checkpoint(
            self._journal.epoch,
            ticket,
            next_seq,
            clean=False,
            settled=self._journal.ledger.settled(),
            redelivered=self._journal.ledger.redelivered(),
        )

    def _write(self, checkpoint: Checkpoint) -> None:
        self._pending = None
        self._writing = True
        keep = self.checkpoints[: CHECKPOINTS - 1] + self._held
        self._files.submit(partial(write_checkpoint, self._disk, checkpoint, keep), partial(self._written, checkpoint))

    def _written(self, checkpoint: Checkpoint, error: "BaseException | None") -> None:
        self._writing = False
        if error is not None:
            self._trouble(error)
            return
        self.checkpoints = [checkpoint.ticket, *self.checkpoints[: CHECKPOINTS - 1]]
        self.unlink()

    def close(
        self, redelivered: list[tuple[int, int, int, int]], done: "Callable[[BaseException | None], None]"
    ) -> None:
        """Write the footer of the open segment, and the checkpoint of a clean stop: nothing comes after it."""
        self._closed = True
        journal = self._journal
        segments = journal.ledger.segments
        if segments and not segments[-1].sealed:
            self.rolled(segments[-1])
            self.completed(journal.completed)
        settled = journal.ledger.settled()
        checkpoint = Checkpoint(journal.epoch, journal.completed, journal.next_seq, True, settled, redelivered)
        keep = [ticket for ticket in self.checkpoints if ticket != checkpoint.ticket][: CHECKPOINTS - 1]
        self._files.submit(partial(write_checkpoint, self._disk, checkpoint, keep), done)

    # -- segments ------------------------------------------------------------------------------------------------------

    def _footed(self, segment: "Segment", error: "BaseException | None") -> None:
        if error is not None:
            self._trouble(error)
            return
        segment.stretches = {}
        segment.targets = segment.sets = {}

    def unlink(self) -> None:
        """Have the segments unlinked that nobody needs: nothing in them is live, two checkpoints are behind them."""
        if self._held or len(self.checkpoints) < CHECKPOINTS or self._settled is not None:
            return
        journal = self._journal
        behind = self.checkpoints[CHECKPOINTS - 1]
        segments = [each for each in journal.ledger.segments if each.sealed and each.last_ticket <= behind]
        dead = [segment for segment in segments if not segment.live]
        # What settled them may be in a batch that is being written: without that they would have to come back.
        self._settled = journal.last_ticket, [partial(self._unlink, dead), *self._compact(segments)]
        self._go_on(journal.completed)

    def _go_on(self, ticket: int) -> None:
        """Do what waited for settles, if these are on disk now."""
        if self._settled is not None and self._settled[0] <= ticket:
            jobs, self._settled = self._settled[1], None
            if not self._held:
                for job in jobs:
                    job()

    def _unlink(self, dead: "list[Segment]") -> None:
        for segment in dead:
            # From now on no checkpoint speaks of it, and the folder is synced before the next one is written.
            self._journal.ledger.remove(segment)
        if dead:
            self.unlinked += len(dead)
            names = [fmt.segment_name(segment.number) for segment in dead]
            self._files.submit(partial(_unlink, self._disk, names), self._done)

    def _compact(self, segments: "list[Segment]") -> "Iterator[Callable[[], None]]":
        """Yield the compaction of one segment in which little is live: what reads messages waits for it."""
        if self._compacting:
            return
        for segment in segments:
            small = segment.used < COMPACT_OCTETS or segment.live >= COMPACT_PARTS * segment.published
            if small or segment.stretches or not segment.live:
                continue
            settled = {queue_id: ranges.copies() for queue_id, ranges in segment.settled.items()}
            known = set(segment.pairs)
            job = partial(compact, self._disk, self._journal.epoch, segment.number, segment.index, settled, known)
            yield partial(self._start_compaction, segment, job)
            return

    def _start_compaction(self, segment: "Segment", job: "Callable[[], Compacted]") -> None:
        self._compacting = True
        self._files.submit(job, partial(self._compacted, segment))

    def _compacted(self, segment: "Segment", result: "Compacted | BaseException") -> None:
        self._compacting = False
        if isinstance(result, BaseException):
            self._trouble(result)
            return
        # What is in it is not looked at again, whether it could be written anew or not.
        segment.published = result.published or segment.live
        if result.complaint:
            self._journal.on_unreadable(result.complaint)
            return
        self.compacted += 1
        segment.used = result.octets
        self._due = True  # there may be more of them

    def hold(self) -> tuple[int, list[tuple[int, int]]] | None:
        """Keep the log as it is now where it is, until `release`: segments are written further, but none goes.

        Return the ticket of the checkpoint that is written now, when it is on disk the rest is too, and for each
        segment its number and how many octets belong to it (0: all). None: one is being written, ask again.
        """
        if self._pending is not None or self._writing:
            return None
        self._due = True
        self._journal.commit_nothing()
        ticket = self._journal.last_ticket
        self._held.append(ticket)
        return ticket, [(each.number, 0 if each.sealed else each.used) for each in self._journal.ledger.segments]

    def release(self, ticket: int) -> None:
        """Let go what `hold` kept."""
        self._held.remove(ticket)
        self.unlink()

    # -- files ahead of time -------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        if not self._preparing:
            self._preparing = True
            self._files.submit(partial(_prepare, self._disk, self.segment_octets), self._prepared)

    def _prepared(self, error: "BaseException | None") -> None:
        self._preparing = False
        if error is not None:
            self._trouble(error)
        elif self._reserve:
            self._journal.on_full("")

    def _keep_reserve(self) -> None:
        self._files.submit(partial(_make_reserve, self._disk, self.reserve_octets), self._reserved)

    def _reserved(self, error: "BaseException | None") -> None:
        self._reserve = error is None
        if error is None:
            self._prepare()
        else:
            self._trouble(error)

    def disk_is_full(self, text: str) -> None:
        """Give the reserve away: what is in flight, and the settles that make room, can be written."""
        self._journal.on_full(text)
        if self._reserve:
            self._reserve = False
            self._reserve_ms = self._journal.clock.now_ms
            self._files.submit(partial(_unlink, self._disk, [RESERVE, PREPARED]), self._done)

    def _done(self, error: "BaseException | None") -> None:
        if error is not None:
            self._trouble(error)

    def _trouble(self, error: BaseException) -> None:
        """Raise the alarm of a full disk; anything else ends the log, because nobody knows what is on disk.

        The reserve goes too: that it can be made again, and the next segment, is how the end of the alarm is noticed.
        """
        if isinstance(error, DiskError) and error.full:
            self.disk_is_full(str(error))
        else:
            self._journal.fail(str(error))

    def status(self) -> dict[str, Any]:
        """Return figures for `log status`."""
        return {
            "checkpoints": list(self.checkpoints),
            "unlinked": self.unlinked,
            "compacted": self.compacted,
            "reserve": self._reserve,
        }


def _unlink(disk: "Disk", names: list[str]) -> None:
    there = set(disk.names())
    for name in names:
        if name in there:
            disk.unlink(name)
    disk.sync_folder()


def _prepare(disk: "Disk", octets: int) -> None:
    if PREPARED not in disk.names():
        _create_whole(disk, PREPARED, octets)


def _make_reserve(disk: "Disk", octets: int) -> None:
    if RESERVE in disk.names():
        file = disk.open(RESERVE)
        size = disk.size(file)
        disk.close(file)
        if size >= octets:
            return
        disk.unlink(RESERVE)  # of a start with less room
    # What is in it nobody reads: a disk that takes a second for a sync would keep a stop waiting for a minute.
    _create_whole(disk, RESERVE, octets, lasting=False)


def _create_whole(disk: "Disk", name: str, octets: int, *, lasting: bool = True) -> None:
    """Make a file of zeros under its name when it is complete."""
    part = name + NEW_SUFFIX
    if part in disk.names():
        disk.unlink(part)
    disk.close(disk.create(part, octets, lasting=lasting))
    disk.rename(part, name)
    disk.sync_folder()
