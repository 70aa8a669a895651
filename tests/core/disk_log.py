"""DiskLog: a log whose disk is a dict. It completes batches and answers fetches when it is told to, and trusts nobody.

It detects a caller that settles twice, reads a message that is not safe yet or was settled, or leaves one unsettled.
"""

from collections import defaultdict, deque

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.queue import queue, ready
from pybroker.core.queue.paging import eviction, segments
from pybroker.core.queue.paging.segments import EvictedSegment
from pybroker.core.routing.publish import enqueue
from pybroker.run import Run, RunAttributes
from pybroker.seq_ranges import SeqRanges
from pybroker.store.log import Log
from tests.readers import Bench, run_of

PERSISTENT = RunAttributes(persistent=True)
SMALL = {
    segments: {"WINDOW_MESSAGES": 2, "WINDOW_OCTETS": 30},
    ready: {"ADVANCE_ENTRIES": 2},
    queue: {"PACK_BEHIND_MESSAGES": 1},
    eviction: {
        "RESIDENT_MESSAGES": 3,
        "RESIDENT_OCTETS": 40,
        "EVICT_ENTRIES": 2,
        "SEGMENT_ELEMENTS": 3,
        "FETCH_MESSAGES": 3,
        "FETCH_OCTETS": 40,
        "FETCH_PARTS": 4,
        "DROP_MESSAGES": 1,
    },
}


def shrink(monkeypatch) -> None:
    """Make all windows and shares tiny."""
    for module, constants in SMALL.items():
        for name, value in constants.items():
            assert hasattr(module, name)
            monkeypatch.setattr(module, name, value)


class DiskLog(Log):
    """`live` is what each queue has not settled; `unreadable` are seqs that the disk has lost."""

    __slots__ = ("asked", "commit_position", "fetches", "forgotten", "live", "records", "unreadable")

    def __init__(self) -> None:
        super().__init__()
        self.safe_seq = 1
        self.records: dict[int, Run] = {}
        self.live: defaultdict[int, set[int]] = defaultdict(set)
        self.fetches: deque = deque()
        self.asked = 0
        self.commit_position = 0
        self.unreadable: set[int] = set()
        self.forgotten: list[int] = []

    def append(self, run, indexes, queue_ids):
        record = run.part(indexes)
        for index in indexes:
            self.records[run.first_seq + index] = record
            for queue_id in queue_ids:
                self.live[queue_id].add(run.first_seq + index)
        self.commit_position += 1
        return self.commit_position

    def settle(self, queue_id, run, indexes):
        for index in indexes:
            self.live[queue_id].remove(run.first_seq + index)

    def settle_seqs(self, queue_id, first, last):
        for seq in range(first, last + 1):
            self.live[queue_id].remove(seq)

    def forget_queue(self, queue_id):
        self.forgotten.append(queue_id)
        del self.live[queue_id]

    def fetch(self, queue_id, part, done):
        seqs = [first + i for first, count, _ in part.ranges() for i in range(count)]
        assert seqs
        assert seqs == sorted(set(seqs))
        assert seqs[-1] < self.safe_seq
        assert self.live[queue_id].issuperset(seqs), "asked for what is settled"
        assert part.octets == sum(body_octets(self.records[seq], seq) for seq in seqs)
        self.asked += len(seqs)
        self.fetches.append((seqs, done))

    def complete(self, broker) -> bool:
        """Have everything on disk; False if it was."""
        if self.completed == self.commit_position:
            return False
        self.safe_seq = self.next_seq
        broker.log_completed(self.commit_position)
        return True

    def answer(self) -> bool:
        """Answer the oldest fetch; False if there is none."""
        if not self.fetches:
            return False
        seqs, done = self.fetches.popleft()
        done(self.read(seqs))
        return True

    def read(self, seqs):
        """Return runs as they would come from a disk: new ones, of which only a part may have been asked for."""
        found: list[tuple[Run, range]] = []
        last = None
        for seq in seqs:
            if seq in self.unreadable:
                continue
            record = self.records[seq]
            index = seq - record.first_seq
            if last is record and found[-1][1].stop == index:
                found[-1] = (found[-1][0], range(found[-1][1].start, index + 1))
            else:
                found.append((record.part(range(record.count)), range(index, index + 1)))
            last = record
        return found


def body_octets(record: Run, seq: int) -> int:
    index = seq - record.first_seq
    return record.body_octets_of(range(index, index + 1))


class DiskBench(Bench):
    """A durable queue whose log is a DiskLog."""

    def __init__(self, **arguments) -> None:
        super().__init__(**arguments)
        self.broker.log = self.log = DiskLog()

    def publish(self, *bodies, attributes=PERSISTENT, receipt=NO_RECEIPT):
        """Publish messages as one run, into the log first."""
        run = run_of(bodies, self.log.take(len(bodies)), attributes, self.now_ms)
        enqueue(self.log, run, range(len(bodies)), [self.queue], receipt)
        return run

    def fill(self, count: int, size: int = 1, attributes=PERSISTENT) -> None:
        """Publish messages one by one; what can be evicted is evicted then."""
        for _ in range(count):
            self.publish(b"x" * size, attributes=attributes)
        self.log.complete(self.broker)
        self.turn()

    def settle_down(self) -> None:
        """Complete and answer everything, and end the turn."""
        self.turn()
        while self.log.answer() or self.log.complete(self.broker):
            self.turn()


def parts_of(bench: DiskBench, level: int = 0) -> list[EvictedSegment]:
    segments = bench.queue.backlog.levels[level].segments
    return [] if segments is None else [part for part in segments.parts if isinstance(part, EvictedSegment)]


def evicted_seqs(bench: DiskBench) -> list[int]:
    """Return the seqs that are evicted, in all levels."""
    evicted = [
        part.seq_ranges
        for at in range(len(bench.queue.backlog.levels))
        for part in parts_of(bench, at)
        if not part.found
    ]
    return [first + i for seq_ranges in evicted for first, count, _ in seq_ranges.ranges() for i in range(count)]


def seq_ranges_of(seqs, size=1) -> SeqRanges:
    made = SeqRanges()
    for seq in seqs:
        made.add(seq, 1, size)
    return made


def on_disk(bench: DiskBench, seqs, priority: int = 0, ttl_ms: int | None = None) -> SeqRanges:
    """Have these messages in the log, of one octet each."""
    log = bench.log
    for seq in seqs:
        run = run_of([b"x"], seq, RunAttributes(persistent=True, priority=priority, ttl_ms=ttl_ms), bench.now_ms)
        log.append(run, range(1), (bench.queue.id,))
        log.next_seq = log.safe_seq = max(log.next_seq, seq + 1)
    return seq_ranges_of(seqs)
