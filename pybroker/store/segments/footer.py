"""Footer of a sealed segment, so that a start need not read the rest: its messages, and where they are.

FOOTER    first ticket u64 | last ticket u64 | newest wall ms u64 | sets u32 | points u32 |
          sets * (priority u8 | timed u8 | 0 u16 | queues u32 | elements u32 | 0 u32 | queues * queue id u64 |
                  elements * first seq u64 | elements * count u32 | elements * body size u32) |
          points * first seq u64 | points * offset u32
"""

import struct
from array import array
from dataclasses import dataclass, field
from typing import Final

from pybroker.seq_ranges import SeqRanges
from pybroker.store.format import FormatError, column, little
from pybroker.store.segments.live_index import Index, Target

_HEAD: Final = struct.Struct("<QQQII")
_SET: Final = struct.Struct("<BBHIII")


@dataclass(slots=True)
class Footer:
    """`by_target` has what was published, by target, `index` a point every few KiB; positions from first to last."""

    first_commit_position: int = 0
    last_commit_position: int = 0
    newest_ms: int = 0
    by_target: dict[Target, SeqRanges] = field(default_factory=dict)
    index: Index = field(default_factory=Index)

    def encode(self) -> bytes:
        """Return the payload of the FOOTER record."""
        index = self.index
        sizes = len(self.by_target), len(index.seqs)
        parts = [_HEAD.pack(self.first_commit_position, self.last_commit_position, self.newest_ms, *sizes)]
        for target, seq_ranges in self.by_target.items():
            ids = array("Q", target.queue_ids)
            parts.append(_SET.pack(target.priority, target.timed, 0, len(ids), len(seq_ranges), 0))
            parts += map(little, (ids, seq_ranges.firsts, seq_ranges.counts, seq_ranges.sizes))
        parts += (little(index.seqs), little(index.offsets))
        return b"".join(parts)

    @classmethod
    def decode(cls, payload: bytes) -> "Footer":
        """Read the payload of a FOOTER record, whose crc was right. Raises FormatError."""
        try:
            return cls._decode(payload)
        except struct.error as error:
            raise FormatError("a footer has too few octets") from error

    @classmethod
    def _decode(cls, payload: bytes) -> "Footer":
        first_commit_position, last_commit_position, newest_ms, sets, points = _HEAD.unpack_from(payload)
        made = cls(first_commit_position, last_commit_position, newest_ms)
        at = _HEAD.size
        for _ in range(sets):
            priority, timed, _, queues, elements, _ = _SET.unpack_from(payload, at)
            at += _SET.size
            ids = column("Q", payload, at, queues)
            at += 8 * queues
            firsts = column("Q", payload, at, elements)
            counts = column("I", payload, at + 8 * elements, elements)
            sizes = column("I", payload, at + 12 * elements, elements)
            at += 16 * elements
            made.by_target[Target(priority, bool(timed), tuple(ids))] = SeqRanges.of(firsts, counts, sizes)
        made.index = Index(column("Q", payload, at, points), column("I", payload, at + 8 * points, points))
        if at + 12 * points != len(payload):
            raise FormatError("a footer has not as many octets as it says")
        return made
