"""Recovery of the log at a start. Reads checkpoint, footers and the tail's records.

A batch that is followed by another one was complete, because nothing is written behind a batch that is not on disk. So
a bad record in it is damage: the record is put into quarantine and reported, everything else stays. The last batch
counts only if all of it is sound; else the power failed while it was written, nothing in it was confirmed, and it is
cut off without an alarm. Neither ever keeps the broker from starting.
"""

from typing import TYPE_CHECKING, Final

from pybroker.seq_ranges import SeqRanges
from pybroker.store import format as fmt, publish_record
from pybroker.store.disk import NEW_SUFFIX, DiskError
from pybroker.store.recovery.count_live import count_live
from pybroker.store.recovery.expected import Expected
from pybroker.store.recovery.quarantine import quarantine, set_aside
from pybroker.store.recovery.reading import UNKNOWN, BatchRead, SegmentRead
from pybroker.store.segments import log_id as log_ids
from pybroker.store.segments.ack_ranges import AckRanges, ranges
from pybroker.store.segments.checkpoint import Checkpoint, checkpoint_name
from pybroker.store.segments.delay import decode_delay
from pybroker.store.segments.footer import Footer
from pybroker.store.segments.live_index import Recovered, Segment, Target
from pybroker.store.segments.newest import Newest
from pybroker.store.segments.returned_rows import of_queues
from pybroker.store.segments.scan import Damaged
from pybroker.store.segments.segment import SegmentFile, seal_segment, segment_number

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Collection

    from pybroker.store.disk import Disk
    from pybroker.store.segments.delay import Group
    from pybroker.store.segments.scan import Record

__all__ = ["Recovered", "Recovery"]

# No commit position is above it.
_ALL: Final = (1 << 64) - 1


