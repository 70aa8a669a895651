"""Journal: the log on disk. What a turn appends and settles gathers into a batch; the journal thread writes it and
syncs it; then its ticket is completed (data-model.md: Journal).

A batch is the unit of atomicity: the next one is written only after the one before it is on disk, so that a batch that
is followed by another was complete. What belongs together (a transaction; a dead letter and its original's settling)
is appended in one call and cannot be parted, because a batch is closed only between two calls.

This is the hub's side: it orders and counts, and does no I/O. The octets are `format`'s, the files `writer`'s, what is
live the `ledger`'s, and checkpoints, footers and unlinking are `upkeep`'s.
"""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.gathered import Gathered
from pybroker.store.ledger import Ledger, Segment
from pybroker.store.log import Log
from pybroker.store.reader import fetch
from pybroker.store.upkeep import Upkeep
from pybroker.store.writer import Batch, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.clock import Clock
    from pybroker.run import Run
    from pybroker.session import Turn
    from pybroker.store.definitions import Definitions
    from pybroker.store.disk import Disk
    from pybroker.store.log import Fetched
    from pybroker.store.recovery import Recovered
    from pybroker.store.worker import Worker
    from pybroker.stretch import Stretch

# A batch is closed at this size also while the one before it is being written.
BATCH_OCTETS: Final = 4_194_304
# What nobody waits for is written when this much has gathered, or this long after.
EAGER_OCTETS: Final = 1_048_576
QUIET_MS: Final = 100
# How often a full disk is tried again.
FULL_RETRY_MS: Final = 1_000

SEGMENT_OCTETS_MIN: Final = 1_048_576
SEGMENT_OCTETS_MAX: Final = 67_108_864
# A segment takes this part of the free space at most.
SEGMENT_PARTS: Final = 32


