"""Front: what the sections before a body of AMQP 1.0 become in AMQP 0-9-1, as octets of properties."""

import uuid
from base64 import b64encode
from collections.abc import Callable
from itertools import islice
from typing import Final, NamedTuple

from pybroker.errors import PreconditionFailed
from pybroker.wire.amqp10 import encoding as amqp
from pybroker.wire.amqp10.fields import field_of
from pybroker.wire.amqp10.sections import (
    APPLICATION_PROPERTIES,
    HEADER,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    Section,
)
from pybroker.wire.expiration import parse_expiration
from pybroker.wire.properties import (
    APP_ID,
    CONTENT_ENCODING,
    CONTENT_TYPE,
    CORRELATION_ID,
    DELIVERY_MODE,
    EXPIRATION,
    FILTER_VALUE,
    HEADERS,
    MESSAGE_ID,
    PRIORITY,
    REPLY_TO,
    TIMESTAMP,
    TYPE,
    USER_ID,
    join_properties,
)
from pybroker.wire.table import join_table

# The type of a message whose body is no single section of data: such a body stays AMQP 1.0.
ENCODED_TYPE: Final = b"amqp-1.0"
# Application properties that are properties of AMQP 0-9-1.
TYPE_KEY: Final = b"x-basic-type"
APP_ID_KEY: Final = b"x-basic-app-id"
# Annotations likewise, and those that name where a message was published.
PRIORITY_KEY: Final = b"x-basic-priority"
DELIVERY_MODE_KEY: Final = b"x-basic-delivery-mode"
EXPIRATION_KEY: Final = b"x-basic-expiration"
EXCHANGE_KEY: Final = b"x-exchange"
ROUTING_KEY_KEY: Final = b"x-routing-key"

# Headers of one message: a peer's own table is refused above 1,024, and ids may take two. They stand in one frame,
# which is 131,072 octets long at most for most clients.
HEADERS_MAX: Final = 1_000
HEADERS_OCTETS_MAX: Final = 100_000
# Of a map; a message of 1 MiB may have 300,000, and others wait meanwhile.
PAIRS_MAX: Final = 2_000
# Of these lists, which may go on, no more is looked at.
_HEADER_COUNT: Final = 3
_PROPERTIES_COUNT: Final = 13
_KEY_OCTETS_MAX: Final = 128
_SHORTSTR_MAX: Final = 255
_MS: Final = 1_000

# Octets of the delivery mode.
_PERSISTENT: Final = b"\2"
_TRANSIENT: Final = b"\1"
_MODES: Final = {
    (amqp.TRUE, b""): _PERSISTENT,
    (amqp.BOOLEAN, b"\1"): _PERSISTENT,
    (amqp.FALSE, b""): _TRANSIENT,
    (amqp.BOOLEAN, b"\0"): _TRANSIENT,
}
_UINTS: Final = frozenset({amqp.UINT_0, amqp.SMALL_UINT, amqp.UINT})
_NULL: Final[amqp.Value] = (amqp.NULL, b"")
# The places of properties in their section that AMQP 0-9-1 has as short strings.
_SHORT_STRINGS: Final = ((4, REPLY_TO), (6, CONTENT_TYPE), (7, CONTENT_ENCODING))
_MESSAGE_ID_AT: Final = 0
_USER_ID_AT: Final = 1
_CORRELATION_ID_AT: Final = 5
_CREATION_TIME_AT: Final = 9

Map = dict[bytes, amqp.Value]
# Octets of properties by their flags.
Values = dict[int, bytes]
# Octets of keys and values, these with their types.
Headers = list[tuple[bytes, bytes]]


class Origin(NamedTuple):
    """Exchange and routing key of a message, None if it does not say."""

    exchange: str | None
    routing_key: str | None


class Front(NamedTuple):
    """The sections before a body, as octets of properties, and where the message was published."""

    properties: bytes
    origin: Origin


UNKNOWN: Final = Origin(None, None)
NO_FRONT: Final = Front(b"\0\0", UNKNOWN)


def read_front(octets: bytes, sections: list[Section], *, encoded: bool) -> Front:
    """Return what the sections in front of a body say; `encoded`: that stays AMQP 1.0. Raises ValueError."""
    values: Values = {}
    ids: Headers = []
    annotations: Map = {}
    fields: Map = {}
    for kind, _, value_at, stop in sections:
        if kind == HEADER:
            _read_header(list(islice(amqp.list_items(octets, value_at, stop), _HEADER_COUNT)), values)
        elif kind == MESSAGE_ANNOTATIONS:
            annotations = _map(octets, value_at, stop)
        elif kind == PROPERTIES:
            given = list(islice(amqp.list_items(octets, value_at, stop), _PROPERTIES_COUNT))
            ids = _read_properties(given, values)
        elif kind == APPLICATION_PROPERTIES:
            fields = _map(octets, value_at, stop)
    if encoded:
        values[TYPE] = _shortstr(ENCODED_TYPE)
    if fields:
        for key, flag in ((TYPE_KEY, TYPE), (APP_ID_KEY, APP_ID)):
            text = _short(fields.pop(key, _NULL), amqp.TEXTS)
            if text is not None:
                values.setdefault(flag, text)
    origin = UNKNOWN
    if annotations:
        _read_annotations(annotations, values)
        origin = Origin(_name(annotations.get(EXCHANGE_KEY)), _name(annotations.get(ROUTING_KEY_KEY)))
        if FILTER_VALUE in annotations:
            fields.setdefault(FILTER_VALUE, annotations[FILTER_VALUE])
    headers = _headers(ids, fields)
    if headers:
        values[HEADERS] = join_table(headers)
    return Front(join_properties(values), origin)


