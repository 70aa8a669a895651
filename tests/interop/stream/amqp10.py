"""Messages of AMQP 1.0 for the tests, as far as a stream's have them, with the types of the standard that they need."""

import struct
from typing import NamedTuple

HEADER, DELIVERY, ANNOTATIONS, PROPERTIES, APPLICATION, DATA, SEQUENCE, VALUE, FOOTER = range(0x70, 0x79)
PROPERTY_NAMES = (
    "message-id",
    "user-id",
    "to",
    "subject",
    "reply-to",
    "correlation-id",
    "content-type",
    "content-encoding",
    "absolute-expiry-time",
    "creation-time",
    "group-id",
    "group-sequence",
    "reply-to-group-id",
)
HEADER_NAMES = ("durable", "priority", "ttl", "first-acquirer", "delivery-count")
FIXED = {
    0x50: ">B",
    0x51: ">b",
    0x52: ">B",
    0x53: ">B",
    0x54: ">b",
    0x55: ">b",
    0x60: ">H",
    0x61: ">h",
    0x70: ">I",
    0x71: ">i",
    0x72: ">f",
    0x80: ">Q",
    0x81: ">q",
    0x82: ">d",
    0x83: ">q",
    0x98: "16s",
}
CONSTANT = {0x40: None, 0x41: True, 0x42: False, 0x43: 0, 0x44: 0, 0x45: []}


class Symbol(str):
    """A symbol."""

    __slots__ = ()


class Timestamp(int):
    """Milliseconds since 1970."""


class Unsigned(int):
    """An unsigned integer of four octets."""


class Message(NamedTuple):
    """One message's sections; maps and lists by name, what is null left out."""

    header: dict[str, object]
    annotations: dict[str, object]
    properties: dict[str, object]
    application: dict[str, object]
    body: bytes | object


def decode(octets: bytes, at: int = 0) -> tuple[object, int]:
    """Return the value at a place, and the place behind it."""
    code = octets[at]
    at += 1
    if code in CONSTANT:
        return CONSTANT[code], at
    if code == 0x56:
        return octets[at] == 1, at + 1
    if code in FIXED:
        size = struct.calcsize(FIXED[code])
        value = struct.unpack_from(FIXED[code], octets, at)[0]
        return (Timestamp(value) if code == 0x83 else value), at + size
    wide = code & 0x10
    size = int.from_bytes(octets[at : at + 4]) if wide else octets[at]
    at += 4 if wide else 1
    inside, end = octets[at : at + size], at + size
    kind = code & 0xEF
    if kind == 0xA0:
        return inside, end
    if kind in {0xA1, 0xA3}:
        return (inside.decode() if kind == 0xA1 else Symbol(inside.decode())), end
    assert kind in {0xC0, 0xC1}, hex(code)
    place = 4 if wide else 1
    count, values = int.from_bytes(inside[:place]), []
    for _ in range(count):
        value, place = decode(inside, place)
        values.append(value)
    return (dict(zip(values[::2], values[1::2], strict=True)) if kind == 0xC1 else values), end


def message_of(octets: bytes) -> Message:
    """Return a message's sections."""
    at, found = 0, {}
    while at < len(octets):
        assert octets[at] == 0
        section, at = decode(octets, at + 1)
        value, at = decode(octets, at)
        found[section] = found[section] + value if section in found and section == DATA else value

    def named(section, names):
        values = found.get(section, [])
        return {name: value for name, value in zip(names, values, strict=False) if value is not None}

    return Message(
        named(HEADER, HEADER_NAMES),
        found.get(ANNOTATIONS, {}),
        named(PROPERTIES, PROPERTY_NAMES),
        found.get(APPLICATION, {}),
        found.get(DATA, found.get(VALUE)),
    )


def encode(value: object) -> bytes:
    """Return the octets of a value."""
    match value:
        case None:
            return b"\x40"
        case bool():
            return b"\x41" if value else b"\x42"
        case Timestamp():
            return b"\x83" + struct.pack(">q", value)
        case Unsigned():
            return b"\x70" + struct.pack(">I", value)
        case int():
            return b"\x81" + struct.pack(">q", value)
        case float():
            return b"\x82" + struct.pack(">d", value)
        case bytes():
            return b"\xb0" + struct.pack(">I", len(value)) + value
        case str():
            text = value.encode()
            return (b"\xb3" if isinstance(value, Symbol) else b"\xb1") + struct.pack(">I", len(text)) + text
        case list() | dict():
            flat = value if isinstance(value, list) else [each for pair in value.items() for each in pair]
            inside = struct.pack(">I", len(flat)) + b"".join(map(encode, flat))
            return (b"\xd0" if isinstance(value, list) else b"\xd1") + struct.pack(">I", len(inside)) + inside
    raise TypeError(value)


def section(kind: int, value: object) -> bytes:
    """Return one section."""
    return b"\0\x53" + bytes([kind]) + encode(value)


def message(
    body: bytes,
    *,
    properties: dict[str, object] | None = None,
    application: dict[str, object] | None = None,
    annotations: dict[str, object] | None = None,
) -> bytes:
    """Return the octets of a message with these octets as its data."""
    parts = []
    if annotations is not None:
        parts.append(section(ANNOTATIONS, {Symbol(name): value for name, value in annotations.items()}))
    if properties is not None:
        parts.append(section(PROPERTIES, [properties.get(name) for name in PROPERTY_NAMES]))
    if application is not None:
        parts.append(section(APPLICATION, application))
    return b"".join([*parts, section(DATA, body)])
