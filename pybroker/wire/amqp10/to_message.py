"""A content of AMQP 0-9-1 as a message of AMQP 1.0, as a client of the stream protocol gets it."""

from typing import TYPE_CHECKING, Final

from pybroker.entries_run import LENGTH_OCTETS
from pybroker.wire.amqp10 import encoding as amqp
from pybroker.wire.amqp10.fields import timestamp, value_of
from pybroker.wire.amqp10.sections import (
    APPLICATION_PROPERTIES,
    DATA,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    is_body,
    section,
)
from pybroker.wire.amqp10.to_content import (
    APP_ID_KEY,
    DELIVERY_MODE_KEY,
    ENCODED_TYPE,
    EXCHANGE_KEY,
    EXPIRATION_KEY,
    PRIORITY_KEY,
    ROUTING_KEY_KEY,
    TYPE_KEY,
)
from pybroker.wire.properties import Properties, decode_properties, find_headers, replace_headers
from pybroker.wire.table import split_table

if TYPE_CHECKING:
    from collections.abc import Iterable

# Fronts of messages that were made. Longer ones are made each time.
FRONTS_MAX: Final = 1_024
FRONT_OCTETS_MAX: Final = 512
_NULL: Final = bytes((amqp.NULL,))
_DATA: Final = section(DATA, b"")
_fronts: dict[tuple[bytes, str, str], tuple[bytes, bool]] = {}


def entries_of_contents(contents: "Iterable[tuple[bytes, bytes]]", exchange: str, routing_key: str) -> list[bytes]:
    """Return contents, of which property octets and body are given, as messages with their lengths in front."""
    made: list[bytes] = []
    append = made.append
    props, front, front_octets, may_be_encoded = b"", b"", -1, False
    before, before_size = b"", -1
    for octets, content_body in contents:
        size = len(content_body)
        if octets != props or front_octets < 0:
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
        if len(props) <= FRONT_OCTETS_MAX:
            if len(_fronts) >= FRONTS_MAX:
                del _fronts[next(iter(_fronts))]
            _fronts[key] = known
    return known


def _make_front(props: bytes, exchange: str, routing_key: str) -> tuple[bytes, bool]:
    table = find_headers(props)
    given = decode_properties(props if table is None else replace_headers(props, None))
    annotations = [
        (ROUTING_KEY_KEY, amqp.text(routing_key.encode())),
        (EXCHANGE_KEY, amqp.text(exchange.encode())),
    ]
    if given.priority is not None:
        annotations.append((PRIORITY_KEY, bytes((amqp.UBYTE, given.priority))))
    if given.delivery_mode is not None:
        annotations.append((DELIVERY_MODE_KEY, bytes((amqp.UBYTE, given.delivery_mode))))
    if given.expiration is not None:
        annotations.append((EXPIRATION_KEY, _text(given.expiration)))
    front = section(MESSAGE_ANNOTATIONS, amqp.map_of([(amqp.symbol(key), value) for key, value in annotations]))
    values = _properties(given)
    if any(value != _NULL for value in values):
        front += section(PROPERTIES, amqp.list_of(values))
    encoded = given.type == ENCODED_TYPE
    fields = []
    if given.type is not None and not encoded:
        fields.append((amqp.text(TYPE_KEY), _text(given.type)))
    if given.app_id is not None:
        fields.append((amqp.text(APP_ID_KEY), _text(given.app_id)))
    for key, field in [] if table is None else split_table(table):
        made = value_of(field)
        if made is not None:
            fields.append((amqp.text(key), made))
    if fields:
        front += section(APPLICATION_PROPERTIES, amqp.map_of(fields))
    return front, encoded


def _properties(given: Properties) -> list[bytes]:
    """Return the values of the section of properties, all 13, as RabbitMQ writes them."""
    created = None if given.timestamp is None else timestamp(given.timestamp)
    return [
        _maybe(given.message_id),
        _NULL if given.user_id is None else amqp.binary(_octets(given.user_id)),
        _NULL,
        _NULL,
        _maybe(given.reply_to),
        _maybe(given.correlation_id),
        _NULL if given.content_type is None else amqp.symbol(_octets(given.content_type)),
        _NULL if given.content_encoding is None else amqp.symbol(_octets(given.content_encoding)),
        _NULL,
        _NULL if created is None else created,
        *[_NULL] * 3,
    ]


def _maybe(text: str | None) -> bytes:
    return _NULL if text is None else _text(text)


def _text(text: str) -> bytes:
    return amqp.text(_octets(text))


def _octets(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
