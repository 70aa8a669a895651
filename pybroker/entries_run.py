"""EntriesRun: consecutive messages of a stream as its publishers encoded them.

Entries of the stream protocol stay the octets that they came as: those of one turn are one block, a chunk is a few of
them, and a client that reads by the same protocol gets them back. An entry is a message (length u32 below 2^31, octets)
or a sub-batch of several, which may be compressed (1 bit, codec 3 bits, 4 zero bits, messages u16, octets unpacked u32,
octets u32, octets). Readers that need contents of AMQP 0-9-1 have them converted.

The head of a chunk is osiris': clients of the stream protocol read it.

A bloom says which filter values messages have that were published with one beside them (wire/stream/bloom.py). Its
lowest bit says that there are messages without one. An empty one: no message has one; None: nothing is known.
"""

from struct import Struct
from typing import TYPE_CHECKING, Final
from zlib import crc32

from pybroker.run import PLAIN_ATTRIBUTES, Names, Run

if TYPE_CHECKING:
    from typing import NoReturn

# Of one chunk: its head has 16 bits for the number.
ENTRIES_MAX: Final = 65_535
# Of the entries of one chunk: with what is in front of them they are a frame of 1 MiB at most.
ENTRIES_OCTETS_MAX: Final = 1_040_000
# In front of a message: its length.
LENGTH_OCTETS: Final = 4
# Magic 5 and version 0 | type | entries | messages | timestamp, wall ms | epoch | first offset | crc of the data | data
# octets | trailer octets | bloom octets and 24 bits; big-endian.
HEAD: Final = Struct(">BBHIqQQIIII")
HEAD_MAGIC: Final = 0x50
EPOCH: Final = 1
_NAMES: Final = Names("", "", b"\0\0\xce")


# Octets of a bloom, unless its stream says otherwise.
BLOOM_OCTETS: Final = 16
# A bloom that nothing matches.
NO_BITS: Final = b"\0"
# The lowest bit of a bloom.
UNFILTERED: Final = 1
# A chunk of so many entries, or octets, takes no messages with other filter values: readers that filter can pass over
# either.
APART_ENTRIES_MIN: Final = 100
APART_OCTETS_MIN: Final = 8_192


def united(one: bytes | None, other: bytes | None) -> bytes | None:
    """Return the bloom of all messages of two; None if both have values, and different sizes."""
    if one is None or other is None or (one and other and len(one) != len(other)):
        return None
    octets = max(len(one), len(other))
    return (bits_of_bloom(one) | bits_of_bloom(other)).to_bytes(octets, "little") if octets else b""


def bits_of_bloom(bloom: bytes) -> int:
    """Return the bits of a bloom as a number."""
    return int.from_bytes(bloom, "little") if bloom else UNFILTERED


def pack_head(entries: int, count: int, timestamp_ms: int, first_offset: int, crc: int, octets: int) -> bytes:
    """Return the head of a chunk with `count` messages in so many entries, of which `crc` and `octets` are."""
    return HEAD.pack(HEAD_MAGIC, 0, entries, count, timestamp_ms, EPOCH, first_offset, crc, octets, 0, 0)


