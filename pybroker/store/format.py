"""The octets of a segment file: records, the header in front of them and the trailer behind. Pure functions.

Little-endian everywhere. Drawn for people in pybroker-store(5).

    segment   header (64) | record | record | ... | zeros up to the size it was made with
    sealed    header (64) | record | ... | FOOTER record | trailer (16)

    header    magic "pybroker" | version u16 | 0 u16 | log id u32 | number u64 | size u64 | created, wall ms u64 |
              20 zeros | crc u32
    record    crc u32 | length u32 | type u8 | flags u8 | check u16 | payload of `length` octets
    trailer   offset of the FOOTER u64 | magic "pbft" | crc u32

    BATCH     ticket u64 | wall ms u64 | records u32 | octets u32                       (of the records that follow)
    TARGETS   set u32 | priority u8 | timed u8 | 0 u16 | n u32 | n * queue id u64
    PUBLISH   publish_record.py
    SETTLE    groups: queue id u64 | n u32 | deliveries u32 (0: done with) | n * (first seq u64, last seq u64)
    PROVEN    ticket u64
    FOOTER    footer.py
    DELAY     delay.py

A record's crc is CRC-32C of all that follows it, the length too. It starts from `seed`, which follows from the number
and the id of its log, a random one (log_id.py): octets of another segment or log, or of a message, never pass for ours.
`check` follows from length, type and seed: by it a record whose payload is damaged still tells where the next one
begins. Twelve zeros where a record would begin are the end.

This file opens nothing: `segment.py` and the writer do.
"""

import sys
from array import array
from struct import Struct
from typing import Final, NamedTuple

from google_crc32c import extend, value

VERSION: Final = 1
MAGIC: Final = b"pybroker"
SEGMENT_PREFIX: Final = "seg."
FOOTER_MAGIC: Final = b"pbft"

BATCH: Final = 1
TARGETS: Final = 2
PUBLISH: Final = 3
SETTLE: Final = 4
PROVEN: Final = 5
FOOTER: Final = 6
DELAY: Final = 7  # programs that do not know it pass over it: what waits is ready there
TYPE_NAMES: Final = ("unknown", "BATCH", "TARGETS", "PUBLISH", "SETTLE", "PROVEN", "FOOTER", "DELAY")
TYPE_MAX: Final = DELAY

HEADER_OCTETS: Final = 64
LOG_ID_AT: Final = 12  # in the header
TRAILER_OCTETS: Final = 16
RECORD_OCTETS: Final = 12  # in front of a payload
# No record is larger: what claims to be is damaged. A content is at most a message of 128 MiB and its frames.
PAYLOAD_MAX: Final = (1 << 28) - 1

_SEED: Final = Struct("<IQ")
_HEADER: Final = Struct("<8sHHIQQQ20x")
_TRAILER: Final = Struct("<Q4s")
_U32: Final = Struct("<I")
_U64: Final = Struct("<Q")
RECORD: Final = Struct("<IIBBH")
_FRONT: Final = Struct("<IBBH")  # of a record, behind its crc
_BATCH: Final = Struct("<QQII")
_TARGETS: Final = Struct("<IBBHI")
_GROUP: Final = Struct("<QII")
BATCH_RECORD_OCTETS: Final = RECORD_OCTETS + _BATCH.size
PROVEN_RECORD_OCTETS: Final = RECORD_OCTETS + _U64.size


class FormatError(Exception):
    """These octets are not what this program, or an older one, wrote. Its text is a sentence for the operator."""


class VersionError(FormatError):
    """A newer program wrote them."""


class SegmentHeader(NamedTuple):
    """The first 64 octets of a segment. `size` is how large the file was made, `created_ms` wall time."""

    log_id: int
    number: int
    size: int
    created_ms: int

    def encode(self) -> bytes:
        """Return the octets."""
        octets = _HEADER.pack(MAGIC, VERSION, 0, self.log_id, self.number, self.size, self.created_ms)
        return octets + _U32.pack(value(octets))

    @classmethod
    def decode(cls, octets: bytes) -> "SegmentHeader":
        """Read them back.

        Magic, version and crc keep their places for ever, so that a damaged version is not taken for a newer one.
        Raises FormatError.
        """
        if len(octets) < HEADER_OCTETS or octets[:8] != MAGIC:
            raise FormatError("this is not a segment of pybroker's log")
        if value(octets[:60]) != _U32.unpack_from(octets, 60)[0]:
            raise FormatError("the header of the segment is damaged")
        _, version, _, log_id, number, size, created_ms = _HEADER.unpack_from(octets)
        check_version(version)
        return cls(log_id, number, size, created_ms)


def check_version(version: int, known: int = VERSION) -> None:
    """Raise VersionError if this program, which knows versions up to `known`, cannot read what has this version."""
    if version > known:
        raise VersionError(f"the log has version {version}, this program supports up to {known}: start a newer one")


class Batch(NamedTuple):
    """Records that are committed at once: all count, or none. `octets` are those of the `records` that follow."""

    commit_position: int
    wall_ms: int
    records: int
    octets: int


