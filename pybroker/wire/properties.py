"""Properties of a content header (AMQP §4.2.6): find, check and edit single ones without decoding the rest.

"props" are the octets from the two flag octets to the end of the header frame's payload. Does not know what a property
means to a queue, only the ones that the broker must know: `RunAttributes`.

    +-------+-------------------------------------------------------------+
    | flags | the properties whose flag is set, in the order of PROPERTIES |
    +-------+-------------------------------------------------------------+
    flags: bit 15 is content_type ... bit 2 cluster_id, bit 1 nothing, bit 0 "more flags follow" (never, in class basic)
"""

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Final, NoReturn

from pybroker.errors import PreconditionFailed, ProtocolSyntaxError
from pybroker.run import (
    PLAIN_ATTRIBUTES,
    WANTS_CC,
    WANTS_DELAY,
    WANTS_FILTER,
    WANTS_REPLY_TO,
    WANTS_USER_ID,
    RunAttributes,
)
from pybroker.wire.expiration import parse_expiration
from pybroker.wire.table import Table, decode_table, encode_table, split_table
from pybroker.wire.validate import GROWN, PEER, Limits, check_table, check_utf8
from pybroker.wire.value import FIELD_TYPES

CONTENT_TYPE: Final = 1 << 15
CONTENT_ENCODING: Final = 1 << 14
HEADERS: Final = 1 << 13
DELIVERY_MODE: Final = 1 << 12
PRIORITY: Final = 1 << 11
CORRELATION_ID: Final = 1 << 10
REPLY_TO: Final = 1 << 9
EXPIRATION: Final = 1 << 8
MESSAGE_ID: Final = 1 << 7
TIMESTAMP: Final = 1 << 6
TYPE: Final = 1 << 5
USER_ID: Final = 1 << 4
APP_ID: Final = 1 << 3

_FLAGS: Final = tuple(1 << bit for bit in range(15, 1, -1))
_RESERVED: Final = 0b11
# The header by which consumers of a stream filter, and the message annotation that becomes it.
FILTER_VALUE: Final = b"x-stream-filter-value"
_FAST_REPLY_TO: Final = b"amq.rabbitmq.reply-to"

# Octets of each property; _SHORTSTR and _TABLE carry their own length.
_SHORTSTR: Final = 0
_TABLE: Final = -1
_SIZES: Final = {HEADERS: _TABLE, DELIVERY_MODE: 1, PRIORITY: 1, TIMESTAMP: 8}

# The steps of `attributes_of` at a property: it skips most shortstrs.
_SKIP: Final = 0
_SKIP_TIMESTAMP: Final = 1
_TAKE_MODE: Final = 2
_TAKE_PRIORITY: Final = 3
_WALK_HEADERS: Final = 4
_READ_EXPIRATION: Final = 5
_READ_REPLY_TO: Final = 6
_READ_USER_ID: Final = 7
_STEPS: Final = {
    HEADERS: _WALK_HEADERS,
    DELIVERY_MODE: _TAKE_MODE,
    PRIORITY: _TAKE_PRIORITY,
    REPLY_TO: _READ_REPLY_TO,
    EXPIRATION: _READ_EXPIRATION,
    TIMESTAMP: _SKIP_TIMESTAMP,
    USER_ID: _READ_USER_ID,
}
# The steps for each set of flags ever seen: 16,384 are possible, so it is bounded by nature.
_PLANS: Final[dict[int, tuple[int, ...]]] = {}
_PERSISTENT: Final = RunAttributes(persistent=True)


@dataclass(slots=True)
class Properties:
    """All properties of a message, for slow paths; None where absent. `timestamp` is in seconds, as sent.

    Octets that are not UTF-8 are kept as surrogate escapes, so that encoding gives back what came.
    """

    content_type: str | None = None
    content_encoding: str | None = None
    headers: Table | None = None
    delivery_mode: int | None = None
    priority: int | None = None
    correlation_id: str | None = None
    reply_to: str | None = None
    expiration: str | None = None
    message_id: str | None = None
    timestamp: int | None = None
    type: str | None = None
    user_id: str | None = None
    app_id: str | None = None
    cluster_id: str | None = None


PROPERTIES: Final = tuple(field.name for field in fields(Properties))

# Headers tables that were checked, and the WANTS_ bits they had. Large ones are walked each time: they cost memory.
TABLES_MAX: Final = 1_024
TABLE_OCTETS_KEPT: Final = 512
_tables: dict[bytes, int] = {}


