"""Checkpoint: what queues have settled in each segment, as of a ticket. With the segments it says what is live.

One file for each, `ckpt.` and the ticket in 16 hexadecimal digits; the two newest are kept. Little-endian:

    magic "pbckpt" | version u16 | ticket u64 | next seq u64 | clean u8 | 0 * 3 | epoch u32 | segments u32 |
    redelivered u32 |
    segments * (number u64 | queues u32 | 0 u32 | queues * (queue id u64 | n u32 | 0 u32 | n * (first u64, last u64))) |
    redelivered * (queue id u64 | first seq u64 | last seq u64 | deliveries u64) | crc u32, CRC-32C of all before it

A checkpoint that is missing or damaged costs time at a start, never data: more of the segments is read.
"""

from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Final

from google_crc32c import value

from pybroker.store.disk import DiskError
from pybroker.store.format import FormatError, VersionError, check_version, column, little

if TYPE_CHECKING:
    from array import array

    from pybroker.store.disk import Disk

MAGIC: Final = b"pbckpt"
VERSION: Final = 1
PREFIX: Final = "ckpt."

EPOCH_AT: Final = 28

_HEAD: Final = Struct("<6sHQQB3xIII")
_SEGMENT: Final = Struct("<QI4x")
_QUEUE: Final = Struct("<QI4x")
_REDELIVERED: Final = Struct("<QQQQ")
_CRC: Final = Struct("<I")


@dataclass(slots=True)
class Checkpoint:
    """What a log with this `epoch` has settled: segment number -> queue id -> seqs as first, last, first, last ...

    All seqs are below `next_seq`.

    `clean`: written by a stop, nothing comes after it; then `redelivered` has the messages that had been delivered
    before, as (queue id, first seq, last seq, deliveries).
    """

    epoch: int
    ticket: int = 0
    next_seq: int = 1
    clean: bool = False
    settled: "dict[int, dict[int, array[int]]]" = field(default_factory=dict)
    redelivered: list[tuple[int, int, int, int]] = field(default_factory=list)

    def encode(self) -> bytes:
        """Return the octets of the file."""
        sizes = len(self.settled), len(self.redelivered)
        parts = [_HEAD.pack(MAGIC, VERSION, self.ticket, self.next_seq, self.clean, self.epoch, *sizes)]
        for number, queues in self.settled.items():
            parts.append(_SEGMENT.pack(number, len(queues)))
            for queue_id, pairs in queues.items():
                parts += (_QUEUE.pack(queue_id, len(pairs) // 2), little(pairs))
        parts += [_REDELIVERED.pack(*each) for each in self.redelivered]
        octets = b"".join(parts)
        return octets + _CRC.pack(value(octets))

    @classmethod
    def decode(cls, octets: bytes) -> "Checkpoint":
        """Read the octets of a file. Raises FormatError."""
        body = octets[:-4]
        if len(body) < _HEAD.size or body[:6] != MAGIC:
            raise FormatError("this is not a checkpoint of pybroker's log")
        if value(body) != _CRC.unpack(octets[-4:])[0]:
            raise FormatError("the checkpoint is damaged")
        _, version, ticket, next_seq, clean, epoch, segments, redelivered = _HEAD.unpack_from(body)
        check_version(version)
        made = cls(epoch, ticket, next_seq, bool(clean))
        at = _HEAD.size
        for _ in range(segments):
            number, queues = _SEGMENT.unpack_from(body, at)
            at += _SEGMENT.size
            settled = made.settled[number] = {}
            for _ in range(queues):
                queue_id, count = _QUEUE.unpack_from(body, at)
                at += _QUEUE.size
                settled[queue_id] = column("Q", body, at, 2 * count)
                at += 16 * count
        for _ in range(redelivered):
            made.redelivered.append(_REDELIVERED.unpack_from(body, at))
            at += _REDELIVERED.size
        return made


def checkpoint_name(ticket: int) -> str:
    """Return the name of a checkpoint's file."""
    return f"{PREFIX}{ticket:016x}"


def checkpoint_ticket(name: str) -> int | None:
    """Return the ticket of the checkpoint whose file has this name; None if it is none."""
    digits = name.removeprefix(PREFIX)
    if digits == name or len(digits) != 16 or digits.strip("0123456789abcdef"):
        return None
    return int(digits, 16)


def newest(disk: "Disk") -> tuple[list[Checkpoint], list[str]]:
    """Return the checkpoints that are sound, newest first, and a sentence for each that is not.

    Raises VersionError for one that a newer program wrote.
    """
    sound: list[Checkpoint] = []
    complaints: list[str] = []
    for name in sorted(disk.names(), reverse=True):
        ticket = checkpoint_ticket(name)
        if ticket is None:
            continue
        try:
            checkpoint = Checkpoint.decode(disk.read_file(name))
        except VersionError:
            raise
        except (FormatError, DiskError) as error:
            complaints.append(f"checkpoint {name} is left out: {error}")
            continue
        if checkpoint.ticket == ticket:
            sound.append(checkpoint)
        else:
            complaints.append(f"checkpoint {name} is left out: it is one of ticket {checkpoint.ticket}")
    return sound, complaints


def write_checkpoint(disk: "Disk", checkpoint: Checkpoint, keep: list[int]) -> None:
    """Put a checkpoint on disk, then remove the others, but for those with the tickets `keep`.

    Raises DiskError; as long as the new one is not on disk nothing is removed.
    """
    disk.write_file(checkpoint_name(checkpoint.ticket), checkpoint.encode())
    kept = {checkpoint.ticket, *keep}
    for name in disk.names():
        ticket = checkpoint_ticket(name)
        if ticket is not None and ticket not in kept:
            disk.unlink(name)
