"""DELAY record: messages that came back to their queues and wait there until they are due.

DELAY     groups: queue id u64 | n u32 | deliveries u32 | due, steady wall ms u64 | n * (first seq u64, last seq u64)

Nothing is written when they are due. A program that does not know the record passes over it: what waits is ready there.
"""

from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias

from pybroker.store.format import DELAY, column, little, record

if TYPE_CHECKING:
    from array import array

# Queue id, deliveries, when it is due, and first and last seqs in turn.
Group: TypeAlias = "tuple[int, int, int, array[int]]"

_GROUP: Final = Struct("<QIIQ")


def encode_delay(groups: list[Group], seed: int) -> bytes:
    """Return the record."""
    parts: list[bytes] = []
    for queue_id, deliveries, due_ms, pairs in groups:
        parts += (_GROUP.pack(queue_id, len(pairs) // 2, deliveries, due_ms), little(pairs))
    return record(DELAY, b"".join(parts), seed)


def decode_delay(payload: bytes) -> list[Group]:
    """Read its payload."""
    groups = []
    at = 0
    while at < len(payload):
        queue_id, count, deliveries, due_ms = _GROUP.unpack_from(payload, at)
        at += _GROUP.size
        groups.append((queue_id, deliveries, due_ms, column("Q", payload, at, 2 * count)))
        at += 16 * count
    return groups