def attributes_of(props: bytes, limits: Limits = PEER) -> RunAttributes:
    """Return what the broker must know of a message with these properties; equal attributes are one object, mostly.

    Checks all that a peer can do wrong in a content header, so it comes before routing. `limits` GROWN is for headers
    that the broker itself has made longer.

    Raises ProtocolSyntaxError (502) for a wrong structure or table, FrameError (501) for a table above the limits or a
    user-id that is not UTF-8, PreconditionFailed (406) for a bad expiration, delivery mode or CC, in RabbitMQ's words.
    """
    position, mode, priority, wants, ttl_ms = 2, 1, 0, 0, None
    try:
        flags = props[0] << 8 | props[1]
        plan = _PLANS.get(flags)
        if plan is None:
            plan = _plan(flags)
        for step in plan:
            if step == _SKIP:
                position += props[position] + 1
            elif step == _TAKE_MODE:
                mode = props[position]
                position += 1
            elif step == _SKIP_TIMESTAMP:
                position += 8
            elif step == _TAKE_PRIORITY:
                priority = props[position]
                position += 1
            elif step == _WALK_HEADERS:
                start = position
                position += 4 + int.from_bytes(props[start : start + 4])
                table = props[start:position]
                known = _tables.get(table)
                if known is None:
                    position = check_table(props, start, len(props), limits)
                    known = _wants_of_table(table)
                    _remember(table, known)
                wants |= known
            else:
                start = position + 1
                position = start + props[position]
                if step == _READ_EXPIRATION:
                    ttl_ms = parse_expiration(props[start:position])
                elif step == _READ_USER_ID:
                    check_utf8(props[start:position])
                    wants |= WANTS_USER_ID
                elif props[start:position] == _FAST_REPLY_TO:
                    wants |= WANTS_REPLY_TO
    except IndexError:
        _malformed()
    if position != len(props):
        _malformed()
    if mode == 2 and priority == wants == 0 and ttl_ms is None:
        return _PERSISTENT
    return _attributes(mode, priority, ttl_ms, wants)


def decode_properties(props: bytes) -> Properties:
    """Return all properties, of a peer or of the broker's own making.

    Raises ProtocolSyntaxError (502) and FrameError (501) as `attributes_of`, but looks at the structure only.
    """
    properties = Properties()
    position = 2
    flags = _flags_of(props)
    for name, flag in zip(PROPERTIES, _FLAGS, strict=True):
        if not flags & flag:
            continue
        start, position = position, _end_of(props, position, flag)
        if flag == HEADERS:
            properties.headers = decode_table(props, start, GROWN)[0]
        elif flag in _SIZES:
            setattr(properties, name, int.from_bytes(props[start:position]))
        else:
            setattr(properties, name, props[start + 1 : position].decode(errors="surrogateescape"))
    if position != len(props):
        _malformed()
    return properties


def encode_properties(properties: Properties) -> bytes:
    """Return the octets, with flags in front. Raises ValueError: they are our own, never a peer's."""
    flags = 0
    parts = []
    for name, flag in zip(PROPERTIES, _FLAGS, strict=True):
        value = getattr(properties, name)
        if value is None:
            continue
        flags |= flag
        if flag == HEADERS:
            parts.append(encode_table(value))
        elif flag in _SIZES:
            try:
                parts.append(value.to_bytes(_SIZES[flag]))
            except OverflowError:
                raise ValueError(f"property {name} is {value}, not 0 to {(1 << 8 * _SIZES[flag]) - 1}") from None
        else:
            parts.append(_shortstr(name, value))
    return flags.to_bytes(2) + b"".join(parts)


def split_properties(props: bytes) -> dict[int, bytes]:
    """Return the octets of each property, with their own length where they have one, by its flag.

    Raises ProtocolSyntaxError (502).
    """
    flags = _flags_of(props)
    found: dict[int, bytes] = {}
    position = 2
    for flag in _FLAGS:
        if flags & flag:
            start, position = position, _end_of(props, position, flag)
            found[flag] = props[start:position]
    return found


def join_properties(values: dict[int, bytes]) -> bytes:
    """Return the octets of properties that `split_properties` would split into `values`."""
    ordered = [octets for _, octets in sorted(values.items(), reverse=True)]
    return b"".join((sum(values).to_bytes(2), *ordered))


def find_headers(props: bytes) -> bytes | None:
    """Return the octets of the headers table with their length, None if absent."""
    start, end = _span(props, HEADERS)
    return props[start:end] if end > start else None


def around_headers(props: bytes) -> tuple[bytes, bytes, bytes]:
    """Return what comes before a headers table in props that have one, the table, or nothing, and what comes after.

    Raises ProtocolSyntaxError (502).
    """
    start, end = _span(props, HEADERS)
    flags = int.from_bytes(props[:2]) | HEADERS
    return flags.to_bytes(2) + props[2:start], props[start:end], props[end:]


