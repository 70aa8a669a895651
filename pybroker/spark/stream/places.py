"""Places: where a subscription begins, how far a stream goes, and which nodes have it."""

from struct import Struct
from typing import Final, NamedTuple

from pybroker.client.options import Address
from pybroker.wire.stream.codes import OffsetType
from pybroker.wire.stream.fields import FieldReader, Offset

FIRST: Final = Offset(OffsetType.FIRST)
LAST: Final = Offset(OffsetType.LAST)
NEXT: Final = Offset(OffsetType.NEXT)

_U16, _U32 = map(Struct, (">H", ">L"))


class Ends(NamedTuple):
    """How far a stream goes: `next` is behind its last message, equal to `first` without any. RabbitMQ has no id: 0."""

    id: int
    first: int
    next: int


class Place(NamedTuple):
    """The nodes that have a stream; `code` tells whether there is one, and whether it is available."""

    code: int
    leader: Address | None
    replicas: tuple[Address, ...]


def at(offset: int) -> Offset:
    """Return the place of an offset."""
    return Offset(OffsetType.OFFSET, offset)


def since(timestamp_ms: int) -> Offset:
    """Return the place of the first chunk that is not older than a time."""
    return Offset(OffsetType.TIMESTAMP, timestamp_ms)


def read_metadata(content: bytes) -> dict[str, Place]:
    """Return the places of streams by name, from the answer to Metadata."""
    reader = FieldReader(content, 0, len(content))
    nodes = {}
    for _ in range(reader.number(_U32)):
        number = reader.number(_U16)
        nodes[number] = Address(reader.text(), reader.number(_U32))
    found = {}
    for _ in range(reader.number(_U32)):
        name, code = reader.text(), reader.number(_U16)
        leader = nodes.get(reader.number(_U16))
        replicas = [nodes.get(reader.number(_U16)) for _ in range(reader.number(_U32))]
        found[name] = Place(code, leader, tuple(each for each in replicas if each is not None))
    return found
