"""A message of AMQP 1.0 as a content of AMQP 0-9-1, as a consumer of a stream gets it."""

import uuid
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from pybroker.errors import PreconditionFailed
from pybroker.wire.amqp10 import encoding as amqp
from pybroker.wire.amqp10.fields import field_of
from pybroker.wire.amqp10.sections import (
    APPLICATION_PROPERTIES,
    DATA,
    DELIVERY_ANNOTATIONS,
    FOOTER,
    HEADER,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    Section,
    section,
    sections_of,
)
from pybroker.wire.expiration import parse_expiration
from pybroker.wire.properties import Properties, encode_properties, replace_headers
from pybroker.wire.table import join_table

# The type of a message whose body is no single section of data: such a body stays AMQP 1.0.
ENCODED_TYPE: Final = "amqp-1.0"
# Application properties that are properties of AMQP 0-9-1.
TYPE_KEY: Final = b"x-basic-type"
APP_ID_KEY: Final = b"x-basic-app-id"
# Annotations likewise, and those that name where a message was published.
PRIORITY_KEY: Final = b"x-basic-priority"
DELIVERY_MODE_KEY: Final = b"x-basic-delivery-mode"
EXPIRATION_KEY: Final = b"x-basic-expiration"
EXCHANGE_KEY: Final = b"x-exchange"
ROUTING_KEY_KEY: Final = b"x-routing-key"
FILTER_KEY: Final = b"x-stream-filter-value"

_PERSISTENT: Final = 2
_TRANSIENT: Final = 1
# Headers of one message: a peer's own table is refused above 1,024, and ids may take two.
HEADERS_MAX: Final = 1_000
_KEY_OCTETS_MAX: Final = 128
_SHORTSTR_MAX: Final = 255
_MS: Final = 1_000
# Fronts of messages that were read. Longer ones are read each time.
FRONTS_MAX: Final = 1_024
FRONT_OCTETS_MAX: Final = 512
_MODES: Final = {
    (amqp.TRUE, b""): _PERSISTENT,
    (amqp.BOOLEAN, b"\1"): _PERSISTENT,
    (amqp.FALSE, b""): _TRANSIENT,
    (amqp.BOOLEAN, b"\0"): _TRANSIENT,
}

# Most connections have this one channel alone: for them nothing has to be written anew.
CHANNEL: Final = 1
_CHANNEL: Final = CHANNEL.to_bytes(2)
_DATA: Final = section(DATA, b"")

Map = dict[bytes, amqp.Value]


class Front(NamedTuple):
    """The sections before a body: property octets, and where the message was published, None if they do not say."""

    properties: bytes
    exchange: str | None
    routing_key: str | None


_NOTHING: Final = Front(b"\0\0", None, None)
_fronts: dict[tuple[bytes, bool], Front] = {}


def contents_of(messages: list[bytes]) -> list[tuple[Front, bytes, int]]:
    """Return front, content and size of the body of each message; those of one kind share their front."""
    made: list[tuple[Front, bytes, int]] = []
    append = made.append
    # Neighbours are mostly alike up to the length of the body.
    start, at, stop, front = b"", 0, 0, _NOTHING
    head, head_size = b"", -1
    for message in messages:
        if start and message.startswith(start):
            size = int.from_bytes(message[at:stop])
            if size and size == len(message) - stop:
                if size != head_size:
                    head, head_size = _head(front.properties, size), size
                append((front, b"%b%b\xce" % (head, message[stop:]), size))
                continue
        front, body, at, stop = _parts_of(message)
        start, head_size = message[:at], -1
        append((front, framed(front.properties, body), len(body)))
    return made


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
        front_stop, start, stop, encoded = _body_of(message)
        front = _front_of(message[:front_stop], encoded)
    except ValueError:
        return _NOTHING, message, 0, 0
    body = message[start:stop]
    at = front_stop + len(_DATA) + 1
    if encoded or stop != len(message) or start - at not in (1, 4) or not message.startswith(_DATA, front_stop):
        return front, body, 0, 0
    return front, body, at, start


