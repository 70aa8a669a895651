"""Verification of a whole log: reads all of it, changes nothing, and reports whatever is not as it was written.

Recovery finds live messages; this checks every octet, also of messages that nobody needs any more. The traces of a kill
(a torn tail, a segment without a footer) are told apart from damage.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pybroker.store import format as fmt, publish_record
from pybroker.store.definitions.definition_recovery import NAME, examine
from pybroker.store.definitions.snapshot import read_snapshots
from pybroker.store.segments import log_id as log_ids
from pybroker.store.segments.scan import Damaged
from pybroker.store.segments.segment import SegmentFile, segment_number

if TYPE_CHECKING:
    from pybroker.store.disk import Disk
    from pybroker.store.segments.scan import Record

# Octets read, of how many.
Steps = Generator[tuple[int, int], None, None]


@dataclass(slots=True)
class Scrub:
    """The findings: `damage` has a sentence for each unsound thing, `notes` the traces of a kill.

    Segments, messages and octets are those of the log and of all streams.
    """

    segments: int = 0
    batches: int = 0
    messages: int = 0
    octets: int = 0
    definitions: int = 0
    streams: int = 0
    damage: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        return {name: getattr(self, name) for name in self.__slots__}


class _Reading:
    """One segment while its records are read. A batch is whole when as many came as its head said, all sound."""

    def __init__(self, scrub: Scrub, name: str) -> None:
        self.scrub = scrub
        self.name = name
        self.commit_position = 0
        self.left = 0
        self.damaged: list[Damaged] = []
        self.sets: set[int] = set()
        self.starts: dict[int, int] = {}  # where messages of a set are first
        self.messages = 0
        self.proven = 0
        self.footed = False

    def check(self, found: "Record | Damaged") -> None:
        """Check the next record."""
        if isinstance(found, Damaged):
            self.damaged.append(found)
            self.left -= 1
            return
        kind, payload = found.type, found.payload
        if kind == fmt.BATCH:
            head = fmt.decode_batch(payload)
            if self.commit_position and head.commit_position != self.commit_position + 1 and not self.damaged:
                self._tell(f"batch {head.commit_position} follows batch {self.commit_position}")
            self.end()
            self.commit_position, self.left = head.commit_position, head.records
            self.scrub.batches += 1
        elif kind in {fmt.PROVEN, fmt.FOOTER}:
            self.end()
            if kind == fmt.PROVEN:
                self.proven = fmt.decode_proven(payload)
            else:
                self.footed = True
        else:
            self.left -= 1
            if kind == fmt.TARGETS:
                self.sets.add(fmt.decode_targets(payload).set_id)
            elif kind == fmt.PUBLISH:
                set_id, parts = publish_record.messages_of(payload)
                self.starts.setdefault(set_id, found.offset)
                self.messages += sum([count for _, count, _ in parts])

    def end(self) -> None:
        """Judge the batch that has ended: something was written behind it, so all of it had been on disk."""
        if self.left > 0 and not self.damaged:
            self._tell(f"batch {self.commit_position} lacks {self.left} records")
        for damaged in self.damaged:
            self._tell(f"{damaged.octets} octets at {damaged.offset} ({fmt.TYPE_NAMES[damaged.type]}) are damaged")
        self.left, self.damaged = 0, []

    def tail(self, *, proven: int) -> None:
        """Judge the last batch of the log: an incomplete one was being written when the process ended."""
        if (self.left > 0 or self.damaged) and self.commit_position > max(self.proven, proven):
            octets = sum(damaged.octets for damaged in self.damaged)
            self.scrub.notes.append(
                f"{self.name} ends in an incomplete, unconfirmed batch ({octets} octets): the next start truncates it"
            )
            self.left, self.damaged = 0, []
        self.end()

    def address(self) -> None:
        """Judge whether all messages say, here or elsewhere in the segment, where they went."""
        for set_id, offset in self.starts.items():
            if set_id not in self.sets:
                self._tell(f"messages from offset {offset} on have lost the record of their queues")

    def _tell(self, text: str) -> None:
        self.scrub.damage.append(f"{self.name}: {text}")


def scrub_log(disk: "Disk", scrub: Scrub, used: Mapping[int, int] | None = None) -> Steps:
    """Read every segment and checkpoint. Raises DiskError, VersionError.

    `used`: how many octets of which segments count (0: all), while a node goes on writing behind them.
    """
    log_id, _, sound, complaints = log_ids.find(disk)
    scrub.damage += complaints
    numbers = [number for name in disk.names() if (number := segment_number(name)) is not None]
    if used is not None:
        scrub.damage += [f"{fmt.segment_name(number)} is missing" for number in used if number not in numbers]
        numbers = [number for number in numbers if number in used]
    proven = max((each.commit_position for each in sound), default=0)
    sizes = {number: (used or {}).get(number, 0) or disk.size_of(fmt.segment_name(number)) for number in numbers}
    done, total = 0, sum(sizes.values())
    for number in numbers:
        file = SegmentFile(disk, number, log_id)
        try:
            file.size = sizes[number]
            scrub.segments += 1
            if file.complaint:
                scrub.damage.append(file.complaint)
            reading = _Reading(scrub, file.name)
            for found in file.scan_all():
                reading.check(found)
                yield done + found.offset, total
            if number == numbers[-1]:
                reading.tail(proven=proven)
            else:
                reading.end()
            reading.address()
            _compare_footer(file, reading, last=number == numbers[-1])
            scrub.messages += reading.messages
        finally:
            file.close()
        done += sizes[number]
        yield done, total
    scrub.octets += done


def _compare_footer(file: SegmentFile, reading: _Reading, *, last: bool) -> None:
    """See whether a segment says of itself what stands in it."""
    footer = file.read_footer()
    if footer is None:
        if reading.footed:
            reading.scrub.damage.append(f"{file.name}: its footer is not at its end")
        elif not last:
            reading.scrub.notes.append(f"{file.name} has no footer: the next start reads it completely and adds one")
        return
    said = sum(seq_ranges.count for seq_ranges in footer.by_target.values())
    if said < reading.messages:
        reading.scrub.damage.append(f"{file.name}: its footer lists {said} of its {reading.messages} messages")


def scrub_definitions(disk: "Disk", scrub: Scrub) -> None:
    """Read every definition, and the snapshots of them. Raises DiskError, NewerSchemaError."""
    names = disk.names()
    snapshots, faults = read_snapshots(disk)
    scrub.damage += faults.values()
    if NAME in names:
        found = examine(disk.root / NAME)
        scrub.definitions = len(found.rows)
        scrub.damage += found.faults
    elif snapshots:
        scrub.notes.append(f"{NAME} is missing: the next start restores it from {snapshots[0].name}")