class EntriesRun(Run):
    """`count` messages in `entries` entries; `blocks`, put together, are their octets, of which there are `octets`.

    It is taken as a whole: messages of it have no contents, and it has no parts. `body_size` is the mean. As a chunk it
    has a `timestamp_ms`, which is wall time.
    """

    __slots__ = ("_crc", "blocks", "bloom", "entries", "timestamp_ms")

    def __init__(
        self,
        first_seq: int,
        blocks: list[bytes],
        entries: int,
        count: int,
        octets: int,
        arrived_ms: int,
        origin: int = 0,
        bloom: bytes | None = None,
    ) -> None:
        bodies = octets - LENGTH_OCTETS * entries
        super().__init__(_NAMES, PLAIN_ATTRIBUTES, first_seq, [], octets, bodies, -1, arrived_ms, origin=origin)
        self.contents = None
        self.count = count
        self.entries = entries
        self.blocks = blocks
        self.bloom = bloom
        self.body_size = bodies // max(1, count)
        self.timestamp_ms = 0
        self._crc: int | None = None

    @classmethod
    def of_chunk(
        cls,
        first_offset: int,
        data: bytes,
        entries: int,
        count: int,
        timestamp_ms: int,
        crc: int,
        bloom: bytes | None = None,
    ) -> "EntriesRun":
        """Return a chunk that was read; its `arrived_ms` is wall time."""
        run = cls(first_offset, [data], entries, count, len(data), timestamp_ms, bloom=bloom)
        run.timestamp_ms = timestamp_ms
        run._crc = crc
        return run

    @classmethod
    def passed_over(cls, first_offset: int, count: int) -> "EntriesRun":
        """Return the place of messages that were not read, since a reader that filters wants none of them."""
        return cls(first_offset, [b""], 0, count, 0, 0, bloom=NO_BITS)

    def pass_over(self, count: int) -> None:
        """Let so many more messages be passed over."""
        self.count += count

    def number(self, first_seq: int) -> None:
        """Give the messages their seqs, which nobody has seen yet."""
        self.first_seq = first_seq

    def at(self, first_seq: int) -> "EntriesRun":
        """Return the same messages with other seqs, or with offsets."""
        run = EntriesRun(
            first_seq,
            list(self.blocks),
            self.entries,
            self.count,
            self.octets,
            self.arrived_ms,
            self.origin,
            self.bloom,
        )
        run.timestamp_ms = self.timestamp_ms
        run._crc = self._crc
        return run

    @property
    def head(self) -> bytes:
        """Return the head of the chunk: what clients get is this, and the data."""
        return pack_head(self.entries, self.count, self.timestamp_ms, self.first_seq, self.crc, self.octets)

    @property
    def data(self) -> bytes:
        """Return the octets of all entries, in one piece."""
        if len(self.blocks) > 1:
            self.blocks = [b"".join(self.blocks)]
        return self.blocks[0]

    @property
    def crc(self) -> int:
        """Return the CRC-32 of the octets, as the head of a chunk has it."""
        if self._crc is None:
            crc = 0
            for block in self.blocks:
                crc = crc32(block, crc)
            self._crc = crc
        return self._crc

    def stays_apart(self, other: "EntriesRun") -> bool:
        """Tell whether the messages of another one should have a chunk of their own, for readers that filter."""
        mine, theirs = self.bloom, other.bloom
        if mine == theirs or mine is None or theirs is None:
            return False
        if self.entries < APART_ENTRIES_MIN and self.octets < APART_OCTETS_MIN:
            return False
        # A bloom with more than half of its bits lets most readers look at the chunk anyway.
        return bits_of_bloom(theirs).bit_count() <= 4 * max(1, len(theirs))

    def join(self, other: "EntriesRun") -> None:
        """Append the messages of another one, whose seqs, or offsets, follow."""
        self.blocks += other.blocks
        if self.bloom != other.bloom:
            self.bloom = united(self.bloom, other.bloom)
        self.entries += other.entries
        self.count += other.count
        self.octets += other.octets
        self.body_octets += other.body_octets
        self.body_size = self.body_octets // self.count
        self._hold(self.held_octets + other.octets)
        self._crc = None

    def body_octets_of(self, indexes: range) -> int:
        """Return about what the bodies at `indexes` have; exact for all of them."""
        return self.body_octets * len(indexes) // max(1, self.count)

    def contents_at(self, indexes: range) -> "NoReturn":
        """Refuse: entries are converted as a whole."""
        raise NotImplementedError(f"entries have no contents: {len(indexes)} of {self.count} asked for")

    def part(self, indexes: range) -> "NoReturn":
        """Refuse: entries are not taken apart."""
        raise NotImplementedError(f"entries have no parts: {len(indexes)} of {self.count} asked for")

    def pack(self) -> None:
        """Leave it: it is in few objects already."""
