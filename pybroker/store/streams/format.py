"""The octets of a stream's files: headers, chunks, points of an index. Pure functions.

Little-endian, but for the head of a chunk. Drawn for people in pybroker-store(5).

    segment   header (64) | chunk | chunk | ...
    header    magic "pbstream" | version u16 | flags u16 | log id u32 | stream id u64 | first offset u64 |
              of the chunk before: last seq u64, timestamp, wall ms i64 (0: none) | 12 zeros | crc u32
    meta      one header, magic "pbstmeta": its first offset is the floor
    chunk     guard (32) | bloom | trailer | head (48) | data
    guard     crc u32 | data octets u32 | trailer octets u32 | bloom octets u8 | kind u8 | flags u8 | 0 u8 | check u16 |
              6 zeros | last seq u64
    head      0x50 u8 | type u8 | entries u16 | messages u32 | timestamp, wall ms i64 | epoch u64 | first offset u64 |
              crc of the data u32 | data octets u32 | 0 u32 | 0 u32                                       (big-endian)
    data      of kind 0: entries of the stream protocol (entries_run.py)
              of kind 1: the payload of a PUBLISH (store/format.py) with the offset as first seq
    index     point (32) | point | ...
    point     offset u64 | timestamp, wall ms i64 | position u64 | flags u32 | crc u32

The crc of a chunk's guard is CRC-32C of all in front of the data, that of the data is CRC-32 as zlib has it: the head
and the data of kind 0 are what clients of the stream protocol get. The trailer is empty so far. Kind 2 is a gap:
it stands for messages that are lost, and has no data. No other kind is written.
The bloom is of the messages' filter values. A chunk with NO_VALUES has none because no message has a value;
nothing is known of one with neither.
CRC-32C of chunks and points starts from a seed that follows from the log id, a random one, and the stream's id: octets
of another stream, or of a message, never pass for ours. `check` follows from the sizes and the seed: it makes looking
for a chunk behind damage cheap.

A chunk with BEGINS is the first one of a write: all that stands before it had been on disk before it was written, and
committed. Chunks of a write with STRAIGHT count once the node's log is committed up to the last one's last seq
(straight.py): messages of them may be nowhere else. The
first point of an index has SYNCED: what the segment has up to its position is on disk; its offset is the one behind
that, its timestamp that of the last chunk. The others say where chunks begin, one about every 64 KiB.
"""

import re
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from google_crc32c import extend, value

from pybroker.entries_run import HEAD, EntriesRun, pack_head
from pybroker.run import WANTS_FILTER
from pybroker.store.format import RECORD_OCTETS, FormatError, check_version
from pybroker.store.publish_record import decode_publish, publish

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.run import Run

    Bloom = bytes | Callable[[], bytes | None] | None

VERSION: Final = 1
SEGMENT_MAGIC: Final = b"pbstream"
META_MAGIC: Final = b"pbstmeta"
HEADER_OCTETS: Final = 64
GUARD_OCTETS: Final = 32
HEAD_OCTETS: Final = 48
FRONT_OCTETS: Final = GUARD_OCTETS + HEAD_OCTETS  # of a chunk, in front of its data, without a bloom
FRONT_OCTETS_MAX: Final = FRONT_OCTETS + 255
POINT_OCTETS: Final = 32
# No chunk is larger: what claims to be is damaged. A content is at most a message of 128 MiB and its frames.
DATA_OCTETS_MAX: Final = (1 << 28) - 1
# Kinds of chunks: entries as stream clients have them, contents as AMQP 0-9-1 has them, and messages that are lost.
ENTRIES: Final = 0
CONTENTS: Final = 1
GAP: Final = 2
# Flags of a meta, a chunk, a point.
DELETED: Final = 1
BEGINS: Final = 1
NO_VALUES: Final = 2
STRAIGHT: Final = 4
SYNCED: Final = 1

META_NAME: Final = "meta"
SEGMENT_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".idx"
_OFFSET_DIGITS: Final = 20

_SEED: Final = Struct("<IQ")
_HEADER: Final = Struct("<8sHHIQQQq12x")
_GUARD: Final = Struct("<IIBBBxH6xQ")  # behind its crc
_U32: Final = Struct("<I")
_POINT: Final = Struct("<QqQI")
# A guard from its trailer octets on, as far as it is always alike, and the first octets of a head, or of an older one,
# where there is no bloom.
_MAYBE: Final = re.compile(rb"(?s)(?=\0{4}(?:\0[\0-\x02].\0..\0{6}.{8}[\x50\x51]\0|[^\0][\0\x01].\0..\0{6}))")
_MAYBE_AT: Final = 8


