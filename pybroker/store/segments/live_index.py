"""Live messages of the log, by segment. Plain numbers and ranges; knows neither files nor messages.

A *pair* is a message in a queue: a message that reached three queues is three pairs. Each segment counts its live
pairs, and has for each queue the seqs that this one has settled. A checkpoint stores no more than this: the segments
themselves have the published messages.
"""

from array import array
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.content_view import body_sizes
from pybroker.seq_ranges import SeqRanges
from pybroker.store.segments.ack_ranges import AckRanges, ranges
from pybroker.store.segments.checkpoint import Listed
from pybroker.store.segments.returned import Returned
from pybroker.store.segments.returned_rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pybroker.run import Run

# The sparse index of a segment has a point this often.
INDEX_EVERY_OCTETS: Final = 4_096
# How often targets are named in a segment at least, while they are used: one damaged record is not to cost them all.
NAME_EVERY_OCTETS: Final = 1_048_576
# So many queues that were forgotten last are remembered: of them alone nothing need be counted when it is settled.
FORGOTTEN_MAX: Final = 4_096


class Target(NamedTuple):
    """The queues of messages, and all a queue must know to put them in place. Has one id in each segment."""

    priority: int
    timed: bool
    queue_ids: tuple[int, ...]


class Index:
    """Positions of a segment's records: one for every few KiB. Grows while the segment is written."""

    __slots__ = ("offsets", "seqs")

    def __init__(self, seqs: "array[int] | None" = None, offsets: "array[int] | None" = None) -> None:
        self.seqs = seqs if seqs is not None else array("Q")
        self.offsets = offsets if offsets is not None else array("I")

    def add(self, seq: int, offset: int) -> int:
        """Learn where the record lies that begins with this message: a point, if the one before is far enough away.

        Return the lowest offset of the next point: callers may skip records before it.
        """
        offsets = self.offsets
        if not offsets or offset - offsets[-1] >= INDEX_EVERY_OCTETS:
            self.seqs.append(seq)
            offsets.append(offset)
        return offsets[-1] + INDEX_EVERY_OCTETS


class Segment:
    """One segment file as the hub knows it.

    Its messages have seqs from `first_seq` to `last_seq`, which is below the next segment's first; 0: it has none.
    `by_target` says by target what was published; it is kept until the footer is on disk, as are `sets`, the targets'
    numbers, and `targets`, those named lately. `last_commit_position` is its last batch, of `newest_ms` in steady wall
    time. `used` octets of `size` are written. `seed` is what the crc of each of its records begins from. `kept`: its
    counts are wrong, so it stays; `dead`: the newest checkpoint says that nothing in it is live.
    """

    __slots__ = (
        "by_target",
        "dead",
        "first_commit_position",
        "first_seq",
        "index",
        "kept",
        "last_commit_position",
        "last_seq",
        "live",
        "name_at",
        "newest_ms",
        "number",
        "pairs",
        "published",
        "sealed",
        "seed",
        "sets",
        "settled",
        "size",
        "targets",
        "used",
    )

    def __init__(self, number: int, seed: int, first_seq: int, size: int, used: int) -> None:
        self.number = number
        self.seed = seed
        self.first_seq = first_seq
        self.last_seq = 0
        self.first_commit_position = 0
        self.last_commit_position = 0
        self.newest_ms = 0
        self.size = size
        self.used = used
        self.live = 0
        self.published = 0
        self.pairs: dict[int, int] = {}
        self.settled: dict[int, AckRanges] = {}
        self.sets: dict[Target, int] = {}
        self.targets: dict[Target, int] = {}
        self.name_at = used
        self.by_target: dict[Target, SeqRanges] = {}
        self.index = Index()
        self.sealed = self.dead = self.kept = False

    def name_again(self) -> None:
        """Have targets named when they are next used, if that was a while ago: twice as far each time, to a limit."""
        if self.used >= self.name_at:
            self.name_at = self.used + min(self.used, NAME_EVERY_OCTETS)
            self.targets = {}

    def name(self, target: Target) -> int:
        """Return the number of a target that is to be named now."""
        number = self.targets[target] = self.sets.setdefault(target, len(self.sets) + 1)
        return number

    def publish(self, target: Target, run: "Run", indexes: range) -> None:
        """Count consecutive messages of a run."""
        n = len(indexes)
        seq_ranges = self.by_target.get(target)
        if seq_ranges is None:
            seq_ranges = self.by_target[target] = SeqRanges()
        first = run.first_seq + indexes.start
        self.last_seq = max(self.last_seq, first + n - 1)
        if run.body_size >= 0:
            seq_ranges.add(first, n, run.body_size)
        else:
            for seq, size in enumerate(body_sizes(run.contents_at(indexes)), first):
                seq_ranges.add(seq, 1, size)
        self.count(target.queue_ids, n)

    def count(self, queue_ids: tuple[int, ...], n: int) -> None:
        """Count `n` messages for each of these queues as live."""
        pairs = self.pairs
        for queue_id in queue_ids:
            pairs[queue_id] = pairs.get(queue_id, 0) + n
        self.published += n * len(queue_ids)
        self.live += n * len(queue_ids)

    def live_of(self, queue_id: int, part: SeqRanges) -> SeqRanges:
        """Return what of a queue's messages here lives still."""
        if self.dead or not self.pairs.get(queue_id):
            return SeqRanges()
        left = part.between(self.first_seq, self.last_seq)
        if left.count and (settled := self.settled.get(queue_id)) is not None:
            for pairs in settled.within(left.first_seq, left.last_seq):
                left = left.without(ranges(pairs))
        return left

    def settle(self, queue_id: int, first: int, last: int) -> bool:
        """Count seqs as settled. Return whether they can be: so many of this queue live between these seqs."""
        left = self.pairs.get(queue_id, 0)
        n = last - first + 1
        if n > left or first < self.first_seq or last > self.last_seq:
            self.kept = True
            return False
        self.live -= n
        if left == n:
            # Its ranges stay: without them a restart would bring the messages back.
            self.pairs[queue_id] = 0
        else:
            self.pairs[queue_id] = left - n
        ranges = self.settled.get(queue_id)
        if ranges is None:
            ranges = self.settled[queue_id] = AckRanges()
        ranges.add(first, last)
        return True