class Targets(NamedTuple):
    """Queues that the same messages reached, a set; one number in all of a segment, in which it is named now and then.

    `timed`: one of them may let messages expire.
    """

    set_id: int
    priority: int
    timed: bool
    queue_ids: tuple[int, ...]


def segment_name(number: int) -> str:
    """Return the name of a segment's file."""
    return f"{SEGMENT_PREFIX}{number:016x}"


def segment_number(name: str) -> int | None:
    """Return the number of the segment whose file has this name; None if it is none."""
    digits = name.removeprefix(SEGMENT_PREFIX)
    if digits == name or len(digits) != 16 or digits.strip("0123456789abcdef"):
        return None
    return int(digits, 16)


def segment_header(number: int, log_id: int, size: int, created_ms: int = 0) -> bytes:
    """Return the first octets of a segment."""
    return SegmentHeader(log_id, number, size, created_ms).encode()


def of_size(header: bytes, size: int) -> bytes:
    """Return the header of a segment that is not as large any more as it was made. Raises FormatError."""
    return SegmentHeader.decode(header)._replace(size=size).encode()


def seed(log_id: int, number: int) -> int:
    """Return what the crc of each record of this segment starts from."""
    started: int = value(_SEED.pack(log_id, number))
    return started


def record(kind: int, payload: bytes, seed: int) -> bytes:
    """Return the record of type `kind` with this payload."""
    length = len(payload)
    octets = _FRONT.pack(length, kind, 0, check(length, kind, seed)) + payload
    return _U32.pack(extend(seed, octets)) + octets


def check(length: int, kind: int, seed: int) -> int:
    """Return the two octets that say that the length before them can be trusted."""
    return (length ^ length >> 16 ^ kind << 8 ^ seed) & 0xFFFF


def batch_header(commit_position: int, wall_ms: int, records: int, octets: int, seed: int) -> bytes:
    """Return the record in front of a batch."""
    return record(BATCH, _BATCH.pack(commit_position, wall_ms, records, octets), seed)


def decode_batch(payload: bytes) -> Batch:
    """Read a BATCH."""
    return Batch(*_BATCH.unpack(payload))


def targets(set_id: int, priority: int, timed: bool, queue_ids: tuple[int, ...], seed: int) -> bytes:
    """Return the record that says what `set_id` stands for in this segment."""
    head = _TARGETS.pack(set_id, priority, timed, 0, len(queue_ids))
    return record(TARGETS, head + little(array("Q", queue_ids)), seed)


def decode_targets(payload: bytes) -> Targets:
    """Read a TARGETS."""
    set_id, priority, timed, _, count = _TARGETS.unpack_from(payload)
    return Targets(set_id, priority, bool(timed), tuple(column("Q", payload, _TARGETS.size, count)))


def settle(groups: "list[tuple[int, int, array[int]]]", seed: int) -> bytes:
    """Return the record of what queues have done with: for each, deliveries, and first and last seqs in turn.

    With deliveries the messages are not done with: they came back, and were delivered that often.
    """
    parts: list[bytes] = []
    for queue_id, deliveries, pairs in groups:
        parts += (_GROUP.pack(queue_id, len(pairs) // 2, deliveries), little(pairs))
    return record(SETTLE, b"".join(parts), seed)


def decode_settle(payload: bytes) -> "list[tuple[int, int, array[int]]]":
    """Read a SETTLE."""
    groups = []
    at = 0
    while at < len(payload):
        queue_id, count, deliveries = _GROUP.unpack_from(payload, at)
        at += _GROUP.size
        groups.append((queue_id, deliveries, column("Q", payload, at, 2 * count)))
        at += 16 * count
    return groups


def proven(commit_position: int, seed: int) -> bytes:
    """Return the record that says that all batches up to `commit_position` are on disk."""
    return record(PROVEN, _U64.pack(commit_position), seed)


def decode_proven(payload: bytes) -> int:
    """Read a PROVEN."""
    commit_position: int = _U64.unpack(payload)[0]
    return commit_position


def trailer(footer_offset: int) -> bytes:
    """Return the last octets of a sealed segment."""
    octets = _TRAILER.pack(footer_offset, FOOTER_MAGIC)
    return octets + _U32.pack(value(octets))


def decode_trailer(octets: bytes) -> int | None:
    """Return where the FOOTER begins; None if this is no trailer."""
    if len(octets) != TRAILER_OCTETS or octets[8:12] != FOOTER_MAGIC:
        return None
    if value(octets[:12]) != _U32.unpack_from(octets, 12)[0]:
        return None
    offset: int = _U64.unpack_from(octets)[0]
    return offset


def little(values: "array[int]") -> bytes:
    """Return an array's octets, little-endian."""
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


def column(typecode: str, octets: bytes, at: int, count: int) -> "array[int]":
    """Read `count` values of an array from `at` on. Raises FormatError if there are fewer."""
    values: array[int] = array(typecode)
    part = octets[at : at + count * values.itemsize]
    if len(part) != count * values.itemsize:
        raise FormatError("there are fewer octets than are told of")
    values.frombytes(part)
    if sys.byteorder == "big":
        values.byteswap()
    return values
