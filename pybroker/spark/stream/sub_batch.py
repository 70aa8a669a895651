"""Sub-batches: messages that a publisher put into one entry, maybe compressed, by any codec of the protocol.

gzip is Python's; the others are pyarrow's, which is loaded when one comes.
"""

import zlib
from typing import TYPE_CHECKING, Final

from pybroker.client.errors import ClientError
from pybroker.entries_run import LENGTH_OCTETS
from pybroker.wire.stream.entries import cut

if TYPE_CHECKING:
    from pybroker.wire.stream.entries import Entry

PLAIN: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4
_NAMES: Final = {SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}
# A sub-batch is one entry of a chunk; the number of octets that it becomes is its publisher's claim.
UNPACKED_OCTETS_MAX: Final = 1 << 28
_ALL: Final = 1 << 32
_GZIP_BITS: Final = 31
# The framing format of snappy: a chunk's type, its length (24 bits, little-endian), what it has.
_SNAPPY_MAGIC: Final = b"\xff\x06\x00\x00sNaPpY"
_SNAPPY_PACKED: Final = 0
_SNAPPY_PLAIN: Final = 1
_CRC_OCTETS: Final = 4


class CannotOpenError(ClientError):
    """Messages of a sub-batch cannot be had: its codec is unknown here, or its octets are damaged."""


def opened(batch: "Entry", offset: int) -> bytes:
    """Return the messages of a sub-batch, each with its length in front; it begins at an offset.

    Raises CannotOpenError.
    """
    try:
        data = _unpacked(batch)
        # Each of the messages has a length at least, before anything is made for it.
        if len(data) >= LENGTH_OCTETS * batch.messages:
            stop, entries, messages = cut(data, 0, _ALL, _ALL)
            if stop == len(data) and entries == messages == batch.messages:
                return data
    except (ValueError, zlib.error, OSError, IndexError) as error:
        raise CannotOpenError(f"the sub-batch at offset {offset} cannot be opened: {error}", error) from error
    raise CannotOpenError(f"the sub-batch at offset {offset} cannot be opened: it has not the messages it announces")


def _unpacked(batch: "Entry") -> bytes:
    if batch.codec == PLAIN:
        return batch.data
    if batch.unpacked > UNPACKED_OCTETS_MAX:
        raise ValueError(f"it would become {batch.unpacked} octets")
    if batch.codec == GZIP:
        unpacking = zlib.decompressobj(_GZIP_BITS)
        return unpacking.decompress(batch.data, batch.unpacked + 1)
    name = _NAMES.get(batch.codec)
    if name is None:
        raise ValueError(f"codec {batch.codec} is unknown")
    if batch.codec == SNAPPY and batch.data.startswith(_SNAPPY_MAGIC):
        return b"".join(_snappy_parts(batch.data, batch.unpacked))
    return _by_arrow(name, batch.data, batch.unpacked)


def _snappy_parts(data: bytes, octets_max: int) -> list[bytes]:
    """Return the parts of snappy's framing format, which says of each how long it becomes."""
    parts, at = [], 0
    while at < len(data):
        kind, length = data[at], int.from_bytes(data[at + 1 : at + 4], "little")
        part = data[at + 4 + _CRC_OCTETS : at + 4 + length]
        if kind in (_SNAPPY_PACKED, _SNAPPY_PLAIN):
            octets = _varint(part) if kind == _SNAPPY_PACKED else len(part)
            octets_max -= octets
            if octets_max < 0:
                raise ValueError("it would become more octets than it announces")
            parts.append(_by_arrow("snappy", part, octets) if kind == _SNAPPY_PACKED else part)
        at += 4 + length
    return parts


def _varint(data: bytes) -> int:
    """Return the number that the octets begin with, seven bits each, the lowest first."""
    value = shift = 0
    for octet in data[:5]:
        value |= (octet & 0x7F) << shift
        shift += 7
        if not octet & 0x80:
            break
    return value


def _by_arrow(name: str, data: bytes, octets: int) -> bytes:
    try:
        import pyarrow as pa  # noqa: PLC0415 - sub-batches of these codecs are rare
    except ImportError:
        raise ValueError(f"{name} needs pyarrow: pip install 'pybroker[spark]'") from None
    return bytes(pa.decompress(data, octets, codec=name, asbytes=True))
