"""Journal: the log on disk.

Appends and settles of a turn gather into a batch, which has a commit position; the journal thread writes and syncs it;
then its position is completed. A batch is the unit of atomicity: the next one is written only after the one before it
is on disk, so a batch that is followed by another was complete. Changes that belong together (a transaction; a dead
letter and the settling of its original) are appended in one call and are never split, because a batch is closed only
between two calls.

From `append` until the position completes no failure may go unnoticed: the next one would vouch for a batch that is
incomplete or lost. So any exception on the way ends the log, as a failed sync does (`ends_the_log`).

This is the hub's side: it orders and counts, and does no I/O. `format` has the octets, `writer` the files, `live_index`
the live messages, and `maintenance` checkpoints, footers and unlinking.
"""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.journal.batch_builder import BatchBuilder
from pybroker.store.journal.closing import Closing, nothing_first
from pybroker.store.journal.maintenance import Maintenance
from pybroker.store.journal.reader import Reader
from pybroker.store.journal.writer import Batch, Writer
from pybroker.store.log import Log, ends_the_log
from pybroker.store.segments.newest import Newest
from pybroker.store.worker import reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.clock import Clock
    from pybroker.run import Run
    from pybroker.seq_ranges import SeqRanges
    from pybroker.session import Turn
    from pybroker.store.definitions.definitions import Definitions
    from pybroker.store.disk import Disk
    from pybroker.store.journal.closing import OnClosing
    from pybroker.store.journal.reader import Wanted
    from pybroker.store.log import Fetched
    from pybroker.store.recovery.recovery import Recovered
    from pybroker.store.segments.live_index import LiveIndex
    from pybroker.store.segments.returned_rows import Rows
    from pybroker.store.worker import Worker

# A batch is closed at this size also while the one before it is being written.
BATCH_OCTETS: Final = 4_194_304
# A batch that nobody waits for is written when this much has gathered, or this long after.
EAGER_OCTETS: Final = 1_048_576
QUIET_MS: Final = 100
# How often a full disk is tried again.
FULL_RETRY_MS: Final = 1_000

SEGMENT_OCTETS_MIN: Final = 1_048_576
SEGMENT_OCTETS_MAX: Final = 67_108_864
# A segment takes this part of the free space at most.
SEGMENT_PARTS: Final = 32


