"""Sections of an AMQP 1.0 message (its part 3.2): which there are, and where each begins and ends."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from pybroker.wire.amqp10 import encoding as amqp

HEADER: Final = 0x70
DELIVERY_ANNOTATIONS: Final = 0x71
MESSAGE_ANNOTATIONS: Final = 0x72
PROPERTIES: Final = 0x73
APPLICATION_PROPERTIES: Final = 0x74
DATA: Final = 0x75
SEQUENCE: Final = 0x76
VALUE: Final = 0x77
FOOTER: Final = 0x78

_NAMES: Final = {
    b"amqp:header:list": HEADER,
    b"amqp:delivery-annotations:map": DELIVERY_ANNOTATIONS,
    b"amqp:message-annotations:map": MESSAGE_ANNOTATIONS,
    b"amqp:properties:list": PROPERTIES,
    b"amqp:application-properties:map": APPLICATION_PROPERTIES,
    b"amqp:data:binary": DATA,
    b"amqp:amqp-sequence:list": SEQUENCE,
    b"amqp:amqp-value:*": VALUE,
    b"amqp:footer:map": FOOTER,
}
_ULONGS: Final = frozenset({amqp.SMALL_ULONG, amqp.ULONG})
_BODY: Final = frozenset({DATA, SEQUENCE, VALUE})
# Messages of clients have less than ten, or as many as parts of a body.
SECTIONS_MAX: Final = 4_096


class Section(NamedTuple):
    """The section of a kind that begins at `start`; its value, with its code, is at `value_at .. stop`."""

    kind: int
    start: int
    value_at: int
    stop: int


def sections_of(octets: bytes) -> Iterator[Section]:
    """Yield the sections of a message. Raises ValueError for octets that are none."""
    at, end, left = 0, len(octets), SECTIONS_MAX
    while at < end:
        if octets[at] != amqp.DESCRIBED or not left:
            raise ValueError("no section")
        code, start, value_at = amqp.read(octets, at + 1, end)
        descriptor = octets[start:value_at]
        kind = int.from_bytes(descriptor) if code in _ULONGS else _NAMES.get(descriptor, 0)
        if not HEADER <= kind <= FOOTER:
            raise ValueError("an unknown section")
        _, _, stop = amqp.read(octets, value_at, end)
        yield Section(kind, at, value_at, stop)
        at = stop
        left -= 1


def is_body(octets: bytes) -> bool:
    """Tell whether octets are the sections of a body, at least one, and no others."""
    try:
        kinds = {section.kind for section in sections_of(octets)}
    except ValueError:
        return False
    return bool(kinds) and kinds <= _BODY


def section(kind: int, value: bytes) -> bytes:
    """Return a section with this value."""
    return bytes((amqp.DESCRIBED, amqp.SMALL_ULONG, kind)) + value
