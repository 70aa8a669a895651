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
    PUBLISH   set u32 | n u32 | first seq u64 | arrived, steady wall ms u64 | ttl ms u64 (all ones: none) |
              frame_octets_max u32 | content size u32 (0: they differ) | body size u32 (all ones: they differ) |
              channel u16 | priority u8 | wants u8 | exchange and routing key, each u8 and octets |
              n * content size u32 if they differ | n contents
    SETTLE    groups: queue id u64 | n u32 | deliveries u32 (0: done with) | n * (first seq u64, last seq u64)
    PROVEN    ticket u64
    FOOTER    footer.py
    DELAY     delay.py

The highest bit of wants says that the messages are transient: there are such in the page log, and in streams. The bit
below says that they are entries of the stream protocol: their octets stand in the place of contents, and the number of
entries in the place of a content's size; a body's size is the mean. Such a record is kept, and read, as a whole.

A record's crc is CRC-32C of all that follows it, the length too. It starts from `seed`, which follows from the number
and the id of its log, a random one (log_id.py): octets of another segment or log, or of a message, never pass for ours.
`check` follows from length, type and seed: by it a record whose payload is damaged still tells where the next one
begins. Twelve zeros where a record would begin are the end.

This file opens nothing: `segment.py` and the writer do.
"""

import sys
from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from struct import Struct
from typing import Final, NamedTuple

from google_crc32c import extend, value

from pybroker.content_view import body_size as body_size_of
from pybroker.entries_run import EntriesRun
from pybroker.run import Names, Run, RunAttributes

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
_PUBLISH: Final = Struct("<IIQQQIIIHBB")
_FRONT_PUBLISH: Final = Struct("<IBBHIIQQQIIIHBB")
_BRIEF: Final = Struct("<IIQ24xI")  # of a PUBLISH: set, count, first seq, body size
SIZES: Final = Struct("<4xI28xII")  # of a PUBLISH: count, content size, body size
_BODY_SIZE: Final = Struct(">Q")  # AMQP's octets, in a content from its octet 11 on (AMQP §4.2.6.1)
_GROUP: Final = Struct("<QII")
BATCH_RECORD_OCTETS: Final = RECORD_OCTETS + _BATCH.size
PROVEN_RECORD_OCTETS: Final = RECORD_OCTETS + _U64.size
DIFFER: Final = 0xFFFFFFFF
_NO_TTL: Final = 0xFFFFFFFFFFFFFFFF
_TRANSIENT: Final = 0x80  # beside RunAttributes.wants
_ENTRIES: Final = 0x40
_WANTS_AT: Final = 47  # in a PUBLISH


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


def publish(set_id: int, run: Run, indexes: range, arrived_ms: int, seed: int) -> bytes:
    """Return the record of consecutive messages of a run, which reached the queues of `set_id`."""
    if isinstance(run, EntriesRun):
        return _publish_entries(set_id, run, arrived_ms, seed)
    contents = run.contents_at(indexes)
    count = len(contents)
    body_size = run.body_size
    sizes = b""
    if count == 1:
        (content,) = contents
        size = octets = len(content)
        body_size = body_size_of(content) if body_size < 0 else body_size
    else:
        lengths = array("I", map(len, contents))
        octets = sum(lengths)
        size = lengths[0]
        if lengths.count(size) != count:
            size = 0
            sizes = little(lengths)
        if body_size < 0:
            body_size = DIFFER
    names = run.names.tail[:-1]
    attributes = run.attributes
    ttl_ms = attributes.ttl_ms
    length = _PUBLISH.size + len(names) + len(sizes) + octets
    front = _FRONT_PUBLISH.pack(
        length,
        PUBLISH,
        0,
        (length ^ length >> 16 ^ PUBLISH << 8 ^ seed) & 0xFFFF,
        set_id,
        count,
        run.first_seq + indexes.start,
        arrived_ms,
        _NO_TTL if ttl_ms is None else ttl_ms,
        run.frame_octets_max,
        size,
        body_size,
        run.channel,
        attributes.priority,
        attributes.wants if attributes.persistent else attributes.wants | _TRANSIENT,
    )
    body = b"".join((front, names, sizes, *contents))
    return _U32.pack(extend(seed, body)) + body


def _publish_entries(set_id: int, run: EntriesRun, arrived_ms: int, seed: int) -> bytes:
    names = run.names.tail[:-1]
    length = _PUBLISH.size + len(names) + run.octets
    front = _FRONT_PUBLISH.pack(
        length,
        PUBLISH,
        0,
        check(length, PUBLISH, seed),
        set_id,
        run.count,
        run.first_seq,
        arrived_ms,
        _NO_TTL,
        0,
        run.entries,
        run.body_size,
        0,
        0,
        _ENTRIES,
    )
    front += names
    crc: int = extend(seed, front)
    for block in run.blocks:
        crc = extend(crc, block)
    return b"".join((_U32.pack(crc), front, *run.blocks))


def has_entries(payload: bytes) -> bool:
    """Tell whether a PUBLISH has entries of the stream protocol: it is not taken apart."""
    return bool(payload[_WANTS_AT] & _ENTRIES)


def publish_range(payload: bytes) -> tuple[int, int]:
    """Return the first seq of a PUBLISH, and how many messages it has."""
    _, count, first, _ = _BRIEF.unpack_from(payload)
    return first, count


def kind_of(payload: bytes) -> bytes:
    """Return what two PUBLISH have in common if they could be one: names, attributes, channel, frames, arrival time."""
    return payload[16:36] + payload[44 : names_end(payload)]


def names_end(payload: bytes) -> int:
    """Return where the names of a PUBLISH end."""
    end = _PUBLISH.size
    end += 1 + payload[end]
    return end + 1 + payload[end]


def publish_messages(payload: bytes) -> tuple[int, list[tuple[int, int, int]]]:
    """Return the target set of a PUBLISH and its messages: first seq, count, body size. Contents are not copied."""
    set_id, count, first, body_size = _BRIEF.unpack_from(payload)
    if body_size != DIFFER:
        return set_id, [(first, count, body_size)]
    _, starts = _starts(payload, count)
    body_size_at = _BODY_SIZE.unpack_from
    sizes = [body_size_at(payload, start + 11)[0] for start in starts[:-1]]
    return set_id, [(seq, 1, size) for seq, size in enumerate(sizes, first)]


def decode_publish(payload: bytes) -> Run:
    """Read a PUBLISH: a run with `arrived_ms` as it was stored, in steady wall time, and no origin."""
    _, count, first, arrived_ms, ttl_ms, frame_max, size, body_size, channel, priority, wants = _PUBLISH.unpack_from(
        payload
    )
    if wants & _ENTRIES:
        data = payload[names_end(payload) :]
        return EntriesRun(first, [data], size, count, len(data), arrived_ms)
    split, starts = _starts(payload, count)
    names = _names(payload[_PUBLISH.size : split])
    attributes = _attributes(priority, ttl_ms, wants)
    blob = payload[starts[0] :]
    if body_size == DIFFER:
        body_size_at = _BODY_SIZE.unpack_from
        body_octets = sum([body_size_at(payload, start + 11)[0] for start in starts[:-1]])
        body_size = -1
    else:
        body_octets = count * body_size
    if count == 1:
        return Run(names, attributes, first, [blob], len(blob), body_octets, body_size, arrived_ms, channel, frame_max)
    ends = array("I", range(0, len(blob) + 1, size) if size else [start - starts[0] for start in starts])
    return Run.of_block(names, attributes, first, blob, ends, body_octets, body_size, arrived_ms, channel, frame_max)


def _starts(payload: bytes, count: int) -> tuple[int, Sequence[int]]:
    """Return where the names of a PUBLISH end, and where each content begins; then where the last one ends."""
    split = names_end(payload)
    _, size, _ = SIZES.unpack_from(payload)
    if size:
        return split, range(split, len(payload) + 1, size)
    return split, list(accumulate(column("I", payload, split, count), initial=split + 4 * count))


@lru_cache(1024)
def _names(octets: bytes) -> Names:
    """Return the two names, one object for all runs of a route; the tail is what `publish.names_of` makes."""
    split = 1 + octets[0]
    return Names(octets[1:split].decode(), octets[split + 1 :].decode(), octets + b"\xce")


@lru_cache(1024)
def _attributes(priority: int, ttl_ms: int, wants: int) -> RunAttributes:
    ttl = None if ttl_ms == _NO_TTL else ttl_ms
    return RunAttributes(persistent=not wants & _TRANSIENT, priority=priority, ttl_ms=ttl, wants=wants & ~_TRANSIENT)


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
