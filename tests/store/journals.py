"""A journal on a disk of the test's choice, with workers that work when they are told to."""

from pybroker.run import Names, Run, RunAttributes
from pybroker.seq_ranges import SeqRanges, merge
from pybroker.session import Turn
from pybroker.store.journal.journal import Journal
from pybroker.store.memory import MemoryDefinitions
from pybroker.store.recovery.recovery import Recovery
from pybroker.store.segments.log_id import find
from pybroker.store.segments.segment import SegmentFile
from tests.clock import FakeClock
from tests.entries import bodies_of, entries_run
from tests.inline_worker import InlineWorker
from tests.store.records import rows_from

NAMES = Names("", "q", b"\x00\x01q\xce")
PERSISTENT = RunAttributes(persistent=True)


def content(body: bytes) -> bytes:
    """Return one message as it came: header frame with delivery-mode 2, and a body frame."""
    header = b"\x00\x3c\x00\x00" + len(body).to_bytes(8) + b"\x10\x00\x02"
    frames = b"\x02\x00\x01" + len(header).to_bytes(4) + header + b"\xce"
    return frames + b"\x03\x00\x01" + len(body).to_bytes(4) + body + b"\xce"


def body(octets: bytes) -> bytes:
    """Return the body of `content`."""
    return octets[30:-1]


def open_segment(disk, number=1):
    """Open a segment of a log, whose id is looked for as a start does."""
    return SegmentFile(disk, number, find(disk).log_id)


class Node:
    """One life of a log. `live` are the queues that exist; `steps` runs the workers dry unless told not to."""

    def __init__(self, disk, queues=(1, 2, 3), largest=None, clock=None, root=None):
        self.disk = disk
        self.clock = clock or FakeClock()
        self.turn = Turn()
        self.journal_worker, self.files_worker = InlineWorker(), InlineWorker()
        self.recovered = Recovery(disk, set(queues), lambda done, of: None, root).run()
        self.log = Journal(
            disk,
            self.journal_worker,
            self.files_worker,
            self.clock,
            self.turn,
            MemoryDefinitions(),
            self.recovered,
            root,
        )
        if largest:
            self.log.maintenance.largest_octets = self.log.maintenance.segment_octets = largest
        self.completed, self.failed, self.full, self.unreadable = [], [], [], []
        self.log.on_completed = self.completed.append
        self.log.on_failed = self.failed.append
        self.log.on_full = self.full.append
        self.log.on_unreadable = self.unreadable.append

    def publish(self, bodies, queues=(1,), attributes=PERSISTENT):
        """Append messages as one run; return it."""
        contents = [content(each) for each in bodies]
        sizes = {len(each) for each in bodies}
        octets, body_octets = sum(map(len, contents)), sum(map(len, bodies))
        size = sizes.pop() if len(sizes) == 1 else -1
        seq = self.log.take(len(contents))
        run = Run(NAMES, attributes, seq, contents, octets, body_octets, size, self.clock.now_ms, 1, 131072)
        self.commit_position = self.log.append(run, range(len(contents)), tuple(queues))
        return run

    def publish_entries(self, bodies, queues=(1,)):
        """Append messages as entries of the stream protocol; return the run."""
        run = entries_run(self.log.take(len(bodies)), *bodies, arrived_ms=self.clock.now_ms)
        self.commit_position = self.log.append(run, range(run.count), tuple(queues))
        return run

    def settle(self, run, indexes=None, queue=1):
        self.log.settle(queue, run, range(run.count) if indexes is None else indexes)

    def commit(self):
        """Have everything written, and what follows from it done."""
        self.log.commit()
        self.work()

    def work(self):
        while len(self.journal_worker) or len(self.files_worker):
            self.journal_worker.run()
            self.files_worker.run()

    def tick(self, ms=100):
        self.clock.now_ms += ms
        self.log.tick()
        self.work()

    def close(self, redelivered=()):
        done = []
        self.log.close(rows_from(redelivered), done.append)
        self.work()
        assert [None] == done

    def live(self, queue=1):
        """Return the seqs that recovery found for a queue."""
        whole = merge([seq_ranges for _, _, seq_ranges in self.recovered.queues.get(queue, [])])
        return [first + i for first, count, _ in whole.ranges() for i in range(count)]

    def bodies(self, seqs, queue=1):
        """Read messages back."""
        part = SeqRanges()
        for seq in seqs:
            part.add(seq, 1, 0)
        got = []
        self.log.fetch(queue, part, got.extend)
        self.work()
        return {run.first_seq + i: bodies_of(run)[i] for run, indexes in got for i in indexes}