class Journal(Log):
    """Invariants: positions are batches and complete in order; the one that gathers has `last_commit_position + 1`.

    `on_completed` and `on_failed` tell the broker, `on_stalled` why a batch waits for a file descriptor; with no text
    that it was written. A commit position completes when its batch is on disk, which comes after the
    definitions that were made before it: a message that is confirmed always has its queue. `steady_ms` is what the
    log's time is ahead of the clock's now_ms: it goes on where it was, whatever the clock on the wall says.
    """

    __slots__ = (
        "_builder",
        "_closing",
        "_disk",
        "_files",
        "_forgotten",
        "_full_since_ms",
        "_journal",
        "_proven",
        "_quiet_ms",
        "_sealed",
        "_sealed_seq",
        "_told",
        "_wanted",
        "_writer",
        "_writing",
        "clock",
        "definitions",
        "full",
        "last_commit_position",
        "live_index",
        "log_id",
        "maintenance",
        "on_closing",
        "on_completed",
        "on_failed",
        "on_full",
        "on_stalled",
        "on_unreadable",
        "reader",
        "steady_ms",
        "turn",
    )

    def __init__(
        self,
        disk: "Disk",
        journal: "Worker",
        files: "Worker",
        clock: "Clock",
        turn: "Turn",
        definitions: "Definitions",
        recovered: "Recovered",
        root: "Disk | None" = None,
    ) -> None:
        """Go on with what a start found. `root` is the data folder, if it is not the log's own."""
        super().__init__()
        self._disk = disk
        self._journal = journal
        self._files = files
        self.clock = clock
        self.turn = turn
        self.definitions = definitions
        self.on_closing: OnClosing = nothing_first
        self.on_completed: Callable[[int], None] = _nobody
        self.on_failed: Callable[[str], None] = _nobody
        self.on_full: Callable[[str], None] = _nobody
        self.on_stalled: Callable[[str], None] = _nobody
        self.on_unreadable: Callable[[str], None] = _nobody
        self.live_index: LiveIndex = recovered.live_index
        self.live_index.on_broken = self._unreadable
        self.log_id = recovered.log_id
        self.next_seq = self.safe_seq = recovered.next_seq
        self._sealed_seq = recovered.next_seq  # all below are in batches that were closed
        self.last_commit_position = self.completed = self._proven = recovered.commit_position
        # Time in the log never goes back, also if the system's clock does.
        self.steady_ms = max(clock.timestamp_ms, recovered.newest_ms) - clock.now_ms
        self.full = ""
        self._full_since_ms = 0
        self._told = False  # that it failed
        self._builder = BatchBuilder()
        self._closing: Closing | None = None
        self._wanted = False
        self._quiet_ms = 0
        self._sealed: deque[Batch] = deque()
        self._writing = False
        # Commit positions of definitions and log, and a queue's id.
        self._forgotten: deque[tuple[int, int, int]] = deque()
        self._writer = Writer(disk, self.log_id, Newest(root or disk))
        self.reader = Reader(files, disk, self.log_id)
        self.reader.on_unreadable = self._unreadable
        segment_octets = min(SEGMENT_OCTETS_MAX, max(SEGMENT_OCTETS_MIN, disk.free_octets() // SEGMENT_PARTS))
        self.maintenance = Maintenance(self, disk, files, segment_octets, recovered)
        self.uncommitted_octets_max = self.maintenance.reserve_octets // 2

    # -- what the core does --------------------------------------------------------------------------------------------

    @property
    def commit_position(self) -> int:
        """Return the commit position of what is being gathered; 0 when nothing is."""
        return self.last_commit_position + 1 if self._builder else 0

    @property
    def is_closing(self) -> bool:
        """Tell whether a batch is being closed: the live index does not have it yet."""
        return self._closing is not None

    def append(self, run: "Run", indexes: range, queue_ids: tuple[int, ...]) -> int:
        """Gather messages for the next batch; return its commit position."""
        try:
            builder = self._builder
            self.uncommitted_octets += builder.append(run, indexes, queue_ids)
            if builder.octets >= EAGER_OCTETS and not self._wanted:
                self.want(self.last_commit_position + 1)
        except Exception as error:
            self.fail(error)
            raise
        return self.last_commit_position + 1

    def want(self, commit_position: int) -> None:
        """Commit what is gathered at the end of this turn."""
        if commit_position > self.last_commit_position and not self._wanted:
            if not self.turn.woken:
                self.turn.wake()
            self._wanted = True

    def settle(self, queue_id: int, run: "Run", indexes: range) -> None:
        """Gather what a queue has done with."""
        try:
            self._builder.settle(queue_id, run, indexes)
        except Exception as error:
            self.fail(error)
            raise

    def give_back(self, queue_id: int, run: "Run", indexes: range, deliveries: int, due_ms: int = 0) -> None:
        """Gather how often messages were delivered that came back, and until when they wait."""
        try:
            self._builder.give_back(queue_id, run, indexes, deliveries, due_ms)
        except Exception as error:
            self.fail(error)
            raise

    def settle_seqs(self, queue_id: int, first: int, last: int) -> None:
        """Gather what a queue has done with, by seqs."""
        try:
            self._builder.settle_seqs(queue_id, first, last)
        except Exception as error:
            self.fail(error)
            raise

    @ends_the_log
    def forget_queue(self, queue_id: int) -> None:
        """Let a queue's messages go once its deletion is on disk: until then a crash brings back both, or none.

        And once the batch is closed that gathers, which may still have some of the queue's.
        """
        last = self.last_commit_position if self._closing is not None else 0
        self._forgotten.append((self.definitions.commit_position, self.commit_position or last, queue_id))
        self.gate_moved()

    def fetch(self, queue_id: int, part: "SeqRanges", done: "Fetched") -> None:
        """Read messages back, in the files thread; messages settled before a read succeeds need not come."""
        self.reader.fetch(partial(self._located, queue_id, part), self.steady_ms, done)

    def _located(self, queue_id: int, part: "SeqRanges", *, again: bool) -> "Wanted":
        wanted = []
        for segment, first, last in self.live_index.locate(part.first_seq, part.last_seq):
            mine = part.between(first, last)
            if again and mine.count:
                mine = segment.live_of(queue_id, mine)
            if mine.count:
                wanted.append((segment.number, segment.index, mine))
        return wanted

    def _unreadable(self, text: str) -> None:
        self.on_unreadable(text)

    # -- batches -------------------------------------------------------------------------------------------------------

    def turn_ended(self) -> None:
        """Hand what is wanted to the disk."""
        if self._wanted and (not self._sealed or self._builder.octets >= BATCH_OCTETS):
            self.commit()

    @ends_the_log
    def commit(self) -> None:
        """Close the batch that gathers, if there is anything in it, and have it written.

        While one is being closed the next one gathers on: they are written in turn.
        """
        # Behind the last checkpoint nothing comes.
        if self._builder and not (self.failed or self._closing is not None or self.maintenance.closed):
            self._close()
        self._write_next()

    def _close(self, *, at_once: bool = False) -> None:
        """Let nothing more come into the batch that gathers; some of it may have to be on disk elsewhere first."""
        builder, self._builder = self._builder, self._builder.following()
        self._wanted = False
        self.last_commit_position += 1
        closing = self._closing = Closing(builder, self.definitions.commit_position)
        waits = not at_once and self.on_closing(self.last_commit_position, builder, partial(self._resume, closing))
        closing.next_seq = self.next_seq
        if not waits:
            self._seal(closing)

    @ends_the_log
    def _resume(self, closing: Closing) -> None:
        """Go on with what had to wait for others."""
        self._seal_late(closing)
        closing.notify()

    @ends_the_log
    def _seal_late(self, closing: Closing) -> None:
        if not self.failed:
            self._seal(closing)
            self._write_next()

    def _seal(self, closing: Closing) -> None:
        builder, self._closing = closing.builder, None
        segment, creates = self.maintenance.segment_for(builder.room, self._sealed_seq)
        segment.newest_ms = self.clock.now_ms + self.steady_ms
        octets = builder.encode(self.last_commit_position, segment, self.live_index, self.steady_ms)
        batch = Batch(segment.number, segment.size if creates else 0, segment.used, octets)
        closing.promise(batch, self.last_commit_position)
        segment.used += len(octets)
        segment.first_commit_position = segment.first_commit_position or batch.commit_position
        segment.last_commit_position = batch.commit_position
        self._sealed_seq = batch.next_seq
        self._sealed.append(batch)
        self.maintenance.sealed(batch)

    @ends_the_log
    def commit_nothing(self) -> None:
        """Write an empty batch, for its commit position; not behind the last checkpoint."""
        if self.failed or self.maintenance.closed:
            return
        self._close(at_once=True)
        self._write_next()

    def _write_next(self) -> None:
        """Write the oldest batch, once the definitions are on disk that were made before it.

        Not earlier: after a crash a batch counts as a whole, and one that moves a message to a queue that is not there
        would only take it away.
        """
        if self._writing or self.failed or self.full or not self._sealed:
            return
        batch = self._sealed[0]
        if batch.definitions_commit_position > self.definitions.completed:
            return
        self._journal.submit(partial(self._writer.write, batch), partial(self._written, batch))
        self._writing = True

    @ends_the_log
    def _written(self, batch: Batch, error: "BaseException | None") -> None:
        self._writing = False
        self._quiet_ms = self.clock.now_ms
        if self.failed:
            return
        if isinstance(error, DiskError) and error.lacks_descriptors:
            self._stall(str(error))
            return
        self._stall("")
        if isinstance(error, DiskError) and error.full:
            # Nothing is lost: the batch is written when there is room again, and everything behind it.
            self.full = str(error)
            self._full_since_ms = self.clock.now_ms
            self._shrink(batch)
            self.maintenance.disk_is_full(self.full)
            return
        if error is not None:
            self.fail(error)
            return
        self._sealed.popleft()
        self._forget_queues()
        self.safe_seq = batch.next_seq
        self.uncommitted_octets -= batch.content_octets
        if batch.commit_position > self.completed:
            self.completed = batch.commit_position
            self.maintenance.completed(batch.commit_position)
            self.on_completed(batch.commit_position)
        if self._wanted or self._builder.octets >= EAGER_OCTETS:
            self.commit()
        else:
            self._write_next()

    def _stall(self, text: str) -> None:
        """Say once that confirms wait for a file descriptor, and once that they do no more."""
        if bool(text) != bool(self.stalled):
            self.stalled = text
            self.on_stalled(text)

    def _shrink(self, batch: Batch) -> None:
        """Have a segment for which there was no room made no larger than what goes into it."""
        if batch.create:
            (segment,) = (each for each in self.live_index.segments if each.number == batch.number)
            segment.size = batch.create = segment.used

    @ends_the_log
    def gate_moved(self) -> None:
        """Go on with what waited for definitions."""
        self._forget_queues()
        self._write_next()

    def _forget_queues(self) -> None:
        forgotten, on_disk = self._forgotten, self.definitions.completed
        closed = self.last_commit_position - (self._closing is not None)
        while forgotten and forgotten[0][0] <= on_disk and forgotten[0][1] <= closed:
            self.live_index.forget_queue(forgotten.popleft()[2])

    @ends_the_log
    def tick(self) -> None:
        """Write what nobody waits for, prove the last batch when it is quiet. Called every `QUIET_MS`."""
        now_ms = self.clock.now_ms
        self.reader.tick(now_ms)
        if self.failed:
            self._tell_failed()  # if memory was too short for that
            return
        if self.full:
            if now_ms - self._full_since_ms >= FULL_RETRY_MS:
                # Whether there is room again: if not, the batch comes back.
                self._full_since_ms, self.full = now_ms, ""
                self._write_next()
            return
        if self._sealed:
            self._write_next()
        elif self._builder:
            self.commit()
        elif self._proven < self.last_commit_position == self.completed and now_ms - self._quiet_ms >= QUIET_MS:
            self._prove()
        self.maintenance.tick(now_ms)

    def _prove(self) -> None:
        """Write down that the last batch is on disk: a torn tail and a damaged one can be told apart from then on."""
        segment, self._proven = self.live_index.segments[-1], self.last_commit_position
        if segment.sealed or segment.used + fmt.PROVEN_RECORD_OCTETS > segment.size:
            return
        octets = fmt.proven(self.last_commit_position, segment.seed)
        # In line with the batches: on a full disk it waits as they do, and no hole stays where it was to be.
        batch = Batch(segment.number, 0, segment.used, octets)
        batch.promise(self.last_commit_position, self._sealed_seq, 0, 0)
        segment.used += len(octets)
        self._sealed.append(batch)
        self._write_next()

    def fail(self, error: BaseException) -> None:
        """Stop for good: after an error nobody knows what is on disk, and a second sync would say that all is well."""
        self.failed = self.failed or reason(error)
        self._tell_failed()
        if self._closing is not None:
            self._closing.notify()  # nobody may call back what broke off

    def _tell_failed(self) -> None:
        if not self._told:
            self._told = True
            try:
                self.on_failed(self.failed)
            except MemoryError:
                self._told = False

    def close(self, delivered: "Rows", done: "Callable[[BaseException | None], None]") -> None:
        """Write all there is, and a last checkpoint; then call `done`. Nothing may be appended afterwards."""
        self.commit()
        if self.failed or self.full:
            # Nobody was promised what is still here, and a checkpoint would claim to be the end of it.
            done(None)
            return
        if self._closing is not None:
            self._closing.then = lambda: self.close(delivered, done)
            return
        if self._sealed or self._writing:
            self._write_next()  # a batch that found no descriptor
            # The definitions' thread may be the one that is waited for.
            self._journal.submit(lambda: None, lambda _: self.close(delivered, done))
            return
        self.maintenance.close(delivered, lambda why: self._journal.submit(self._writer.close, lambda _: done(why)))


def _nobody(_: object) -> None:
    """Do nothing; a placeholder for a callback."""
