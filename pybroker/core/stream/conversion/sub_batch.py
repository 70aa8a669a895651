"""Sub-batches: messages that a publisher put into one entry, maybe compressed. A peer chooses every number of it."""

import zlib
from typing import TYPE_CHECKING, Final

from pybroker.entries_run import LENGTH_OCTETS
from pybroker.wire.stream.entries import cut

if TYPE_CHECKING:
    from pybroker.wire.stream.entries import Entry

PLAIN: Final = 0
GZIP: Final = 1
# A sub-batch that would become more is not opened: with the contents made of it, it would not fit into the cache.
UNPACKED_OCTETS_MAX: Final = 8_388_608
_GZIP_BITS: Final = 31
_ALL: Final = 1 << 32


def opened(batch: "Entry") -> bytes | None:
    """Return the messages of a sub-batch, each with its length in front; None if it cannot be opened.

    # Differs from RabbitMQ: it opens none, and its consumers of AMQP 0-9-1 get none of these messages. Of the codecs
    only gzip is known, and what was not compressed.
    """
    data = batch.data
    if batch.codec == GZIP:
        data = _gunzipped(data, batch.unpacked)
    elif batch.codec != PLAIN:
        return None
    # Each of the messages has a length at least, before anything is made for it.
    if len(data) < LENGTH_OCTETS * batch.messages:
        return None
    try:
        stop, entries, messages = cut(data, 0, _ALL, _ALL)
    except ValueError:
        return None
    return data if stop == len(data) and entries == messages == batch.messages else None


def _gunzipped(data: bytes, octets: int) -> bytes:
    """Return what was compressed, if it has as many octets as its publisher says, else nothing."""
    if octets > UNPACKED_OCTETS_MAX:
        return b""
    unpacking = zlib.decompressobj(_GZIP_BITS)
    try:
        unpacked = unpacking.decompress(data, octets + 1)
    except zlib.error:
        return b""
    return unpacked if len(unpacked) == octets and unpacking.eof else b""