def _body_of(message: bytes) -> tuple[int, int, int, bool]:
    """Return where the front ends, the body begins and ends, and whether that is AMQP 1.0 still. Raises ValueError."""
    parts: list[Section] = []
    front_stop, kind = 0, 0
    for each in sections_of(message):
        if kind == FOOTER or (parts and each.kind < DATA):
            raise ValueError("a section behind the body")
        kind = each.kind
        if kind < DATA:
            front_stop = each.stop
        elif kind != FOOTER:
            parts.append(each)
    if not parts:
        return front_stop, 0, 0, False
    if len(parts) == 1 and parts[0].kind == DATA:
        code, start, stop = amqp.read(message, parts[0].value_at, parts[0].stop)
        if code not in amqp.BINARIES:
            raise ValueError("data that are no binary")
        return front_stop, start, stop, False
    return front_stop, parts[0].start, parts[-1].stop, True


def _front_of(octets: bytes, encoded: bool) -> Front:
    known = _fronts.get((octets, encoded))
    if known is None:
        known = _read_front(octets, encoded=encoded)
        if len(octets) <= FRONT_OCTETS_MAX:
            if len(_fronts) >= FRONTS_MAX:
                del _fronts[next(iter(_fronts))]
            _fronts[octets, encoded] = known
    return known


def _read_front(octets: bytes, *, encoded: bool) -> Front:
    """Return what the sections in front of a body say. Raises ValueError."""
    properties = Properties()
    annotations: Map = {}
    given: list[amqp.Value] = []
    fields: Map = {}
    for each in sections_of(octets):
        if each.kind == HEADER:
            _read_header(list(amqp.list_items(octets, each.value_at, each.stop)), properties)
        elif each.kind == MESSAGE_ANNOTATIONS:
            annotations = _map(octets, each.value_at, each.stop)
        elif each.kind == PROPERTIES:
            given = list(amqp.list_items(octets, each.value_at, each.stop))
        elif each.kind == APPLICATION_PROPERTIES:
            fields = _map(octets, each.value_at, each.stop)
        else:
            assert each.kind == DELIVERY_ANNOTATIONS
    properties.type = _short(fields.pop(TYPE_KEY, None), amqp.TEXTS)
    if encoded:
        properties.type = ENCODED_TYPE
    properties.app_id = _short(fields.pop(APP_ID_KEY, None), amqp.TEXTS)
    _read_annotations(annotations, properties)
    headers = [*_read_properties(given, properties), *_headers(fields, annotations)]
    made = encode_properties(properties)
    if headers:
        made = replace_headers(made, join_table(headers))
    return Front(made, _name(annotations.get(EXCHANGE_KEY)), _name(annotations.get(ROUTING_KEY_KEY)))


def _map(octets: bytes, at: int, stop: int) -> Map:
    """Return a map by the octets of its keys, as far as they are texts; of equal keys the first one counts."""
    found: Map = {}
    for (code, key), value in amqp.map_items(octets, at, stop):
        if code in amqp.TEXTS:
            found.setdefault(key, value)
    return found


def _read_header(given: list[amqp.Value], properties: Properties) -> None:
    """Take durable, priority and ttl; annotations may say otherwise."""
    durable, priority, ttl = [*given[:3], *[(amqp.NULL, b"")] * 3][:3]
    properties.delivery_mode = _MODES.get(durable)
    if priority[0] == amqp.UBYTE:
        properties.priority = priority[1][0]
    if ttl[0] in (amqp.UINT_0, amqp.SMALL_UINT, amqp.UINT):
        properties.expiration = str(int.from_bytes(ttl[1]))


def _read_annotations(annotations: Map, properties: Properties) -> None:
    code, octets = annotations.get(DELIVERY_MODE_KEY, (amqp.NULL, b""))
    if code == amqp.UBYTE and octets[0] in (_TRANSIENT, _PERSISTENT):
        properties.delivery_mode = octets[0]
    code, octets = annotations.get(PRIORITY_KEY, (amqp.NULL, b""))
    if code == amqp.UBYTE:
        properties.priority = octets[0]
    expiration = _short(annotations.get(EXPIRATION_KEY), amqp.TEXTS)
    if expiration is not None:
        try:
            parse_expiration(expiration.encode(errors="surrogateescape"))
        except PreconditionFailed:
            return
        properties.expiration = expiration


