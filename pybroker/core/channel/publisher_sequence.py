"""The number that a publisher gives a transaction, by which the broker knows it when it comes again.

It stands in headers of the transaction's first message. Does not know what the broker committed.
"""

from typing import Final, NamedTuple

from pybroker.content_view import property_octets
from pybroker.errors import PreconditionFailed
from pybroker.wire.properties import find_headers
from pybroker.wire.table import decode_value, split_table

PUBLISHER: Final = "x-pybroker-publisher"
SEQUENCE: Final = "x-pybroker-sequence"
_PUBLISHER: Final = PUBLISHER.encode()
_SEQUENCE: Final = SEQUENCE.encode()
PUBLISHER_OCTETS_MAX: Final = 255
SEQUENCE_MAX: Final = (1 << 63) - 1


class PublisherSequence(NamedTuple):
    """A publisher's name, and the number of its transaction: each one's is above those before."""

    publisher: str
    sequence: int


def sequence_of(content: bytes) -> PublisherSequence | None:
    """Return what a message's headers say, None if they have neither. Raises PreconditionFailed (406)."""
    table = find_headers(property_octets(content))
    if table is None or (_PUBLISHER not in table and _SEQUENCE not in table):
        return None
    values = {key: decode_value(octets) for key, octets in split_table(table) if key in (_PUBLISHER, _SEQUENCE)}
    if not values:
        return None
    publisher, sequence = values.get(_PUBLISHER), values.get(_SEQUENCE)
    if not isinstance(publisher, str) or not 0 < len(publisher.encode()) <= PUBLISHER_OCTETS_MAX:
        raise PreconditionFailed(f"{PUBLISHER} must be a string of 1 to {PUBLISHER_OCTETS_MAX} octets")
    if not isinstance(sequence, int) or isinstance(sequence, bool) or not 0 <= sequence <= SEQUENCE_MAX:
        raise PreconditionFailed(f"{SEQUENCE} must be an integer that is not negative")
    return PublisherSequence(publisher, sequence)
