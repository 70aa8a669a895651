"""Appends and settles of turns until a batch is closed, and the octets of that batch.

Messages keep their order; settled seqs are joined to ranges, since their order does not matter: a seq is never used
twice, so publishes and settles may be put together whichever came first.
"""

from array import array
from typing import TYPE_CHECKING, Final, TypeAlias

from pybroker.entries_run import EntriesRun
from pybroker.store import format as fmt, publish_record
from pybroker.store.segments.ack_ranges import normalized
from pybroker.store.segments.delay import encode_delay
from pybroker.store.segments.live_index import Target

if TYPE_CHECKING:
    from pybroker.run import Run
    from pybroker.store.segments.delay import Group
    from pybroker.store.segments.live_index import LiveIndex, Segment

# Messages `start .. stop - 1` of a run, and the queues they reached.
Append: TypeAlias = "tuple[Run, int, int, tuple[int, ...]]"

# A record's overhead at most, for the guess whether a batch fits its segment: heads, names of 255 octets each.
RECORD_OCTETS_MAX: Final = 640


class BatchBuilder:
    """`octets` are those of the contents, as they came."""

    __slots__ = ("_grown", "appends", "octets", "returned", "settles")

    def __init__(self, grown: "tuple[Run | None, int, int]" = (None, 0, 0)) -> None:
        self.appends: list[Append] = []
        self.settles: dict[int, array[int]] = {}
        self.returned: dict[tuple[int, int, int], array[int]] = {}  # by queue, deliveries, and when it is due
        self.octets = 0
        # The last run appended, if from its beginning; up to which message, and how many octets these have.
        self._grown = grown

    def __bool__(self) -> bool:
        return bool(self.appends or self.settles or self.returned)

    def following(self) -> "BatchBuilder":
        """Return what gathers next: the last run may grow on."""
        return BatchBuilder(self._grown)

    def append(self, run: "Run", indexes: range, queue_ids: tuple[int, ...]) -> int:
        """Add messages; return how many octets they have."""
        start, stop = indexes.start, indexes.stop
        appends = self.appends
        last, end, before = self._grown
        if last is run and start == end:
            octets = run.octets - before if stop == run.count else sum(map(len, run.contents_at(indexes)))
            self._grown = (run, stop, before + octets)
            if appends:
                run_, start_, stop_, ids = appends[-1]
                if run_ is run and stop_ == start and ids == queue_ids:
                    appends[-1] = (run, start_, stop, queue_ids)
                    self.octets += octets
                    return octets
        else:
            octets = run.octets if len(indexes) == run.count else sum(map(len, run.contents_at(indexes)))
            self._grown = (None, 0, 0) if start else (run, stop, octets)
        appends.append((run, start, stop, queue_ids))
        self.octets += octets
        return octets

    def withdraw_entries(self, queue_id: int) -> None:
        """Take out entries that reached this queue alone: they are on disk elsewhere."""
        left: list[Append] = []
        for each in self.appends:
            if isinstance(each[0], EntriesRun) and each[3] == (queue_id,):
                self.octets -= each[0].octets
            else:
                left.append(each)
        self.appends = left

    def settle(self, queue_id: int, run: "Run", indexes: range) -> None:
        """Add what a queue has done with."""
        first = run.first_seq + indexes.start
        n = len(indexes)
        if indexes.step == 1 or n == 1:
            self.settle_seqs(queue_id, first, first + n - 1)
        else:
            _add(self.settles.setdefault(queue_id, array("Q")), run, indexes)

    def give_back(self, queue_id: int, run: "Run", indexes: range, deliveries: int, due_ms: int) -> None:
        """Add what came back to a queue, delivered so often, and waits until then (0: it does not)."""
        _add(self.returned.setdefault((queue_id, deliveries, due_ms), array("Q")), run, indexes)

    def settle_seqs(self, queue_id: int, first: int, last: int) -> None:
        """Add what a queue has done with, by seqs."""
        pairs = self.settles.get(queue_id)
        if pairs is None:
            pairs = self.settles[queue_id] = array("Q")
        elif pairs[-1] + 1 == first:
            pairs[-1] = last
            return
        pairs.append(first)
        pairs.append(last)

    @property
    def room(self) -> int:
        """Return how many octets it becomes at most."""
        # In loops: most batches have one element of all this, for which a generator costs more than the sum.
        room = self.octets + RECORD_OCTETS_MAX * (len(self.appends) + 1)
        named: set[tuple[int, ...]] = set()
        for run, start, stop, ids in self.appends:
            if not isinstance(run, EntriesRun):
                room += 4 * (stop - start)
            if ids not in named:
                named.add(ids)
                room += 64 + 8 * len(ids)
        for pairs in self.settles.values():
            room += 16 + 8 * len(pairs)
        for pairs in self.returned.values():
            room += 24 + 8 * len(pairs)
        return room

    def encode(self, commit_position: int, segment: "Segment", live_index: "LiveIndex", steady_ms: int) -> bytes:
        """Return the batch's octets, to be written at the segment's end. The live index learns of them, last."""
        seed = segment.seed
        published: list[tuple[Target, Run, range]] = []
        groups: list[tuple[int, int, array[int]]] = []
        delayed: list[Group] = []
        records: list[bytes] = []
        at = segment.used + fmt.BATCH_RECORD_OCTETS
        segment.name_again()
        targets = segment.targets
        add_point, due = segment.index.add, 0
        for run, start, stop, queue_ids in self.appends:
            attributes = run.attributes
            target = Target(attributes.priority, attributes.ttl_ms is not None, queue_ids)
            set_id = targets.get(target)
            if set_id is None:
                set_id = segment.name(target)
                record = fmt.targets(set_id, target.priority, target.timed, queue_ids, seed)
                records.append(record)
                at += len(record)
            indexes = range(start, stop)
            if at >= due:
                due = add_point(run.first_seq + start, at)
            record = publish_record.publish(set_id, run, indexes, run.arrived_ms + steady_ms, seed)
            records.append(record)
            at += len(record)
            published.append((target, run, indexes))
        if self.settles or self.returned:
            groups = [(queue_id, 0, normalized(pairs)) for queue_id, pairs in self.settles.items()]
            for (queue_id, times, due_ms), pairs in self.returned.items():
                if due_ms:
                    delayed.append((queue_id, times, due_ms + steady_ms, normalized(pairs)))
                else:
                    groups.append((queue_id, times, normalized(pairs)))
            if groups:
                records.append(fmt.settle(groups, seed))
            if delayed:
                records.append(encode_delay(delayed, seed))
        size = sum(map(len, records))
        octets = b"".join((fmt.batch_header(commit_position, segment.newest_ms, len(records), size, seed), *records))
        for target, run, indexes in published:
            segment.publish(target, run, indexes)
        for queue_id, deliveries, pairs in groups:
            if deliveries:
                live_index.returned.add(queue_id, deliveries, 0, pairs)
            else:
                live_index.settle(queue_id, pairs)
        for queue_id, deliveries, due_ms, pairs in delayed:
            live_index.returned.add(queue_id, deliveries, due_ms, pairs)
        return octets


def _add(pairs: "array[int]", run: "Run", indexes: range) -> None:
    """Append messages as ranges: one for all, or one each if they are a stride."""
    first = run.first_seq
    if indexes.step == 1:
        pairs.extend((first + indexes.start, first + indexes[-1]))
    else:
        for index in indexes:
            pairs.extend((first + index, first + index))