def _read_properties(given: list[amqp.Value], properties: Properties) -> list[tuple[bytes, bytes]]:
    """Take what AMQP 0-9-1 has of the properties, and return headers that tell more of ids."""
    absent = amqp.NULL, b""
    message_id, user_id, _, _, reply_to, correlation_id, *others = [*given, *[absent] * 13][:13]
    content_type, content_encoding, _, creation_time, *_ = others
    properties.user_id = _utf8(_short(user_id, amqp.BINARIES | amqp.TEXTS))
    properties.reply_to = _short(reply_to, amqp.TEXTS)
    properties.content_type = _short(content_type, amqp.TEXTS)
    properties.content_encoding = _short(content_encoding, amqp.TEXTS)
    if creation_time[0] == amqp.TIMESTAMP and not creation_time[1][0] & 0x80:
        properties.timestamp = int.from_bytes(creation_time[1]) // _MS
    properties.correlation_id, headers = _id(correlation_id, b"x-correlation-id")
    properties.message_id, more = _id(message_id, b"x-message-id")
    return headers + more


def _id(value: amqp.Value, name: bytes) -> tuple[str | None, list[tuple[bytes, bytes]]]:
    """Return an id as text, and the header that tells of which type it was, or has it, if it is too long."""
    code, octets = value
    if code in amqp.TEXTS:
        if len(octets) > _SHORTSTR_MAX:
            return None, [(name, b"S" + len(octets).to_bytes(4) + octets)]
        return octets.decode(errors="surrogateescape"), []
    make = _ID_TEXTS.get(code)
    if make is None:
        return None, []
    kind, text = make(octets)
    if len(text) > _SHORTSTR_MAX:
        return None, [(name, b"S" + len(octets).to_bytes(4) + octets)]
    return text, [(name + b"-type", b"S" + len(kind).to_bytes(4) + kind)]


def _ulong_text(octets: bytes) -> tuple[bytes, str]:
    return b"ulong", str(int.from_bytes(octets))


def _binary_text(octets: bytes) -> tuple[bytes, str]:
    return b"binary", b64encode(octets).decode()


_ID_TEXTS: Final[dict[int, Callable[[bytes], tuple[bytes, str]]]] = {
    amqp.UUID: lambda octets: (b"uuid", str(uuid.UUID(bytes=octets))),
    **dict.fromkeys((amqp.ULONG_0, amqp.SMALL_ULONG, amqp.ULONG), _ulong_text),
    **dict.fromkeys(amqp.BINARIES, _binary_text),
}


def _headers(fields: Map, annotations: Map) -> Iterator[tuple[bytes, bytes]]:
    """Yield the headers that application properties become, and the filter value, wherever a client puts it."""
    if FILTER_KEY in annotations:
        fields = {FILTER_KEY: annotations[FILTER_KEY], **fields}
    left = HEADERS_MAX
    for key, (code, octets) in fields.items():
        field = field_of(code, octets)
        if field is not None and left and len(key) <= _KEY_OCTETS_MAX and _is_utf8(key):
            yield key, field
            left -= 1


def _short(value: amqp.Value | None, codes: frozenset[int]) -> str | None:
    """Return a value as a short string; a longer one is left out."""
    if value is None or value[0] not in codes or len(value[1]) > _SHORTSTR_MAX:
        return None
    return value[1].decode(errors="surrogateescape")


def _utf8(text: str | None) -> str | None:
    return None if text is None or not _is_utf8(text.encode(errors="surrogateescape")) else text


def _name(value: amqp.Value | None) -> str | None:
    return _utf8(_short(value, amqp.TEXTS))


def _is_utf8(octets: bytes) -> bool:
    try:
        octets.decode()
    except UnicodeDecodeError:
        return False
    return True
