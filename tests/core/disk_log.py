"""DiskLog: a log whose disk is a dict. It completes batches and answers fetches when it is told to, and trusts nobody.

Who settles twice, asks for what is not safe yet or was settled, or leaves something unsettled, is found out.
"""

from collections import defaultdict, deque

from pybroker.run import Run
from pybroker.store.log import Log


class DiskLog(Log):
    """`live` is what each queue has not settled; `unreadable` are seqs that the disk has lost."""

    __slots__ = ("asked", "fetches", "forgotten", "live", "records", "ticket", "unreadable")

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[int, Run] = {}
        self.live: defaultdict[int, set[int]] = defaultdict(set)
        self.fetches: deque = deque()
        self.asked = 0
        self.ticket = 0
        self.unreadable: set[int] = set()
        self.forgotten: list[int] = []

    def append(self, run, indexes, queue_ids):
        record = run.part(indexes)
        for index in indexes:
            self.records[run.first_seq + index] = record
            for queue_id in queue_ids:
                self.live[queue_id].add(run.first_seq + index)
        self.ticket += 1
        return self.ticket

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
        if self.completed == self.ticket:
            return False
        self.safe_seq = self.next_seq
        broker.log_completed(self.ticket)
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