class Journal(Log):
    """Invariants: tickets are batches; they complete in order; what is gathered has ticket `last_ticket + 1`.

    `on_completed` and `on_failed` tell the broker. A ticket completes when its batch is on disk and so are the
    definitions that were made before it: a message that is confirmed always has its queue.
    """

    __slots__ = (
        "_disk",
        "_files",
        "_forgotten",
        "_full_since_ms",
        "_gated",
        "_gathered",
        "_journal",
        "_proven",
        "_quiet_ms",
        "_sealed",
        "_steady_ms",
        "_wanted",
        "_writer",
        "_writing",
        "clock",
        "definitions",
        "epoch",
        "full",
        "last_ticket",
        "ledger",
        "on_completed",
        "on_failed",
        "on_full",
        "on_unreadable",
        "turn",
        "upkeep",
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
    ) -> None:
        super().__init__()
        self._disk = disk
        self._journal = journal
        self._files = files
        self.clock = clock
        self.turn = turn
        self.definitions = definitions
        self.on_completed: Callable[[int], None] = _nobody
        self.on_failed: Callable[[str], None] = _nobody
        self.on_full: Callable[[str], None] = _nobody
        self.on_unreadable: Callable[[str], None] = _nobody
        self.ledger: Ledger = recovered.ledger
        self.epoch = recovered.epoch
        self.next_seq = self.safe_seq = recovered.next_seq
        self.last_ticket = self.completed = self._proven = recovered.ticket
        # Time in the log never goes back, also if the system's clock does (data-model.md: steady wall).
        self._steady_ms = max(clock.timestamp_ms, recovered.newest_ms) - clock.now_ms
        self.full = ""
        self._full_since_ms = 0
        self._gathered = Gathered()
        self._wanted = False
        self._quiet_ms = 0
        self._sealed: deque[Batch] = deque()
        self._writing = False
        self._gated: deque[Batch] = deque()
        self._forgotten: deque[tuple[int, int, int]] = deque()  # tickets of definitions and log, and a queue's id
        self._writer = Writer(disk, self.epoch)
        segment_octets = min(SEGMENT_OCTETS_MAX, max(SEGMENT_OCTETS_MIN, disk.free_octets() // SEGMENT_PARTS))
        self.upkeep = Upkeep(self, disk, files, segment_octets, recovered.checkpoints)
        self.uncommitted_octets_max = self.upkeep.reserve_octets // 2

    # -- what the core does --------------------------------------------------------------------------------------------

    @property
    def ticket(self) -> int:
        """Return the ticket of what is being gathered; 0 when nothing is."""
        return self.last_ticket + 1 if self._gathered else 0

    def append(self, run: "Run", indexes: range, queue_ids: tuple[int, ...]) -> int:
        """Gather messages for the next batch; return its ticket."""
        gathered = self._gathered
        self.uncommitted_octets += gathered.append(run, indexes, queue_ids)
        if gathered.octets >= EAGER_OCTETS and not self._wanted:
            self.want(self.last_ticket + 1)
        return self.last_ticket + 1

    def want(self, ticket: int) -> None:
        """Commit what is gathered at the end of this turn."""
        if ticket > self.last_ticket and not self._wanted:
            self._wanted = True
            if not self.turn.woken:
                self.turn.wake()

    def settle(self, queue_id: int, run: "Run", indexes: range) -> None:
        """Gather what a queue has done with."""
        self._gathered.settle(queue_id, run, indexes)

    def give_back(self, queue_id: int, run: "Run", indexes: range, deliveries: int) -> None:
        """Gather how often messages were delivered that came back."""
        self._gathered.give_back(queue_id, run, indexes, deliveries)

    def settle_seqs(self, queue_id: int, first: int, last: int) -> None:
        """Gather what a queue has done with, by seqs."""
        self._gathered.settle_seqs(queue_id, first, last)

    def forget_queue(self, queue_id: int) -> None:
        """Let a queue's messages go once its deletion is on disk: until then a crash brings back both, or none.

        And once the batch is closed that gathers, which may still have some of the queue's.
        """
        self._forgotten.append((self.definitions.ticket, self.ticket, queue_id))
        self.gate_moved()

    def fetch(self, queue_id: int, part: "Stretch", done: "Fetched") -> None:  # noqa: ARG002 - one log for all
        """Read messages back, in the files thread."""
        wanted = []
        for segment, first, last in self.ledger.locate(part.first_seq, part.last_seq):
            mine = part.between(first, last)
            if mine.count:
                wanted.append((segment.number, segment.index, mine))
        fetch(self._files, self._disk, self.epoch, wanted, self._steady_ms, self.on_unreadable, done)

    # -- batches -------------------------------------------------------------------------------------------------------

    def turn_ended(self) -> None:
        """Hand what is wanted to the disk."""
        if self._wanted and (not self._writing or self._gathered.octets >= BATCH_OCTETS):
            self.commit()

    def commit(self) -> None:
        """Close the batch that gathers, if there is anything in it, and have it written."""
        if self._gathered:
            self._seal()
        self._write_next()

    def _seal(self) -> None:
        gathered, self._gathered = self._gathered, self._gathered.following()
        self._wanted = False
        segment, creates = self._segment_for(gathered.room)
        self.last_ticket += 1
        segment.newest_ms = self.clock.now_ms + self._steady_ms
        octets = gathered.encode(self.last_ticket, segment, self.ledger, self._steady_ms)
        batch = Batch(segment.number, segment.size if creates else 0, segment.used, octets)
        batch.promise(self.last_ticket, self.next_seq, gathered.octets, self.definitions.ticket)
        segment.used += len(octets)
        segment.first_ticket = segment.first_ticket or batch.ticket
        segment.last_ticket = batch.ticket
        self._sealed.append(batch)
        self.upkeep.sealed(batch)

    def commit_nothing(self) -> None:
        """Write an empty batch, for its ticket."""
        self._seal()
        self._write_next()

    def _segment_for(self, room: int) -> tuple[Segment, bool]:
        """Return the segment that takes a batch of up to `room` octets, and whether it is new."""
        segments = self.ledger.segments
        if segments and not segments[-1].sealed and segments[-1].used + room <= segments[-1].size:
            return segments[-1], False
        number = segments[-1].number + 1 if segments else 1
        number = max(number, self.upkeep.next_number)
        size = max(self.upkeep.segment_octets, fmt.HEADER_OCTETS + room)
        segment = Segment(number, fmt.seed(self.epoch, number), self.safe_first_seq(), size, fmt.HEADER_OCTETS)
        if segments and not segments[-1].sealed:
            self.upkeep.rolled(segments[-1])
        self.ledger.add(segment)
        self.upkeep.next_number = number + 1
        self.upkeep.begun()
        return segment, True

    def safe_first_seq(self) -> int:
        """Return the lowest seq that may come next: all below are in batches that were closed."""
        if self._sealed:
            return self._sealed[-1].next_seq
        return self.safe_seq

    def _write_next(self) -> None:
        if self._writing or self.failed or self.full or not self._sealed:
            return
        self._writing = True
        batch = self._sealed[0]
        self._journal.submit(partial(self._writer.write, batch), partial(self._written, batch))

    def _written(self, batch: Batch, error: "BaseException | None") -> None:
        self._writing = False
        self._quiet_ms = self.clock.now_ms
        if isinstance(error, DiskError) and error.full:
            # Nothing is lost: the batch is written when there is room again, and everything behind it.
            self.full = str(error)
            self._full_since_ms = self.clock.now_ms
            self._shrink(batch)
            self.upkeep.disk_is_full(self.full)
            return
        if error is not None:
            self.fail(str(error))
            return
        self._sealed.popleft()
        batch.octets = b""  # it may wait for definitions; its octets need not
        self._gated.append(batch)
        self.gate_moved()
        if self._wanted or self._gathered.octets >= EAGER_OCTETS:
            self.commit()
        else:
            self._write_next()

    def _shrink(self, batch: Batch) -> None:
        """Have a segment for which there was no room made no larger than what goes into it."""
        if batch.create:
            (segment,) = (each for each in self.ledger.segments if each.number == batch.number)
            segment.size = batch.create = segment.used

    def gate_moved(self) -> None:
        """Complete what is on disk, and whose definitions are too."""
        on_disk = self.definitions.completed
        while self._forgotten and self._forgotten[0][0] <= on_disk and self._forgotten[0][1] <= self.last_ticket:
            self.ledger.forget_queue(self._forgotten.popleft()[2])
        completed = 0
        while self._gated and self._gated[0].definitions_ticket <= on_disk:
            batch = self._gated.popleft()
            self.safe_seq = batch.next_seq
            self.uncommitted_octets -= batch.content_octets
            completed = batch.ticket
        if completed > self.completed:
            self.completed = completed
            self.upkeep.completed(completed)
            self.on_completed(completed)

    def tick(self) -> None:
        """Write what nobody waits for, prove the last batch when it is quiet. Called every `QUIET_MS`."""
        now_ms = self.clock.now_ms
        if self.failed:
            return
        if self.full:
            if now_ms - self._full_since_ms >= FULL_RETRY_MS:
                self._full_since_ms = now_ms
                self._try_again()
            return
        if self._gathered:
            if not self._writing:
                self.commit()
        elif self._proven < self.last_ticket == self.completed and now_ms - self._quiet_ms >= QUIET_MS:
            self._prove()
        self.upkeep.tick(now_ms)

    def _try_again(self) -> None:
        """Look whether there is room again: if not, the batch comes back."""
        self.full = ""
        self._write_next()

    def _prove(self) -> None:
        """Write down that the last batch is on disk: a torn tail and a damaged one can be told apart from then on."""
        segment = self.ledger.segments[-1]
        self._proven = self.last_ticket
        if segment.sealed or segment.used + fmt.PROVEN_RECORD_OCTETS > segment.size:
            return
        octets = fmt.proven(self.last_ticket, segment.seed)
        # In line with the batches: on a full disk it waits as they do, and no hole stays where it was to be.
        batch = Batch(segment.number, 0, segment.used, octets)
        batch.promise(self.last_ticket, self.safe_seq, 0, 0)
        segment.used += len(octets)
        self._sealed.append(batch)
        self._write_next()

    def fail(self, text: str) -> None:
        """Stop for good: after an error nobody knows what is on disk, and a second sync would say that all is well."""
        if not self.failed:
            self.failed = text
            self.on_failed(text)

    def close(
        self, redelivered: list[tuple[int, int, int, int]], done: "Callable[[BaseException | None], None]"
    ) -> None:
        """Write all there is, and a last checkpoint; then call `done`. Nothing may be appended afterwards."""
        self.commit()
        if self.failed or self.full:
            # Nobody was promised what is still here, and a checkpoint would claim to be the end of it.
            done(None)
            return
        if self._sealed or self._writing or self._gated:
            # The definitions' thread may be the one that is waited for.
            self._journal.submit(lambda: None, lambda _: self.close(redelivered, done))
            return
        self.upkeep.close(redelivered, lambda error: self._journal.submit(self._writer.close, lambda _: done(error)))


def _nobody(_: object) -> None:
    """Tell nobody: whoever wants to know puts something else in its place."""
