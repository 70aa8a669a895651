"""A content of AMQP 0-9-1 as a message of AMQP 1.0, as a client of the stream protocol gets it."""

from typing import TYPE_CHECKING, Final

from pybroker.entries_run import LENGTH_OCTETS
from pybroker.wire.amqp10 import encoding as amqp
from pybroker.wire.amqp10.fields import timestamp, value_of
from pybroker.wire.amqp10.front import (
    APP_ID_KEY,
    DELIVERY_MODE_KEY,
    ENCODED_TYPE,
    EXCHANGE_KEY,
    EXPIRATION_KEY,
    PRIORITY_KEY,
    ROUTING_KEY_KEY,
    TYPE_KEY,
)
from pybroker.wire.amqp10.known_fronts import KnownFronts
from pybroker.wire.amqp10.sections import (
    APPLICATION_PROPERTIES,
    DATA,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    is_body,
    section,
)
from pybroker.wire.amqp10.to_content import common_entry
from pybroker.wire.properties import (
    APP_ID,
    CONTENT_ENCODING,
    CONTENT_TYPE,
    CORRELATION_ID,
    DELIVERY_MODE,
    EXPIRATION,
    HEADERS,
    MESSAGE_ID,
    PRIORITY,
    REPLY_TO,
    TIMESTAMP,
    TYPE,
    USER_ID,
    split_properties,
)
from pybroker.wire.table import split_table

if TYPE_CHECKING:
    from collections.abc import Iterable

_NULL: Final = bytes((amqp.NULL,))
_DATA: Final = section(DATA, b"")
_UBYTE: Final = bytes((amqp.UBYTE,))
_SYMBOLS: Final = {key: amqp.symbol(key) for key in (ROUTING_KEY_KEY, EXCHANGE_KEY)}
_ANNOTATIONS: Final = (
    (PRIORITY, amqp.symbol(PRIORITY_KEY)),
    (DELIVERY_MODE, amqp.symbol(DELIVERY_MODE_KEY)),
    (EXPIRATION, amqp.symbol(EXPIRATION_KEY)),
)
# The places of properties in their section, and how they are encoded there.
_PROPERTIES_COUNT: Final = 13
_CREATION_TIME_AT: Final = 9
_PLACES: Final = (
    (MESSAGE_ID, 0, amqp.text),
    (USER_ID, 1, amqp.binary),
    (REPLY_TO, 4, amqp.text),
    (CORRELATION_ID, 5, amqp.text),
    (CONTENT_TYPE, 6, amqp.symbol),
    (CONTENT_ENCODING, 7, amqp.symbol),
)
_fronts: Final[KnownFronts[tuple[bytes, str, str], tuple[bytes, bool]]] = KnownFronts()


def entries_of_contents(contents: "Iterable[tuple[bytes, bytes]]", exchange: str, routing_key: str) -> list[bytes]:
    """Return contents, of which property octets and body are given, as messages with their lengths in front."""
    made: list[bytes] = []
    append = made.append
    names = b"".join(octets for pair in _names(exchange, routing_key) for octets in pair)
    props, front, front_octets, may_be_encoded = b"", b"", 0, False
    before, before_size = b"", -1
    for octets, content_body in contents:
        entry = common_entry(octets, content_body, names)
        if entry is not None:
            append(entry)
            continue
        size = len(content_body)
        if octets != props:
            props = octets
            front, may_be_encoded = _front_of(octets, exchange, routing_key)
            front_octets, before_size = len(front), -1
        if may_be_encoded and is_body(content_body):
            append(b"%b%b%b" % ((front_octets + size).to_bytes(LENGTH_OCTETS), front, content_body))
            continue
        if size != before_size:
            data = _DATA + amqp.binary_head(size)
            before = (front_octets + len(data) + size).to_bytes(LENGTH_OCTETS) + front + data
            before_size = size
        append(before + content_body)
    return made


def _front_of(props: bytes, exchange: str, routing_key: str) -> tuple[bytes, bool]:
    """Return the sections before the body, and whether that may be AMQP 1.0 already."""
    key = props, exchange, routing_key
    known = _fronts.get(key)
    if known is None:
        known = _make_front(props, exchange, routing_key)
        _fronts.remember(key, known, props, props)
    return known


def _make_front(props: bytes, exchange: str, routing_key: str) -> tuple[bytes, bool]:
    given = split_properties(props)
    annotations = _names(exchange, routing_key)
    for flag, key in _ANNOTATIONS:
        octets = given.get(flag)
        if octets is not None:
            annotations.append((key, amqp.text(octets[1:]) if flag == EXPIRATION else _UBYTE + octets))
    front = section(MESSAGE_ANNOTATIONS, amqp.map_of(annotations))
    values = _properties(given)
    if values:
        front += section(PROPERTIES, amqp.list_of(values))
    kind = given.get(TYPE)
    encoded = kind is not None and kind[1:] == ENCODED_TYPE
    fields = []
    if kind is not None and not encoded:
        fields.append((amqp.text(TYPE_KEY), amqp.text(kind[1:])))
    if APP_ID in given:
        fields.append((amqp.text(APP_ID_KEY), amqp.text(given[APP_ID][1:])))
    for key, field in split_table(given[HEADERS]) if HEADERS in given else ():
        made = value_of(field)
        if made is not None:
            fields.append((amqp.text(key), made))
    if fields:
        front += section(APPLICATION_PROPERTIES, amqp.map_of(fields))
    return front, encoded


def _names(exchange: str, routing_key: str) -> list[tuple[bytes, bytes]]:
    """Return the annotations that say where a message was published."""
    return [
        (_SYMBOLS[ROUTING_KEY_KEY], amqp.text(routing_key.encode())),
        (_SYMBOLS[EXCHANGE_KEY], amqp.text(exchange.encode())),
    ]


def _properties(given: dict[int, bytes]) -> list[bytes]:
    """Return the values of the section of properties, all 13, as RabbitMQ writes them; none if there is none."""
    values = [_NULL] * _PROPERTIES_COUNT
    for flag, at, encode in _PLACES:
        octets = given.get(flag)
        if octets is not None:
            values[at] = encode(octets[1:])
    seconds = given.get(TIMESTAMP)
    if seconds is not None:
        values[_CREATION_TIME_AT] = timestamp(int.from_bytes(seconds)) or _NULL
    return values if values != [_NULL] * _PROPERTIES_COUNT else []