def find_user_id(props: bytes) -> str | None:
    """Return the user-id, None if absent. Raises FrameError (501) if it is not UTF-8: it names a user."""
    start, end = _span(props, USER_ID)
    if end == start:
        return None
    check_utf8(props[start + 1 : end])
    return props[start + 1 : end].decode()


def replace_headers(props: bytes, table_octets: bytes | None) -> bytes:
    """Return props with other headers (octets with their length), or without any."""
    return _replace(props, HEADERS, table_octets)


def replace_reply_to(props: bytes, reply_to: str) -> bytes:
    """Return props with another reply-to. Raises ValueError above 255 octets."""
    return _replace(props, REPLY_TO, _shortstr("reply_to", reply_to))


def _plan(flags: int) -> tuple[int, ...]:
    """Return the steps of `attributes_of` for these flags, and remember them. Raises ProtocolSyntaxError (502)."""
    if flags & _RESERVED:
        # Differs from RabbitMQ: it ignores both bits, and hands on a header that its consumers then read wrong.
        raise ProtocolSyntaxError("reserved property flags are set")
    plan = _PLANS[flags] = tuple(_STEPS.get(flag, _SKIP) for flag in _FLAGS if flags & flag)
    return plan


@lru_cache(maxsize=4_096)
def _attributes(mode: int, priority: int, ttl_ms: int | None, wants: int) -> RunAttributes:
    """Return the one RunAttributes object of these values, as long as it is remembered."""
    if mode not in (1, 2):
        raise PreconditionFailed(f"invalid message: {{delivery_mode_unknown,{mode}}}")
    attributes = RunAttributes(mode == 2, priority, ttl_ms, wants)
    return PLAIN_ATTRIBUTES if attributes == PLAIN_ATTRIBUTES else attributes


def _remember(table: bytes, wants: int) -> None:
    """Keep the verdict on a headers table: the same few come again beside ids that do not."""
    if len(table) <= TABLE_OCTETS_KEPT:
        if len(_tables) >= TABLES_MAX:
            del _tables[next(iter(_tables))]
        _tables[table] = wants


def _wants_of_table(octets: bytes) -> int:
    """Return the WANTS_ bits of a headers table that the guard has passed."""
    # Searches cost less than one key, and most tables have none of these.
    if b"CC" not in octets and b"x-delay" not in octets and FILTER_VALUE not in octets:
        return 0
    wants = 0
    for key, value in split_table(octets):
        if key in (b"CC", b"BCC"):
            if value[:1] != b"A":
                kind = FIELD_TYPES["l" if value[:1] == b"L" else value[:1].decode()]
                fault = f'{{unacceptable_type_in_header,"{key.decode()}",{kind}}}'
                raise PreconditionFailed(f"invalid message: {fault}")
            wants |= WANTS_CC
        elif key == b"x-delay":
            wants |= WANTS_DELAY
        elif key == FILTER_VALUE:
            wants |= WANTS_FILTER
    return wants


def _malformed() -> NoReturn:
    # Differs from RabbitMQ: its channel crashes, so it answers 541.
    raise ProtocolSyntaxError("malformed content header properties")


def _flags_of(props: bytes) -> int:
    if len(props) < 2:
        _malformed()
    flags = int.from_bytes(props[:2])
    if flags & _RESERVED:
        _plan(flags)
    return flags


def _end_of(props: bytes, position: int, flag: int) -> int:
    """Return the end of the property of `flag` at `position`. Raises ProtocolSyntaxError (502)."""
    size = _SIZES.get(flag, _SHORTSTR)
    if size == _TABLE:
        end = position + 4 + int.from_bytes(props[position : position + 4])
    elif size == _SHORTSTR:
        end = position + 1 + (props[position] if position < len(props) else 0)
    else:
        end = position + size
    if end > len(props):
        _malformed()
    return end


def _span(props: bytes, wanted: int) -> tuple[int, int]:
    """Return start and end of a property; both where it would begin, if absent."""
    flags = _flags_of(props)
    position = 2
    for flag in _FLAGS:
        if flag == wanted:
            return position, _end_of(props, position, flag) if flags & flag else position
        if flags & flag:
            position = _end_of(props, position, flag)
    raise AssertionError(wanted)


def _replace(props: bytes, flag: int, octets: bytes | None) -> bytes:
    start, end = _span(props, flag)
    flags = _flags_of(props) & ~flag if octets is None else _flags_of(props) | flag
    return flags.to_bytes(2) + props[2:start] + (octets or b"") + props[end:]


def _shortstr(name: str, value: str) -> bytes:
    octets = value.encode(errors="surrogateescape")
    if len(octets) > 255:
        raise ValueError(f"property {name} has {len(octets)} octets, 255 are allowed")
    return len(octets).to_bytes(1) + octets