class Chunk(NamedTuple):
    """A run inside a stream: its `first_seq` is an offset.

    `last_seq` is the seq that its last message has in the node's log; `timestamp_ms` is wall time, and never less than
    that of the chunk before. `bloom` is of the messages' filter values: empty, none has one; None, nothing is known.
    One that has to be found is asked for when the chunk is encoded.
    """

    run: "Run"
    last_seq: int
    timestamp_ms: int
    bloom: "Bloom" = None

    @property
    def next_offset(self) -> int:
        """Return the offset behind its last message."""
        return self.run.first_seq + self.run.count


class Header(NamedTuple):
    """The first octets of a segment, or all of `meta`. `last_seq` and `timestamp_ms` are of the chunk before, or 0.

    In `meta` the place of `last_seq` has the first offset of the newest segment with messages, plus 1; 0: not known.
    """

    log_id: int
    stream_id: int
    first_offset: int
    last_seq: int = 0
    timestamp_ms: int = 0
    flags: int = 0

    @property
    def newest(self) -> int | None:
        """Return where the newest segment begins, of `meta`."""
        return self.last_seq - 1 if self.last_seq else None

    def encode(self, magic: bytes = SEGMENT_MAGIC) -> bytes:
        """Return the octets."""
        octets = _HEADER.pack(
            magic,
            VERSION,
            self.flags,
            self.log_id,
            self.stream_id,
            self.first_offset,
            self.last_seq,
            self.timestamp_ms,
        )
        return octets + _U32.pack(value(octets))

    @classmethod
    def decode(cls, octets: bytes, magic: bytes = SEGMENT_MAGIC) -> "Header":
        """Read them back. Raises FormatError."""
        if len(octets) < HEADER_OCTETS or octets[:8] != magic:
            raise FormatError("this is not a file of a stream")
        if value(octets[:60]) != _U32.unpack_from(octets, 60)[0]:
            raise FormatError("the header is damaged")
        _, version, flags, log_id, stream_id, first_offset, last_seq, timestamp_ms = _HEADER.unpack_from(octets)
        check_version(version)
        return cls(log_id, stream_id, first_offset, last_seq, timestamp_ms, flags)


class Front(NamedTuple):
    """All of a chunk in front of its data; it was sound. `octets` are those of the whole chunk; `bloom` as in Chunk."""

    octets: int
    kind: int
    data_octets: int
    data_crc: int
    begins: bool
    last_seq: int
    first_offset: int
    messages: int
    timestamp_ms: int
    entries: int
    bloom: bytes | None = None
    straight: bool = False

    @property
    def next_offset(self) -> int:
        """Return the offset behind its messages."""
        return self.first_offset + self.messages

    @property
    def front_octets(self) -> int:
        """Return how many octets are in front of its data."""
        return self.octets - self.data_octets


class Point(NamedTuple):
    """An entry of an index."""

    offset: int
    timestamp_ms: int
    position: int
    flags: int = 0

    def encode(self, seed: int) -> bytes:
        """Return the octets."""
        octets = _POINT.pack(*self)
        return octets + _U32.pack(extend(seed, octets))


def segment_name(first_offset: int) -> str:
    """Return the name of the segment that begins with this offset."""
    return f"{first_offset:0{_OFFSET_DIGITS}d}{SEGMENT_SUFFIX}"


def index_name(first_offset: int) -> str:
    """Return the name of its index."""
    return f"{first_offset:0{_OFFSET_DIGITS}d}{INDEX_SUFFIX}"


def first_offset_of(name: str, suffix: str = SEGMENT_SUFFIX) -> int | None:
    """Return the first offset of the segment, or index, whose file has this name; None if it is none."""
    digits = name.removesuffix(suffix)
    if digits == name or len(digits) != _OFFSET_DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits)


def chunk_seed(log_id: int, stream_id: int) -> int:
    """Return what the crc of each chunk of this stream starts from."""
    started: int = value(_SEED.pack(log_id, stream_id))
    return started


def point_seed(log_id: int, stream_id: int, first_offset: int) -> int:
    """Return what the crc of each point starts from, in the index of this segment."""
    started: int = extend(chunk_seed(log_id, stream_id), _SEED.pack(0, first_offset))
    return started