class Recovery:
    """One start's look at a log. `known` are the ids of the queues that exist; messages of others are gone with them.

    `root` is the data folder, if it is not the log's own.
    """

    def __init__(
        self,
        disk: "Disk",
        known: "Collection[int]",
        progress: "Callable[[int, int], None]",
        root: "Disk | None" = None,
    ) -> None:
        self._disk = disk
        self._newest = Newest(root or disk)
        self._known = known
        self._progress = progress
        self._found = Recovered()
        self._segments: list[SegmentRead] = []
        self._settles: list[tuple[int, int, array[int]]] = []
        self._delays: list[Group] = []
        self._pending: BatchRead | None = None
        self._proven = 0
        self._sure = -1
        self._last = 0  # the commit position read last: the next is one more, whatever a checkpoint knows already

    def run(self) -> Recovered:
        """Return what is there; the files are in order then: every segment has its footer, the torn tail is cut."""
        found = self._found
        self._remove_scraps()
        found.log_id, told, valid, complaints = log_ids.find(self._disk)
        found.reports += complaints
        base = valid[0] if valid else Checkpoint(found.log_id)
        expected = Expected(self._disk, self._newest, base, found)
        found.checkpoints = [each.commit_position for each in valid]
        found.commit_position = base.commit_position
        # Unreadable octets are kept, whatever they are: they do not look like the end of anything.
        self._proven = base.commit_position if told else _ALL
        # Behind a footer whose sync failed one more checkpoint is written at most.
        self._sure = valid[1].commit_position if len(valid) > 1 else -1
        found.next_seq = max(1, base.next_seq)
        names = expected.names()
        # Also if all segments are there: one that was compacted has lost its settles, which two checkpoints had.
        # None of its segments can be read then.
        found.is_damaged = found.is_damaged or bool(names and not told)
        if names and not valid:
            found.reports.append(
                "all checkpoints of the log are missing or damaged: acknowledged messages may be delivered again"
            )
        for at, name in enumerate(names):
            self._progress(at, len(names))
            self._read(name, base)
        self._end_of_log()
        last = self._segments[-1] if self._segments else None
        for segment in self._segments:
            if segment.tail and not segment.footed:
                # Its last sync may have failed: the system shows it all the same, and would let a later one pass.
                segment.file.write_again(segment.tail, segment.end)
        if last and not last.footed and (last.file.short or self._last < base.commit_position):
            self._lost_end(last)
        found.commit_position = max(found.commit_position, base.commit_position)
        lost = expected.compare(
            {segment.number for segment in self._segments},
            {segment.number for segment in self._segments if segment.last_commit_position},
        )
        self._seal(base)
        self._count(base)
        expected.report(lost, self._settles, self._known)
        if not valid:
            self._begin_log()
        found.clean = base.clean and base.commit_position == found.commit_position
        if found.clean:
            found.returned = of_queues(base.returned, self._known)
        else:
            found.returned = found.live_index.returned.tidy(found.live_index.settled(), 0)
        self._progress(len(names), len(names))
        return found

    def _begin_log(self) -> None:
        """Write a first checkpoint, so that not only segments know the log id, and a start that there were some."""
        found, live_index = self._found, self._found.live_index
        begun = Checkpoint(found.log_id, found.commit_position, found.next_seq, settled=live_index.settled())
        begun.returned = live_index.returned.tidy(begun.settled, 0)
        begun.next_number, begun.listed = found.next_number, live_index.listed()
        try:
            self._disk.write_file(checkpoint_name(begun.commit_position), begun.encode())
        except DiskError as error:
            if not error.full:
                raise

    def _remove_scraps(self) -> None:
        """Remove what a kill left half made."""
        for name in self._disk.names():
            if name.endswith(NEW_SUFFIX):
                self._disk.unlink(name)

    # -- reading -------------------------------------------------------------------------------------------------------

    def _read(self, name: str, base: "Checkpoint") -> None:
        number = segment_number(name)
        assert number is not None
        file = SegmentFile(self._disk, number, self._found.log_id)
        if file.complaint:
            self._found.add_damage(file.complaint)
        segment = SegmentRead(number, file)
        self._segments.append(segment)
        footer = file.read_footer()
        if footer is not None:
            if footer.last_commit_position > self._sure:
                file.write_footer_again()
            self._follows(segment, footer.first_commit_position)
            segment.footed = True
            segment.by_target = footer.by_target
            segment.index = footer.index
            segment.first_commit_position, segment.last_commit_position = (
                footer.first_commit_position,
                footer.last_commit_position,
            )
            segment.newest_ms = footer.newest_ms
            self._commit_position(footer.last_commit_position)
            # It was written when these batches were on disk.
            self._proven = max(self._proven, footer.last_commit_position)
            if footer.last_commit_position <= base.commit_position:
                self._flush_if_followed(footer.first_commit_position)
                self._last = footer.last_commit_position
                return
        for record in file.scan_all():
            if isinstance(record, Damaged):
                self._damage(segment, record)
            else:
                self._take(segment, record, base)

    def _take(self, segment: SegmentRead, record: "Record", base: "Checkpoint") -> None:
        kind, payload = record.type, record.payload
        segment.end = record.offset + fmt.RECORD_OCTETS + len(payload)
        if kind in {fmt.BATCH, fmt.PROVEN}:
            segment.tail = record.offset
        if kind == fmt.BATCH:
            head = fmt.decode_batch(payload)
            self._flush_if_followed(head.commit_position)
            if not segment.first_commit_position:
                self._follows(segment, head.commit_position)
            self._begin(segment, head.commit_position, record.offset, head.records)
            segment.newest_ms = max(segment.newest_ms, head.wall_ms)
            return
        if kind == fmt.PROVEN:
            self._proven = max(self._proven, fmt.decode_proven(payload))
        if kind in {fmt.PROVEN, fmt.FOOTER}:
            # Written when all before it was on disk, also a batch whose damaged head no longer tells its position.
            if self._pending is not None:
                self._flush(self._pending)
                self._pending = None
            return
        batch = self._pending
        if batch is None or batch.segment is not segment or (batch.left <= 0 and not batch.guessed):
            # The head of this batch is damaged; a batch's commit position is one more than that of the one before.
            batch = self._begin(segment, self._last + 1, record.offset, UNKNOWN)
        batch.left -= 1
        if kind == fmt.TARGETS:
            targets = fmt.decode_targets(payload)
            segment.targets[targets.set_id] = Target(targets.priority, targets.timed, targets.queue_ids)
        elif kind == fmt.PUBLISH and not segment.footed:
            batch.publishes.append((record.offset, *publish_record.messages_of(payload)))
        elif kind == fmt.SETTLE and batch.commit_position > base.commit_position:
            batch.settles += fmt.decode_settle(payload)
        elif kind == fmt.DELAY and batch.commit_position > base.commit_position:
            batch.delays += decode_delay(payload)

    def _begin(self, segment: SegmentRead, commit_position: int, offset: int, records: int) -> BatchRead:
        if self._pending is not None:
            self._flush(self._pending)
        self._last = commit_position
        self._commit_position(commit_position)
        segment.first_commit_position = segment.first_commit_position or commit_position
        segment.last_commit_position = max(segment.last_commit_position, commit_position)
        self._pending = BatchRead(segment, commit_position, offset, records)
        return self._pending

    def _commit_position(self, commit_position: int) -> None:
        self._found.commit_position = max(self._found.commit_position, commit_position)

    def _follows(self, segment: SegmentRead, commit_position: int) -> None:
        """Learn a segment's first position: it goes on where the one before ended, if that has not lost its end."""
        before = self._segments[-2] if len(self._segments) > 1 else None
        if before and before.number + 1 == segment.number and not before.footed and commit_position > self._last + 1:
            self._lost_end(before)

    def _lost_end(self, segment: SegmentRead) -> None:
        name = segment.file.name
        self._found.add_damage(f"segment {name} is damaged: its end is missing, with the messages in it")

    def _damage(self, segment: SegmentRead, damaged: Damaged) -> None:
        """Keep damage for the batch it lies in; behind a whole one it is the beginning of another."""
        batch = self._pending
        if batch is None or batch.whole or batch.segment is not segment:
            batch = self._begin(segment, self._last + 1, damaged.offset, UNKNOWN)
        batch.left -= 1
        batch.damaged.append(damaged)
        segment.end = damaged.offset + damaged.octets

    # -- what counts ---------------------------------------------------------------------------------------------------

    def _flush_if_followed(self, commit_position: int) -> None:
        """Take the batch that is followed by one with this commit position; torn octets of a footer were none."""
        batch = self._pending
        if batch is None:
            return
        if batch.commit_position < commit_position:
            self._flush(batch)
            self._pending = None
        elif batch.unreadable:
            self._forget(batch)
            self._pending = None

    def _flush(self, batch: BatchRead) -> None:
        """Let a batch count that is complete, but for what is damaged in it."""
        segment = batch.segment
        for offset, set_id, messages in batch.publishes:
            seq_ranges = segment.sets.get(set_id)
            if seq_ranges is None:
                seq_ranges = segment.sets[set_id] = SeqRanges()
                segment.starts[set_id] = offset
            segment.index.add(messages[0][0], offset)
            for first, count, size in messages:
                seq_ranges.add(first, count, size)
        self._settles += batch.settles
        self._delays += batch.delays
        for damaged in batch.damaged:
            self._quarantine(segment, damaged)
        if batch.left > 0 and not batch.damaged:
            self._lost_end(segment)

    def _end_of_log(self) -> None:
        """Decide about the last batch: nothing follows it that would prove it."""
        batch, self._pending = self._pending, None
        if batch is None:
            return
        if batch.whole or batch.commit_position <= self._proven:
            self._flush(batch)
            return
        segment = batch.segment
        self._found.cut = (
            f"the log ended in an incomplete, unconfirmed batch: truncated {segment.end - batch.offset} octets "
            f"of segment {segment.number:x}"
        )
        segment.file.cut(batch.offset, segment.end)
        self._forget(batch)

    def _forget(self, batch: BatchRead) -> None:
        """Let a batch never have been, nor its position, so that the next one has it: a gap means one is missing."""
        segment = batch.segment
        segment.end = batch.offset
        self._last = self._found.commit_position = segment.last_commit_position = batch.commit_position - 1
        if segment.last_commit_position < segment.first_commit_position:
            segment.first_commit_position = segment.last_commit_position = 0

    def _address(self, segment: SegmentRead) -> None:
        """Find out where messages went whose set was named anywhere in the segment."""
        for set_id, seq_ranges in segment.sets.items():
            target = segment.targets.get(set_id)
            if target is None:
                self._found.add_damage(
                    f"the log is damaged: segment {segment.number:x}, {seq_ranges.count} messages from offset "
                    f"{segment.starts[set_id]} on have lost the record of their queues and are lost"
                )
            else:
                segment.by_target[target] = seq_ranges

    def _quarantine(self, segment: SegmentRead, damaged: Damaged) -> None:
        self._found.add_damage(quarantine(self._disk, segment.file, damaged))

    # -- what lives ----------------------------------------------------------------------------------------------------

    def _seal(self, base: "Checkpoint") -> None:
        """Give every segment its footer: the next start need not read it again. One without a batch goes."""
        for segment in self._segments:
            segment.file.close()
            if segment.footed:
                continue
            self._address(segment)
            if not segment.last_commit_position:
                # It would have a start believe that something is missing, once the one before it is gone.
                if segment.number in base.listed or segment.file.complaint:
                    self._found.add_damage(
                        f"segment {segment.file.name} contains no batch{set_aside(self._disk, segment.file.name)}"
                    )
                else:
                    self._disk.unlink(segment.file.name)
                continue
            try:
                commit_positions = segment.first_commit_position, segment.last_commit_position
                footer = Footer(*commit_positions, segment.newest_ms, segment.by_target, segment.index)
                seal_segment(self._disk, segment.number, segment.file.seed, segment.end, footer)
            except DiskError as error:
                if not error.full:
                    raise  # a full disk costs the next start some time, and nothing else
        self._segments = [segment for segment in self._segments if segment.last_commit_position]

    def _count(self, base: "Checkpoint") -> None:
        """Work out the live messages: published and not settled."""
        found, live_index = self._found, self._found.live_index
        next_seq = 1
        for each in self._segments:
            firsts = [seq_ranges.first_seq for seq_ranges in each.by_target.values() if seq_ranges.count]
            segment = Segment(each.number, each.file.seed, min(firsts, default=next_seq), each.end, each.end)
            segment.sealed = True
            segment.index = each.index
            segment.first_commit_position, segment.last_commit_position = (
                each.first_commit_position,
                each.last_commit_position,
            )
            segment.settled = {
                queue_id: AckRanges(pairs)
                for queue_id, pairs in base.settled.get(each.number, {}).items()
                if queue_id in self._known
            }
            segment.newest_ms = each.newest_ms
            found.newest_ms = max(found.newest_ms, each.newest_ms)
            segment.last_seq = max(
                [seq_ranges.last_seq for seq_ranges in each.by_target.values() if seq_ranges.count], default=0
            )
            live_index.add(segment)
            there = (*each.by_target.values(), *each.sets.values())
            next_seq = max([next_seq, *[seq_ranges.last_seq + 1 for seq_ranges in there if seq_ranges.count]])
        found.next_seq = max(found.next_seq, next_seq)
        if not (base.clean and base.commit_position == found.commit_position):
            live_index.returned.load(of_queues(base.returned, self._known))
        for queue_id, deliveries, due_ms, pairs in self._delays:
            found.next_seq = max(found.next_seq, max(pairs, default=0) + 1)
            if queue_id in self._known:
                live_index.returned.add(queue_id, deliveries, due_ms, pairs)
        for queue_id, deliveries, pairs in self._settles:
            # Also of messages whose own record is damaged: one that took such a seq anew would be settled already.
            found.next_seq = max(found.next_seq, max(pairs, default=0) + 1)
            if queue_id not in self._known:
                continue
            if deliveries:
                live_index.returned.add(queue_id, deliveries, 0, pairs)
            else:
                for first, last in ranges(pairs):
                    for segment, start, end in live_index.locate(first, last):
                        segment.settled.setdefault(queue_id, AckRanges()).add(start, end)
        for each, segment in zip(self._segments, live_index.segments, strict=True):
            count_live(segment, each.by_target, self._known, found)
