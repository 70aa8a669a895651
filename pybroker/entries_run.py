"""EntriesRun: consecutive messages of a stream as its publishers encoded them.

Entries of the stream protocol stay the octets that they came as: those of one turn are one block, a chunk is a few of
them, and a client that reads by the same protocol gets them back. An entry is a message (length u32 below 2^31, octets)
or a sub-batch of several, which may be compressed (1 bit, codec 3 bits, 4 zero bits, messages u16, octets unpacked u32,
octets u32, octets). Whoever needs contents of AMQP 0-9-1 has them converted.
"""

from typing import TYPE_CHECKING, Final
from zlib import crc32

from pybroker.run import PLAIN_ATTRIBUTES, Names, Run

if TYPE_CHECKING:
    from typing import NoReturn

# Of one chunk: its head has 16 bits for the number.
ENTRIES_MAX: Final = 65_535
# In front of a message: its length.
LENGTH_OCTETS: Final = 4
_NAMES: Final = Names("", "", b"\0\0\xce")


class EntriesRun(Run):
    """`count` messages in `entries` entries; `blocks`, put together, are their octets.

    It is taken as a whole: messages of it have no contents, and it has no parts.
    """

    __slots__ = ("_crc", "blocks", "entries")

    def __init__(
        self,
        first_seq: int,
        blocks: list[bytes],
        entries: int,
        count: int,
        octets: int,
        arrived_ms: int,
        origin: int = 0,
    ) -> None:
        bodies = octets - LENGTH_OCTETS * entries
        super().__init__(_NAMES, PLAIN_ATTRIBUTES, first_seq, [], octets, bodies, -1, arrived_ms, origin=origin)
        self.contents = None
        self.count = count
        self.entries = entries
        self.blocks = blocks
        self._crc: int | None = None

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

    def join(self, other: "EntriesRun") -> None:
        """Append the messages of another one, whose seqs, or offsets, follow."""
        self.blocks = [*self.blocks, *other.blocks]
        self.entries += other.entries
        self.count += other.count
        self.octets += other.octets
        self.body_octets += other.body_octets
        self._hold(self.held_octets + other.octets)
        self._crc = None

    def body_octets_of(self, indexes: range) -> int:
        """Return about what the bodies at `indexes` have; exact for all of them."""
        return self.body_octets * len(indexes) // self.count

    def contents_at(self, indexes: range) -> "NoReturn":
        """Refuse: entries are converted as a whole."""
        raise NotImplementedError(f"entries have no contents: {len(indexes)} of {self.count} asked for")

    def part(self, indexes: range) -> "NoReturn":
        """Refuse: entries are not taken apart."""
        raise NotImplementedError(f"entries have no parts: {len(indexes)} of {self.count} asked for")

    def pack(self) -> None:
        """Leave it: it is in few objects already."""