def _map(octets: bytes, at: int, stop: int) -> Map:
    """Return the begin of a map by the octets of its keys, if they are texts; of equal keys the first one counts."""
    found: Map = {}
    for (code, key), value in islice(amqp.map_items(octets, at, stop), PAIRS_MAX):
        if code in amqp.TEXTS:
            found.setdefault(key, value)
    return found


def _read_header(given: list[amqp.Value], values: Values) -> None:
    """Take durable, priority and ttl; annotations may say otherwise."""
    durable, priority, ttl = [*given[:3], *[_NULL] * 3][:3]
    if durable in _MODES:
        values[DELIVERY_MODE] = _MODES[durable]
    if priority[0] == amqp.UBYTE:
        values[PRIORITY] = priority[1]
    if ttl[0] in _UINTS:
        values[EXPIRATION] = _shortstr(b"%d" % int.from_bytes(ttl[1]))


def _read_annotations(annotations: Map, values: Values) -> None:
    code, octets = annotations.get(DELIVERY_MODE_KEY, _NULL)
    if code == amqp.UBYTE and octets in (_TRANSIENT, _PERSISTENT):
        values[DELIVERY_MODE] = octets
    code, octets = annotations.get(PRIORITY_KEY, _NULL)
    if code == amqp.UBYTE:
        values[PRIORITY] = octets
    expiration = _short(annotations.get(EXPIRATION_KEY, _NULL), amqp.TEXTS)
    if expiration is not None:
        try:
            parse_expiration(expiration[1:])
        except PreconditionFailed:
            return
        values[EXPIRATION] = expiration


def _read_properties(given: list[amqp.Value], values: Values) -> Headers:
    """Take what AMQP 0-9-1 has of the properties, and return headers that tell more of ids."""
    headers: Headers = []
    count = len(given)
    if count > _CORRELATION_ID_AT:
        _read_id(given[_CORRELATION_ID_AT], CORRELATION_ID, b"x-correlation-id", values, headers)
    if count > _MESSAGE_ID_AT:
        _read_id(given[_MESSAGE_ID_AT], MESSAGE_ID, b"x-message-id", values, headers)
    if count > _USER_ID_AT:
        user_id = _short(given[_USER_ID_AT], amqp.BINARIES | amqp.TEXTS)
        if user_id is not None and _is_utf8(user_id[1:]):
            values[USER_ID] = user_id
    for at, flag in _SHORT_STRINGS:
        if count > at:
            text = _short(given[at], amqp.TEXTS)
            if text is not None:
                values[flag] = text
    if count > _CREATION_TIME_AT:
        code, octets = given[_CREATION_TIME_AT]
        if code == amqp.TIMESTAMP and not octets[0] & 0x80:
            values[TIMESTAMP] = (int.from_bytes(octets) // _MS).to_bytes(8)
    return headers


def _read_id(value: amqp.Value, flag: int, name: bytes, values: Values, headers: Headers) -> None:
    """Take an id as text; a header tells of which type it was, or has it, if it is too long."""
    code, octets = value
    kind, text = b"", octets
    if code not in amqp.TEXTS:
        make = _ID_TEXTS.get(code)
        if make is None:
            return
        kind, text = make(octets)
    if len(text) > _SHORTSTR_MAX:
        headers.append((name, b"S" + len(octets).to_bytes(4) + octets))
        return
    values[flag] = _shortstr(text)
    if kind:
        headers.append((name + b"-type", b"S" + len(kind).to_bytes(4) + kind))


def _ulong_text(octets: bytes) -> tuple[bytes, bytes]:
    return b"ulong", b"%d" % int.from_bytes(octets)


def _binary_text(octets: bytes) -> tuple[bytes, bytes]:
    return b"binary", b64encode(octets)


_ID_TEXTS: Final[dict[int, Callable[[bytes], tuple[bytes, bytes]]]] = {
    amqp.UUID: lambda octets: (b"uuid", str(uuid.UUID(bytes=octets)).encode()),
    **dict.fromkeys((amqp.ULONG_0, amqp.SMALL_ULONG, amqp.ULONG), _ulong_text),
    **dict.fromkeys(amqp.BINARIES, _binary_text),
}


def _headers(ids: Headers, fields: Map) -> Headers:
    """Return the headers of ids, and those that application properties become, as many as one message may have."""
    headers: Headers = []
    octets_left = HEADERS_OCTETS_MAX
    for name, known in ids:
        size = 1 + len(name) + len(known)
        # A client could not read the message, and would meet it again each time it connects.
        if size <= octets_left:
            octets_left -= size
            headers.append((name, known))
    for key, (code, octets) in fields.items():
        field = field_of(code, octets)
        if field is None or len(key) > _KEY_OCTETS_MAX or not _is_utf8(key):
            continue
        octets_left -= 1 + len(key) + len(field)
        if octets_left < 0 or len(headers) >= HEADERS_MAX:
            break
        headers.append((key, field))
    return headers


def _short(value: amqp.Value, codes: frozenset[int]) -> bytes | None:
    """Return a value as a short string; a longer one is left out."""
    code, octets = value
    return _shortstr(octets) if code in codes and len(octets) <= _SHORTSTR_MAX else None


def _shortstr(octets: bytes) -> bytes:
    return bytes((len(octets),)) + octets


def _name(value: amqp.Value | None) -> str | None:
    octets = None if value is None else _short(value, amqp.TEXTS)
    return octets[1:].decode() if octets is not None and _is_utf8(octets[1:]) else None


def _is_utf8(octets: bytes) -> bool:
    if octets.isascii():
        return True
    try:
        octets.decode()
    except UnicodeDecodeError:
        return False
    return True
