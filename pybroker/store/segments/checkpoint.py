"""Checkpoint: settled messages of each segment, as of a commit position. With the segments it says what is live.

One file for each, `ckpt.` and the commit position in 16 hexadecimal digits; the two newest are kept. Little-endian:

    magic "pbckpt" | version u16 | ticket u64 | next seq u64 | clean u8 | 0 * 3 | log id u32 | settled u32 |
    redelivered u32 |
    settled * (number u64 | queues u32 | 0 u32 | queues * (queue id u64 | n u32 | 0 u32 | n * (first u64, last u64))) |
    redelivered * (queue id u64 | first seq u64 | last seq u64 | deliveries u64) |
    next number u64 | segments u32 | 0 u32 |                                                   (from version 2 on)
    segments * (number u64 | first ticket u64 | last ticket u64 | first seq u64 | sealed u8 | 0 * 3 | queues u32 |
                queues * (queue id u64 | live u64)) |
    queues u32 | 0 u32 | queues * (queue id u64 | n u32 | 0 u32 |                      (if any message waits)
                                   n * (first seq u64 | last seq u64 | deliveries u64 | due, steady wall ms u64)) |
    crc u32, CRC-32C of all before it

One that is missing or damaged costs time at a start, never data: more of the segments is read. Version 2 also says
which segments there are, and how many messages live in each of them: by that a start knows what is missing. One whose
number is `next_number` or above was begun later; one below that is not listed had been given up. Messages that wait
until they are due stand at the end, and not among the redelivered: programs that do not know it read no further.
"""

from array import array
from dataclasses import dataclass, field
from itertools import compress, groupby
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from google_crc32c import value

from pybroker.store.disk import DiskError
from pybroker.store.format import FormatError, VersionError, check_version, column, little
from pybroker.store.segments.returned_rows import CHUNK, COLUMNS, columns_of, flat

if TYPE_CHECKING:
    from pybroker.store.disk import Disk
    from pybroker.store.segments.returned_rows import Rows

MAGIC: Final = b"pbckpt"
VERSION: Final = 2
PREFIX: Final = "ckpt."

LOG_ID_AT: Final = 28

_HEAD: Final = Struct("<6sHQQB3xIII")
_SEGMENT: Final = Struct("<QI4x")
_QUEUE: Final = Struct("<QI4x")
_LIST: Final = Struct("<QI4x")
_LISTED: Final = Struct("<QQQQB3xI")
_LIVE: Final = Struct("<QQ")
_DELAYED: Final = Struct("<I4x")
_CRC: Final = Struct("<I")


class Listed(NamedTuple):
    """One segment that there was: its batches from first to last so far, and how many messages live, by queue."""

    number: int
    first_commit_position: int
    last_commit_position: int
    first_seq: int
    sealed: bool
    live: dict[int, int]