def encode_chunk(chunk: Chunk, seed: int, *, begins: bool, straight: bool = False) -> "list[bytes | memoryview[int]]":
    """Return the front of a chunk, and its data in one piece or several."""
    run, bloom = chunk.run, chunk.bloom
    bloom = bloom() if callable(bloom) else bloom
    flags = (BEGINS if begins else 0) | (STRAIGHT if straight else 0)
    if isinstance(run, EntriesRun):
        return [_front(ENTRIES, flags, chunk.last_seq, run.head, run.octets, seed, bloom), *run.blocks]
    record = publish(0, run, range(run.count), chunk.timestamp_ms, 0)
    contents = memoryview(record)[RECORD_OCTETS:]
    head = _head(run.count, run.count, chunk.timestamp_ms, run.first_seq, contents)
    return [_front(CONTENTS, flags, chunk.last_seq, head, len(contents), seed, bloom), contents]


def encode_gap(
    first_offset: int, count: int, last_seq: int, timestamp_ms: int, seed: int, *, begins: bool, straight: bool = False
) -> bytes:
    """Return a chunk of messages that are lost; `last_seq` and `timestamp_ms` are those of the chunk before."""
    flags = (BEGINS if begins else 0) | (STRAIGHT if straight else 0)
    return _front(GAP, flags, last_seq, _head(0, count, timestamp_ms, first_offset, b""), 0, seed)


def decode_chunk(front: Front, data: bytes) -> "Run":
    """Return the run of a chunk that is no gap. Its `arrived_ms` is wall time."""
    if front.kind == CONTENTS:
        # If nothing is known of filter values they are looked for.
        return decode_publish(data, WANTS_FILTER if front.bloom is None else 0)
    return EntriesRun.of_chunk(
        front.first_offset, data, front.entries, front.messages, front.timestamp_ms, front.data_crc, front.bloom
    )


def _head(entries: int, count: int, timestamp_ms: int, first_offset: int, data: "bytes | memoryview[int]") -> bytes:
    return pack_head(entries, count, timestamp_ms, first_offset, crc32(data), len(data))


def _front(
    kind: int, flags: int, last_seq: int, head: bytes, octets: int, seed: int, bloom: bytes | None = None
) -> bytes:
    if bloom is None:
        bloom = b""
    elif not bloom:
        flags |= NO_VALUES
    front = _GUARD.pack(octets, 0, len(bloom), kind, flags, _check(octets, seed), last_seq) + bloom + head
    return _U32.pack(extend(seed, front)) + front


def decode_front(octets: bytes, at: int, seed: int) -> Front | None:
    """Return the front of the chunk that begins at `at`; None if none does, or it is damaged."""
    if at + FRONT_OCTETS > len(octets):
        return None
    data_octets, trailer, bloom_octets, kind, flags, check, last_seq = _GUARD.unpack_from(octets, at + 4)
    if check != _check(data_octets, seed) or trailer or data_octets > DATA_OCTETS_MAX:
        return None
    if kind not in {ENTRIES, CONTENTS, GAP}:
        return None
    head_at = at + GUARD_OCTETS + bloom_octets
    end = head_at + HEAD_OCTETS
    if end > len(octets) or extend(seed, octets[at + 4 : end]) != _U32.unpack_from(octets, at)[0]:
        return None
    _, _, entries, count, timestamp_ms, _, first_offset, data_crc, _, _, _ = HEAD.unpack_from(octets, head_at)
    is_known = bloom_octets or flags & NO_VALUES
    return Front(
        end - at + data_octets,
        kind,
        data_octets,
        data_crc,
        bool(flags & BEGINS),
        last_seq,
        first_offset,
        count,
        timestamp_ms,
        entries,
        octets[at + GUARD_OCTETS : head_at] if is_known else None,
        straight=bool(flags & STRAIGHT),
    )


def find_front(octets: bytes, at: int, seed: int) -> int:
    """Return where, from `at` on, a chunk begins whose front is sound; -1 if none does."""
    for match in _MAYBE.finditer(octets, at + _MAYBE_AT):
        start = match.start() - _MAYBE_AT
        if decode_front(octets, start, seed) is not None:
            return start
    return -1


def decode_point(octets: bytes, number: int, seed: int) -> Point | None:
    """Return a point of an index; None if there is none with this number, or it is damaged."""
    at = number * POINT_OCTETS
    if at + POINT_OCTETS > len(octets):
        return None
    if extend(seed, octets[at : at + _POINT.size]) != _U32.unpack_from(octets, at + _POINT.size)[0]:
        return None
    return Point(*_POINT.unpack_from(octets, at))


def _check(octets: int, seed: int) -> int:
    """Return the two octets that tell a chunk with so much data from others."""
    return (octets ^ octets >> 16 ^ seed) & 0xFFFF