class LiveIndex:
    """Segments in the order of their seqs; the last one is being written, if there is any.

    `on_broken` is called with a text if counts are impossible: they decide what is unlinked, so the operator must know.
    """

    __slots__ = ("_first_seqs", "_forgotten", "_forgotten_first", "on_broken", "returned", "segments")

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.returned = Returned()  # of queues that count deliveries
        self._first_seqs: list[int] = []
        self._forgotten: set[int] = set()
        self._forgotten_first: deque[int] = deque()
        self.on_broken: Callable[[str], None] = _nobody

    def add(self, segment: Segment) -> None:
        """Append a segment, whose seqs are above all others."""
        self.segments.append(segment)
        self._first_seqs.append(segment.first_seq)

    def remove(self, segment: Segment) -> None:
        """Take out a segment that is no more."""
        at = self.segments.index(segment)
        del self.segments[at]
        del self._first_seqs[at]

    def locate(self, first: int, last: int) -> "Iterable[tuple[Segment, int, int]]":
        """Give the segments in which seqs `first .. last` are, with the part that is in each."""
        firsts, segments = self._first_seqs, self.segments
        at = bisect_right(firsts, first) - 1
        if at < 0:
            at, first = 0, firsts[0] if firsts else last + 1
        while first <= last:
            end = firsts[at + 1] - 1 if at + 1 < len(firsts) else last
            if first <= end:
                yield segments[at], first, min(last, end)
                first = end + 1
            at += 1

    def settle(self, queue_id: int, pairs: "array[int]") -> None:
        """Count seq ranges (first, last, first, last ...) of a queue as settled; of one forgotten nothing is live."""
        if queue_id in self._forgotten:
            return
        for first, last in ranges(pairs):
            counted = 0
            for segment, start, end in self.locate(first, last):
                if segment.settle(queue_id, start, end):
                    counted += end - start + 1
            if counted != last - first + 1:
                self.on_broken(
                    f"internal error in the log: messages {first} to {last} of queue {queue_id} are settled, "
                    f"but {last - first + 1 - counted} of them are in no segment; segments that may contain "
                    "them are kept"
                )

    def forget_queue(self, queue_id: int) -> None:
        """Count nothing of a queue as live any more."""
        for segment in self.segments:
            segment.live -= segment.pairs.pop(queue_id, 0)
            segment.settled.pop(queue_id, None)
        self.returned.forget(queue_id)
        self._forgotten.add(queue_id)
        self._forgotten_first.append(queue_id)
        if len(self._forgotten_first) > FORGOTTEN_MAX:
            self._forgotten.discard(self._forgotten_first.popleft())

    def settled(self) -> dict[int, dict[int, "array[int]"]]:
        """Return settled messages by segment number and queue, as a checkpoint stores them. The arrays are copies."""
        return {
            segment.number: {queue_id: ranges.copy() for queue_id, ranges in segment.settled.items()}
            for segment in self.segments
            if segment.settled
        }

    def listed(self) -> dict[int, Listed]:
        """Return what a checkpoint says of the segments that there are, by number. The dicts are copies."""
        return {
            each.number: Listed(
                each.number,
                each.first_commit_position,
                each.last_commit_position,
                each.first_seq,
                each.sealed,
                {queue_id: live for queue_id, live in each.pairs.items() if live},
            )
            for each in self.segments
        }


class Missing(NamedTuple):
    """A segment that should be there and is not; `live` says how many messages were in it, by queue, if it is known."""

    name: str
    live: dict[int, int]


@dataclass(slots=True)
class Recovered:
    """The result of a start. `queues`: live messages, by id, as (priority, timed, messages); `reports`: anomalies.
    If `is_damaged` there are some among them that may have cost records; a damaged checkpoint costs none.

    Below `next_queue_id` are the ids of all queues that messages in the log reached, even if a queue does not exist: a
    kill may leave a message whose queue was not on disk yet, and the message must not become another queue's.

    `returned` has messages that had been delivered before, as rows; after a clean stop all of them, else those of
    queues that count deliveries. `next_number` is the number of the next segment. `missing` are segments that should be
    there.
    """

    live_index: LiveIndex = field(default_factory=LiveIndex)
    log_id: int = -1  # not looked for yet
    next_seq: int = 1
    next_queue_id: int = 1
    commit_position: int = 0
    newest_ms: int = 0
    checkpoints: list[int] = field(default_factory=list)
    clean: bool = False
    returned: Rows = field(default_factory=dict)
    queues: dict[int, list[tuple[int, bool, SeqRanges]]] = field(default_factory=dict)
    reports: list[str] = field(default_factory=list)
    is_damaged: bool = False
    cut: str = ""
    next_number: int = 1
    missing: list[Missing] = field(default_factory=list)

    def add_damage(self, report: str) -> None:
        """Report that records may be lost."""
        self.reports.append(report)
        self.is_damaged = True


def _nobody(_: str) -> None:
    """Do nothing; a placeholder for a callback."""