@dataclass(slots=True)
class Checkpoint:
    """Settled messages of the log with this id: segment number -> queue id -> seqs as first, last, first, last ...

    All seqs are below `next_seq`.

    `returned` has messages that had been delivered before. `clean`: written by a stop, nothing comes after it; then
    these are all of them, else those of queues that count deliveries.

    `listed` has the segments that existed below `next_number`, by number. A checkpoint of version 1 has no list and a
    `next_number` of 0.
    """

    log_id: int
    commit_position: int = 0
    next_seq: int = 1
    clean: bool = False
    settled: "dict[int, dict[int, array[int]]]" = field(default_factory=dict)
    returned: "Rows" = field(default_factory=dict)
    next_number: int = 0
    listed: dict[int, Listed] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the octets of the file."""
        ready, delayed = self._parted()
        sizes = len(self.settled), len(ready) // COLUMNS
        parts = [_HEAD.pack(MAGIC, VERSION, self.commit_position, self.next_seq, self.clean, self.log_id, *sizes)]
        for number, queues in self.settled.items():
            parts.append(_SEGMENT.pack(number, len(queues)))
            for queue_id, pairs in queues.items():
                parts += (_QUEUE.pack(queue_id, len(pairs) // 2), little(pairs))
        parts.append(little(ready))
        parts.append(_LIST.pack(self.next_number, len(self.listed)))
        for *head, live in self.listed.values():
            parts.append(_LISTED.pack(*head, len(live)))
            parts += [_LIVE.pack(*each) for each in live.items()]
        if delayed:
            parts.append(_DELAYED.pack(len(delayed)))
            for queue_id, rows in delayed.items():
                parts += (_QUEUE.pack(queue_id, len(rows) // COLUMNS), little(rows))
        octets = b"".join(parts)
        return octets + _CRC.pack(value(octets))

    def _parted(self) -> "tuple[array[int], Rows]":
        """Return what does not wait, as queue id, first seq, last seq, deliveries; and what does."""
        ready, delayed = array("Q"), {}
        for queue_id, rows in self.returned.items():
            waiting = array("Q")
            for start in range(0, len(rows), COLUMNS * CHUNK):
                part = rows[start : start + COLUMNS * CHUNK]
                firsts, lasts, times, dues = columns = columns_of(part)
                if all(dues):
                    waiting += part
                    continue
                if any(dues):
                    waiting += flat(*[array("Q", compress(column, dues)) for column in columns])
                chosen = [not due_ms for due_ms in dues]
                mine = [array("Q", compress(column, chosen)) for column in (firsts, lasts, times)]
                ready += flat(array("Q", [queue_id]) * len(mine[0]), *mine)
            if waiting:
                delayed[queue_id] = waiting
        return ready, delayed

    @classmethod
    def decode(cls, octets: bytes) -> "Checkpoint":
        """Read the octets of a file. Raises FormatError."""
        body = octets[:-4]
        if len(body) < _HEAD.size or body[:6] != MAGIC:
            raise FormatError("this is not a checkpoint of pybroker's log")
        if value(body) != _CRC.unpack(octets[-4:])[0]:
            raise FormatError("the checkpoint is damaged")
        _, version, commit_position, next_seq, clean, log_id, segments, redelivered = _HEAD.unpack_from(body)
        check_version(version, VERSION)
        made = cls(log_id, commit_position, next_seq, bool(clean))
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
        ids, *columns = columns_of(column("Q", body, at, COLUMNS * redelivered))
        start = 0
        for queue_id, equal in groupby(ids):
            stop = start + sum(1 for _ in equal)
            mine = [each[start:stop] for each in columns]
            made.returned.setdefault(queue_id, array("Q")).extend(flat(*mine, array("Q", bytes(8 * (stop - start)))))
            start = stop
        at += 8 * COLUMNS * redelivered
        if version > 1:
            at = made._decode_list(body, at)
            made._decode_delayed(body, at)
        return made

    def _decode_delayed(self, body: bytes, at: int) -> None:
        if at == len(body):
            return
        (queues,) = _DELAYED.unpack_from(body, at)
        at += _DELAYED.size
        for _ in range(queues):
            queue_id, count = _QUEUE.unpack_from(body, at)
            at += _QUEUE.size
            self.returned.setdefault(queue_id, array("Q")).extend(column("Q", body, at, COLUMNS * count))
            at += 8 * COLUMNS * count

    def _decode_list(self, body: bytes, at: int) -> int:
        self.next_number, segments = _LIST.unpack_from(body, at)
        at += _LIST.size
        for _ in range(segments):
            number, first_commit_position, last_commit_position, first_seq, sealed, queues = _LISTED.unpack_from(
                body, at
            )
            at += _LISTED.size
            end = at + queues * _LIVE.size
            live = dict(_LIVE.iter_unpack(body[at:end]))
            self.listed[number] = Listed(
                number, first_commit_position, last_commit_position, first_seq, bool(sealed), live
            )
            at = end
        return at


def checkpoint_name(commit_position: int) -> str:
    """Return the name of a checkpoint's file."""
    return f"{PREFIX}{commit_position:016x}"


def checkpoint_commit_position(name: str) -> int | None:
    """Return the commit position of the checkpoint whose file has this name; None if it is none."""
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
        commit_position = checkpoint_commit_position(name)
        if commit_position is None:
            continue
        try:
            checkpoint = Checkpoint.decode(disk.read_file(name))
        except VersionError:
            raise
        except (FormatError, DiskError) as error:
            complaints.append(f"checkpoint {name} is ignored: {error}")
            continue
        if checkpoint.commit_position == commit_position:
            sound.append(checkpoint)
        else:
            complaints.append(f"checkpoint {name} is ignored: it belongs to ticket {checkpoint.commit_position}")
    return sound, complaints


def write_checkpoint(disk: "Disk", checkpoint: Checkpoint, retained: list[int]) -> None:
    """Put a checkpoint on disk, then remove the others, but for those with the commit positions `retained`.

    Raises DiskError; as long as the new one is not on disk nothing is removed.
    """
    disk.write_file(checkpoint_name(checkpoint.commit_position), checkpoint.encode())
    kept = {checkpoint.commit_position, *retained}
    for name in disk.names():
        commit_position = checkpoint_commit_position(name)
        if commit_position is not None and commit_position not in kept:
            disk.unlink(name)
