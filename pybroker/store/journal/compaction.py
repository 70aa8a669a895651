"""Compaction: a segment in which little is still live is rewritten without the rest, under its own name and number.

Seqs do not change, so references to messages stay valid. Settled messages may go, because two checkpoints know that
they are settled. Until the new file has its name on disk, the old one stays.
"""

from typing import TYPE_CHECKING, NamedTuple

from pybroker.seq_ranges import SeqRanges, merge
from pybroker.store import format as fmt, publish_record
from pybroker.store.segments.ack_ranges import ranges, whole
from pybroker.store.segments.footer import Footer
from pybroker.store.segments.live_index import Index
from pybroker.store.segments.scan import Damaged
from pybroker.store.segments.segment import SegmentFile

if TYPE_CHECKING:
    from array import array

    from pybroker.store.disk import Disk
    from pybroker.store.segments.live_index import Target
    from pybroker.store.segments.scan import Record


class Compacted(NamedTuple):
    """The outcome: `octets` of the file, 0: it was left as it is, `complaint` why; `published` pairs in it."""

    octets: int
    published: int
    complaint: str = ""


def compact(
    disk: "Disk", log_id: int, number: int, index: Index, settled: "dict[int, list[array[int]]]", known: set[int]
) -> Compacted:
    """Write a sealed segment anew with what is live for the queues `known`; `index` is changed with it.

    `settled` is by queue what `AckRanges.copies` gives. Raises DiskError; the segment is as it was then.
    """
    file = SegmentFile(disk, number, log_id)
    try:
        footer = file.read_footer()
        if footer is None:
            return Compacted(0, 0)  # for want of room it has none; the next start makes it
        # Here, not on the hub: a queue that settled in scattered order has many of them.
        ordered = {queue_id: whole(parts) for queue_id, parts in settled.items() if queue_id in known}
        alive = {target: _alive(target, seq_ranges, ordered, known) for target, seq_ranges in footer.by_target.items()}
        writing = _Writing(log_id, number, footer, alive)
        for found in file.scan_all():
            if isinstance(found, Damaged):
                return Compacted(0, 0, f"segment {number:x} is not compacted: {found.octets} octets are damaged")
            writing.copy(found)
    finally:
        file.close()
    octets = writing.finish()
    disk.write_file(fmt.segment_name(number), octets)
    index.seqs, index.offsets = writing.index.seqs, writing.index.offsets
    return Compacted(len(octets), sum(len(known.intersection(t.queue_ids)) * s.count for t, s in alive.items()))


def _alive(target: "Target", seq_ranges: SeqRanges, settled: "dict[int, array[int]]", known: set[int]) -> SeqRanges:
    """Return what at least one queue still has."""
    alive = SeqRanges()
    for queue_id in target.queue_ids:
        if queue_id not in known:
            continue
        pairs = settled.get(queue_id)
        left = seq_ranges if pairs is None else seq_ranges.without(ranges(pairs))
        # Messages that another queue has are there already.
        alive = merge([alive, left.without((first, first + n - 1) for first, n, _ in alive.ranges())])
    return alive


class _Writing:
    """The new file's octets: one batch, as if it had been written at once."""

    def __init__(self, log_id: int, number: int, footer: Footer, alive: "dict[Target, SeqRanges]") -> None:
        self._log_id = log_id
        self._number = number
        self._seed = fmt.seed(log_id, number)
        self._footer = footer
        self._alive = alive
        self._targets: dict[int, Target] = {}
        self._records: list[bytes] = []
        self._at = fmt.HEADER_OCTETS + fmt.BATCH_RECORD_OCTETS
        self.index = Index()

    def copy(self, record: "Record") -> None:
        """Copy what is live of an old record."""
        if record.type == fmt.TARGETS:
            named = fmt.decode_targets(record.payload)
            for target in self._alive:
                if target == (named.priority, named.timed, named.queue_ids):
                    self._targets[named.set_id] = target
            self._add(fmt.record(fmt.TARGETS, record.payload, self._seed))
        elif record.type == fmt.PUBLISH:
            set_id, messages = publish_record.messages_of(record.payload)
            first, last = messages[0][0], messages[-1][0] + messages[-1][1] - 1
            target = self._targets[set_id]
            alive = self._alive[target].between(first, last)
            if not alive.count:
                return
            whole = alive.count == last - first + 1
            if not whole and publish_record.has_entries(record.payload):
                # It is not taken apart: what is settled of it is known, and stays.
                more = SeqRanges()
                more.add(first, last - first + 1, messages[0][2])
                settled = more.without((start, start + count - 1) for start, count, _ in alive.ranges())
                self._alive[target] = merge([self._alive[target], settled])
                whole = True
            if whole:
                self.index.add(first, self._at)
                self._add(fmt.record(fmt.PUBLISH, record.payload, self._seed))
                return
            run = publish_record.decode_publish(record.payload)
            indexes = [range(start - first, start - first + count) for start, count in _joined(alive)]
            for each in indexes:
                self.index.add(first + each.start, self._at)
                self._add(publish_record.publish(set_id, run, each, run.arrived_ms, self._seed))

    def _add(self, record: bytes) -> None:
        self._records.append(record)
        self._at += len(record)

    def finish(self) -> bytes:
        """Return the whole file."""
        old = self._footer
        body = b"".join(self._records)
        batch = fmt.batch_header(old.last_commit_position, old.newest_ms, len(self._records), len(body), self._seed)
        by_target = {target: seq_ranges for target, seq_ranges in self._alive.items() if seq_ranges.count}
        footer = Footer(old.first_commit_position, old.last_commit_position, old.newest_ms, by_target, self.index)
        parts = [
            fmt.segment_header(self._number, self._log_id, self._at),
            batch,
            body,
            fmt.record(fmt.FOOTER, footer.encode(), self._seed),
            fmt.trailer(self._at),
        ]
        return b"".join(parts)


def _joined(seq_ranges: SeqRanges) -> list[tuple[int, int]]:
    """Return consecutive seqs as (first, count), whatever the sizes of the bodies."""
    joined: list[tuple[int, int]] = []
    for first, count, _ in seq_ranges.ranges():
        if joined and sum(joined[-1]) == first:
            joined[-1] = joined[-1][0], joined[-1][1] + count
        else:
            joined.append((first, count))
    return joined
