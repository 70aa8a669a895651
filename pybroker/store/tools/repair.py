"""Repair: takes out of a data folder what is damaged, so that nothing complains of it any more. No node runs on it.

Each start does most of this by itself (recovery.py, definition_recovery.py): damaged parts are put into quarantine and
reported. But it stays in its segment, and is reported at every start. Here segments are written anew without it.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from pybroker.seq_ranges import SeqRanges
from pybroker.store import format as fmt, publish_record
from pybroker.store.definitions.definition_recovery import open_definitions
from pybroker.store.definitions.rows import queue_ids
from pybroker.store.disk import Disk, DiskError
from pybroker.store.log import companion_of
from pybroker.store.log_path import log_folder
from pybroker.store.recovery.quarantine import QUARANTINE, quarantine
from pybroker.store.recovery.recovery import Recovery
from pybroker.store.segments import log_id as log_ids
from pybroker.store.segments.checkpoint import checkpoint_commit_position
from pybroker.store.segments.footer import Footer
from pybroker.store.segments.live_index import Index, Target
from pybroker.store.segments.scan import Damaged
from pybroker.store.segments.segment import SegmentFile, seal_segment, segment_number
from pybroker.store.streams.straight import committed_seqs
from pybroker.store.tools.scrub import Scrub, scrub_log
from pybroker.store.tools.stream_repair import repair_streams

if TYPE_CHECKING:
    from pathlib import Path

    from pybroker.store.segments.scan import Record

# Octets done, of how many; at the end a sentence for each thing that was repaired.
Work = Generator[tuple[int, int], None, list[str]]
# Given to a batch whose head is lost.
UNKNOWN_MS: Final = 0


def repair(data: "Path") -> Work:
    """Repair definitions, then the log, then streams.

    Raises DiskError, VersionError, NewerSchemaError: nothing can be done here.
    """
    opened = open_definitions(Disk(data))
    done = [*opened.notices, *opened.reports]
    ids = queue_ids(opened.rows)
    known = {*ids, *map(companion_of, ids)}
    opened.file.close()
    folder = log_folder(data)
    if not folder.is_dir():
        return done
    disk = Disk(folder)
    done += yield from _damaged_footers(disk)
    found = Recovery(disk, known, _nobody, Disk(data)).run()
    if found.cut:
        done.append(found.cut)
    # Damage is reported when it is taken out.
    done += [report for report in found.reports if not report.startswith("the log is damaged")]
    done += _set_aside_checkpoints(disk)
    numbers = [number for name in disk.names() if (number := segment_number(name)) is not None]
    for at, number in enumerate(numbers):
        yield at, len(numbers)
        if _is_damaged(disk, number, found.log_id):
            done += _write_anew(disk, number, found.log_id)
    done += yield from repair_streams(disk, committed_seqs(found))
    return done


def _damaged_footers(disk: Disk) -> Work:
    """Return what is wrong with footers: recovery makes them anew without a word, since nothing is lost with them."""
    scrub = Scrub()
    yield from scrub_log(disk, scrub)
    return [text for text in scrub.damage if "footer" in text.lower()]


def _set_aside_checkpoints(disk: Disk) -> list[str]:
    """Move checkpoints that are no use out of the way, of which recovery told; return which could not be kept."""
    told = []
    sound = {each.commit_position for each in log_ids.find(disk).checkpoints}
    for name in disk.names():
        commit_position = checkpoint_commit_position(name)
        if commit_position is not None and commit_position not in sound:
            try:
                disk.below(QUARANTINE).write_file(name, disk.read_file(name))
            except DiskError as error:
                told.append(f"{name} could not be kept: {error}")
            disk.unlink(name)
            disk.sync_folder()
    return told


def _is_damaged(disk: Disk, number: int, log_id: int) -> bool:
    file = SegmentFile(disk, number, log_id)
    try:
        return bool(file.complaint) or any(isinstance(found, Damaged) for found in file.scan_all())
    finally:
        file.close()


def _write_anew(disk: Disk, number: int, log_id: int) -> list[str]:
    """Write a segment again with its sound records alone, it is gone if there are none; say what is taken out."""
    file = SegmentFile(disk, number, log_id)
    told = [file.complaint] if file.complaint else []
    segment = _Anew(number, log_id)
    try:
        segment.address(file)
        for found in file.scan_all():
            if isinstance(found, Damaged):
                told.append(quarantine(disk, file, found))
            else:
                segment.add(found)
    finally:
        file.close()
    segment.end_batch()
    name = fmt.segment_name(number)
    if not segment.last_commit_position:
        disk.unlink(name)
        disk.sync_folder()
        return told
    disk.write_file(name, segment.encode())
    commit_positions = segment.first_commit_position, segment.last_commit_position
    footer = Footer(*commit_positions, segment.newest_ms, segment.by_target, segment.index)
    seal_segment(disk, number, segment.seed, segment.used, footer)
    return told


class _Anew:
    """A segment while it is written again. Its batches keep their positions, with the records that are left of them."""

    def __init__(self, number: int, log_id: int) -> None:
        self.number = number
        self.log_id = log_id
        self.seed = fmt.seed(log_id, number)
        self.first_commit_position = self.last_commit_position = self.newest_ms = 0
        self.by_target: dict[Target, SeqRanges] = {}
        self.index = Index()
        self.used = fmt.HEADER_OCTETS
        self._parts: list[bytes] = []
        self._head = fmt.Batch(0, UNKNOWN_MS, 0, 0)
        self._left = 0
        self._records: list[Record] = []
        self._targets: dict[int, Target] = {}
        self._untold: set[int] = set()  # known from elsewhere than from in front of their messages

    def address(self, file: SegmentFile) -> None:
        """Learn where messages went, from all of the segment and its footer; targets that come late will come first."""
        starts: dict[int, int] = {}
        for found in file.scan_all():
            if isinstance(found, Damaged):
                continue
            if found.type == fmt.TARGETS:
                said = fmt.decode_targets(found.payload)
                self._targets[said.set_id] = Target(said.priority, said.timed, said.queue_ids)
            elif found.type == fmt.PUBLISH:
                set_id, messages = publish_record.messages_of(found.payload)
                if set_id not in self._targets:
                    starts.setdefault(set_id, messages[0][0])
        footer = file.read_footer() or Footer()
        for set_id in starts.keys() - self._targets.keys():
            for target, seq_ranges in footer.by_target.items():
                if seq_ranges.between(starts[set_id], starts[set_id]).count:
                    self._targets[set_id] = target
        self._untold = starts.keys() & self._targets.keys()

    def add(self, record: "Record") -> None:
        """Add the next sound record."""
        kind = record.type
        if kind == fmt.BATCH:
            self.end_batch()
            self._head = fmt.decode_batch(record.payload)
            self._left = self._head.records
            # Batches of which nothing is left are empty from now on: a gap would say that more is missing.
            for commit_position in (
                range(self.last_commit_position + 1, self._head.commit_position) if self.last_commit_position else ()
            ):
                self._add(fmt.batch_header(commit_position, UNKNOWN_MS, 0, 0, self.seed))
            self.first_commit_position = self.first_commit_position or self._head.commit_position
            self.last_commit_position = self._head.commit_position
            self.newest_ms = max(self.newest_ms, self._head.wall_ms)
        elif kind in {fmt.PROVEN, fmt.FOOTER}:
            self.end_batch()
        else:
            if self._left <= 0:
                # The head of this batch is lost: its commit position is one more than that of the one before.
                self.end_batch()
                self._head = fmt.Batch(self.last_commit_position + 1, UNKNOWN_MS, 0, 0)
                self.first_commit_position = self.first_commit_position or self._head.commit_position
                self.last_commit_position = self._head.commit_position
                self._left = 1 << 32
            self._left -= 1
            self._records.append(record)

    def end_batch(self) -> None:
        """Write the batch that was read, as far as there is one."""
        if self._head.commit_position:
            kept = [record for record in self._records if self._counts(record)]
            names = [fmt.targets(set_id, *self._targets[set_id], self.seed) for set_id in sorted(self._untold)]
            self._untold = set()
            octets = sum(fmt.RECORD_OCTETS + len(record.payload) for record in kept) + sum(map(len, names))
            count = len(names) + len(kept)
            self._add(fmt.batch_header(self._head.commit_position, self._head.wall_ms, count, octets, self.seed))
            for name in names:
                self._add(name)
            for record in kept:
                if record.type == fmt.PUBLISH:
                    self._publish(record)
                self._add(fmt.record(record.type, record.payload, self.seed))
        self._head, self._left, self._records = fmt.Batch(0, UNKNOWN_MS, 0, 0), 0, []

    def encode(self) -> bytes:
        """Return the octets of the file, without its footer."""
        return fmt.segment_header(self.number, self.log_id, self.used) + b"".join(self._parts)

    def _counts(self, record: "Record") -> bool:
        """Tell whether a record can be used: messages whose queues are not known cannot."""
        return record.type != fmt.PUBLISH or publish_record.messages_of(record.payload)[0] in self._targets

    def _publish(self, record: "Record") -> None:
        set_id, messages = publish_record.messages_of(record.payload)
        seq_ranges = self.by_target.setdefault(self._targets[set_id], SeqRanges())
        for first, count, size in messages:
            seq_ranges.add(first, count, size)
        self.index.add(messages[0][0], self.used)

    def _add(self, octets: bytes) -> None:
        self._parts.append(octets)
        self.used += len(octets)


def _nobody(_done: int, _of: int) -> None:
    """Tell nobody."""
