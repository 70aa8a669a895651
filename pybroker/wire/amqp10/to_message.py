"""A content of AMQP 0-9-1 as a message of AMQP 1.0, as a client of the stream protocol gets it."""

from typing import Final

from pybroker.content_view import body, property_octets
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

# Fronts of messages that were made. Longer ones are made each time.
FRONTS_MAX: Final = 1_024
FRONT_OCTETS_MAX: Final = 512
_NULL: Final = bytes((amqp.NULL,))
_DATA: Final = section(DATA, b"")
_fronts: dict[tuple[bytes, str, str], tuple[bytes, bool]] = {}


def message_of(content: bytes, exchange: str, routing_key: str) -> bytes:
    """Return a content as a message that says where it was published."""
    front, may_be_encoded = front_of(property_octets(content), exchange, routing_key)
    return front + encoded_body(body(content), may_be_encoded=may_be_encoded)


def encoded_body(octets: bytes, *, may_be_encoded: bool) -> bytes:
    """Return the sections of a body: these octets, if they are some and their type says so, else a section of data."""
    if may_be_encoded and is_body(octets):
        return octets
    return b"%b%b%b" % (_DATA, amqp.binary_head(len(octets)), octets)


def front_of(props: bytes, exchange: str, routing_key: str) -> tuple[bytes, bool]:
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
