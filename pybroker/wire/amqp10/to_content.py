"""A message of AMQP 1.0 as a content of AMQP 0-9-1, as a consumer of a stream gets it.

The most common ones are converted by `_contents.c`, where it was built, of which all here is the reference.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from pybroker.wire.amqp10 import encoding as amqp
from pybroker.wire.amqp10.front import NO_FRONT, UNKNOWN, Front, Origin, read_front
from pybroker.wire.amqp10.known_fronts import KnownFronts
from pybroker.wire.amqp10.sections import DATA, FOOTER, Section, section, sections_of

# Most connections have this one channel alone: for them nothing has to be written anew.
CHANNEL: Final = 1
_CHANNEL: Final = CHANNEL.to_bytes(2)
_DATA: Final = section(DATA, b"")
# In front of a body: its length of four octets, or of one.
_LONG_DATA: Final = section(DATA, bytes([amqp.BINARY_32]))
_BEFORE_LENGTHS: Final = (_LONG_DATA, section(DATA, bytes([amqp.BINARY_8])))
# Of a content: the octets in front of a frame's payload, and where the properties begin.
_FRAME_OCTETS: Final = 7
_PROPERTIES_AT: Final = 19

# The version of the interface that `_contents.c` shares with this file: one that was built for another is not used.
SEAM: Final = 2

_fronts: Final[KnownFronts[tuple[bytes, bool], Front]] = KnownFronts()

Common = Callable[[bytes], tuple[bytes, int] | None]
CommonBack = Callable[[bytes, bytes, bytes], bytes | None]


def pure_content(message: bytes) -> tuple[bytes, int] | None:  # noqa: ARG001 - the twin in C looks
    """Return the content and the size of its body of a message that is not out of the ordinary; None for any other."""
    return None


def pure_entry(properties: bytes, body: bytes, names: bytes) -> bytes | None:  # noqa: ARG001 - the same
    """Return an entry of property octets that are not out of the ordinary, None for any other.

    `names` are the annotations that say where it was published.
    """
    return None


def contents_of(messages: list[bytes]) -> list[tuple[Origin, bytes, int]]:
    """Return origin, content and size of the body of each message."""
    made: list[tuple[Origin, bytes, int]] = []
    append = made.append
    # Neighbours are mostly alike up to the length of the body.
    start, at, stop, front = b"", 0, 0, NO_FRONT
    head, head_size = b"", -1
    for message in messages:
        common = _common(message)
        if common is not None:
            append((UNKNOWN, *common))
            continue
        if start and message.startswith(start):
            size = int.from_bytes(message[at:stop])
            if size and size == len(message) - stop:
                if size != head_size:
                    head, head_size = _head(front.properties, size), size
                append((front.origin, b"%b%b\xce" % (head, message[stop:]), size))
                continue
        front, body, at, stop = _parts_of(message)
        start, head_size = message[:at], -1
        append((front.origin, framed(front.properties, body), len(body)))
    return made


def parts_of(messages: list[bytes]) -> tuple[list[bytes], list[tuple[int, Front]]]:
    """Return the bodies of messages, and their fronts: each with the number of the first message that has it."""
    bodies: list[bytes] = []
    fronts: list[tuple[int, Front]] = []
    start, at, stop, front = b"", 0, 0, NO_FRONT
    append = bodies.append
    number = int.from_bytes
    for message in messages:
        # Neighbours are mostly alike up to the length of the body.
        if start and message.startswith(start) and number(message[at:stop]) == len(message) - stop:
            append(message[stop:])
            continue
        common = _common(message)
        if common is not None:
            content, size = common
            end = _FRAME_OCTETS + number(content[3:_FRAME_OCTETS])
            front = Front(content[_PROPERTIES_AT:end], UNKNOWN)
            body = content[end + 1 + _FRAME_OCTETS : -1] if size else b""
            stop = len(message) - size
            at = stop - 4 if message.startswith(_LONG_DATA, max(0, stop - 8)) else stop - 1
            start = message[:at] if size and message.endswith(_BEFORE_LENGTHS, 0, at) else b""
        else:
            front, body, at, stop = _parts_of(message)
            start = message[:at]
        fronts.append((len(bodies), front))
        append(body)
    return bodies, fronts


def framed(properties: bytes, body: bytes) -> bytes:
    """Return header frame and body frame, however long; no body frame without a body."""
    return b"%b%b\xce" % (_head(properties, len(body)), body) if body else _header(properties, 0)


def _header(properties: bytes, size: int) -> bytes:
    """Return the header frame of a content with a body of so many octets."""
    length = (12 + len(properties)).to_bytes(4)
    return b"\2%b%b\0\x3c\0\0%b%b\xce" % (_CHANNEL, length, size.to_bytes(8), properties)


def _head(properties: bytes, size: int) -> bytes:
    """Return the octets of a content before its body."""
    return b"%b\3%b%b" % (_header(properties, size), _CHANNEL, size.to_bytes(4))


def _parts_of(message: bytes) -> tuple[Front, bytes, int, int]:
    """Return what a message's front says, its body, and between which places the length of that body stands.

    A body of one section of data is its octets; one of anything else stays AMQP 1.0, and the message's type says so.
    # Differs from RabbitMQ: octets that are no message of AMQP 1.0 are a body; properties above 255 octets are left
    out. At these, at a header section, and at a body of anything but one section of data, its connection ends with 541.
    Both places are 0 for a message that does not end with one section of data.
    """
    try:
        front, parts = _divided(message)
        if not parts:
            return _front_of(message, front, encoded=False), b"", 0, 0
        if len(parts) > 1 or parts[0].kind != DATA:
            return _front_of(message, front, encoded=True), message[parts[0].start : parts[-1].stop], 0, 0
        _, section_at, value_at, section_stop = parts[0]
        code, start, stop = amqp.read(message, value_at, section_stop)
        if code not in amqp.BINARIES:
            return NO_FRONT, message, 0, 0
        said = _front_of(message, front, encoded=False)
    except ValueError:
        return NO_FRONT, message, 0, 0
    body = message[start:stop]
    at = value_at + 1
    if stop == len(message) and start > at and value_at - section_at == len(_DATA):
        return said, body, at, start
    return said, body, 0, 0


def _divided(message: bytes) -> tuple[list[Section], list[Section]]:
    """Return the sections in front of a message's body, and those of the body. Raises ValueError."""
    front: list[Section] = []
    parts: list[Section] = []
    kind = 0
    for each in sections_of(message):
        if kind == FOOTER or (parts and each.kind < DATA):
            raise ValueError("a section behind the body")
        kind = each.kind
        if kind < DATA:
            front.append(each)
        elif kind != FOOTER:
            parts.append(each)
    return front, parts


def _front_of(message: bytes, front: list[Section], *, encoded: bool) -> Front:
    """Return what the sections in front of a body say. Raises ValueError."""
    octets = message[: front[-1].stop] if front else b""
    known = _fronts.get((octets, encoded))
    if known is None:
        known = read_front(octets, front, encoded=encoded)
        _fronts.remember((octets, encoded), known, octets, known.properties)
    return known


def _choose() -> tuple[str, Common, CommonBack]:
    """Return what `status` calls it, and the functions: C where they were built, unless PYBROKER_PURE is 1."""
    if os.environ.get("PYBROKER_PURE") != "1":
        with suppress(ImportError):
            from pybroker.wire.amqp10 import _contents  # noqa: PLC0415 - it may be missing

            if _contents.SEAM == SEAM:
                return "C", _contents.content, _contents.entry
    return "pure Python", pure_content, pure_entry


CODEC, _common, common_entry = _choose()
