"""Properties of a content header (AMQP §4.2.6): find, check and edit single ones without decoding the rest.

"props" are the octets from the two flag octets to the end of the header frame's payload. What a property means to a
queue is not known here, only what of it the broker must know: `Traits`.

    +-------+--------------------------------------------------------------------+
    | flags | the properties whose flag is set, in the order of PROPERTIES        |
    +-------+--------------------------------------------------------------------+
    flags: bit 15 is content_type ... bit 2 cluster_id, bit 1 nothing, bit 0 "more flags follow" (never, in class basic)
"""

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Final, NoReturn

from pybroker.errors import PreconditionFailed, ProtocolSyntaxError
from pybroker.run import (
    PLAIN_TRAITS,
    WANTS_CC,
    WANTS_DELAY,
    WANTS_REPLY_TO,
    WANTS_TABLE,
    WANTS_USER_ID,
    Traits,
)
from pybroker.wire.erlang import printed_string
from pybroker.wire.guard import check_table, check_utf8
from pybroker.wire.table import Table, decode_table, encode_table, split_table

HEADERS: Final = 1 << 13
DELIVERY_MODE: Final = 1 << 12
PRIORITY: Final = 1 << 11
REPLY_TO: Final = 1 << 9
EXPIRATION: Final = 1 << 8
TIMESTAMP: Final = 1 << 6
USER_ID: Final = 1 << 4

# Ten years in milliseconds: rabbit_misc:check_expiry.
EXPIRATION_MS_MAX: Final = 315_360_000_000

_RESERVED: Final = 0b11
_FAST_REPLY_TO: Final = b"amq.rabbitmq.reply-to"

# What a step over one property takes: that many octets, or these two.
_SHORTSTR: Final = 0
_TABLE: Final = -1
_SIZES: Final = {HEADERS: _TABLE, DELIVERY_MODE: 1, PRIORITY: 1, TIMESTAMP: 8}
_FLAGS: Final = tuple(1 << bit for bit in range(15, 1, -1))

# Erlang's names of the types, for RabbitMQ's text about a CC header that is no array.
_TYPE_NAMES: Final = {
    "S": "longstr",
    "I": "signedint",
    "D": "decimal",
    "T": "timestamp",
    "F": "table",
    "b": "byte",
    "B": "unsignedbyte",
    "s": "short",
    "u": "unsignedshort",
    "i": "unsignedint",
    "l": "long",
    "L": "long",
    "f": "float",
    "d": "double",
    "t": "bool",
    "x": "binary",
    "V": "void",
}


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


def traits_of(props: bytes) -> Traits:
    """Return what the broker must know of a message with these properties; equal traits are mostly one object.

    Checks everything a peer can do wrong in a content header, so it must be called before a message is routed.

    Raises ProtocolSyntaxError (502) for a wrong structure or table, FrameError (501) for a table above the limits,
    PreconditionFailed (406) for a bad expiration, delivery mode or CC header, with RabbitMQ's texts.
    """
    try:
        flags = props[0] << 8 | props[1]
        plan = _PLANS.get(flags) or _plan(flags)
        position, mode, priority, ttl_ms, wants = 2, 0, 0, None, 0
        for flag, size in plan:
            start = position
            if size == _SHORTSTR:
                position += 1 + props[position]
                if flag:
                    ttl_ms, wants = _read_named(props[start + 1 : position], flag, ttl_ms, wants)
            elif flag == DELIVERY_MODE:
                mode = props[position]
                position += 1
            elif flag == PRIORITY:
                priority = props[position]
                position += 1
            elif flag == HEADERS:
                position = check_table(props, start, len(props))
                wants |= WANTS_TABLE | _wants_of_table(props[start:position])
            else:
                position += size
    except IndexError:
        _malformed()
    if position != len(props):
        _malformed()
    if mode > 2 or (mode == 0 and flags & DELIVERY_MODE):
        raise PreconditionFailed(f"invalid message: {{delivery_mode_unknown,{mode}}}")
    return _traits(mode == 2, priority, ttl_ms, wants)


def decode_properties(props: bytes) -> Properties:
    """Return all properties. Raises ProtocolSyntaxError (502) and FrameError (501) as `traits_of`."""
    properties = Properties()
    position = 2
    flags = _flags(props)
    for name, flag in zip(PROPERTIES, _FLAGS, strict=True):
        if not flags & flag:
            continue
        start, position = position, _end_of(props, position, flag)
        if flag == HEADERS:
            properties.headers = decode_table(props, start)[0]
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
                raise ValueError(f"{name} is {value}") from None
        else:
            parts.append(_shortstr(value))
    return flags.to_bytes(2) + b"".join(parts)


def find_headers(props: bytes) -> bytes | None:
    """Return the octets of the headers table with their length, None if absent."""
    start, end = _span(props, HEADERS)
    return props[start:end] if end > start else None


def find_user_id(props: bytes) -> str | None:
    """Return the user-id, None if absent."""
    start, end = _span(props, USER_ID)
    return props[start + 1 : end].decode() if end > start else None


def find_reply_to(props: bytes) -> str | None:
    """Return reply-to, None if absent; octets that are not UTF-8 as surrogate escapes."""
    start, end = _span(props, REPLY_TO)
    return props[start + 1 : end].decode(errors="surrogateescape") if end > start else None


def replace_headers(props: bytes, table_octets: bytes | None) -> bytes:
    """Return props with other headers (octets with their length), or without any."""
    return _replace(props, HEADERS, table_octets)


def remove_expiration(props: bytes) -> bytes:
    """Return props without expiration."""
    return _replace(props, EXPIRATION, None)


def replace_reply_to(props: bytes, reply_to: str) -> bytes:
    """Return props with another reply-to, at most 255 octets. Raises ValueError."""
    return _replace(props, REPLY_TO, _shortstr(reply_to))


# One plan for each set of flags ever seen: 16,384 are possible, so it is bounded by nature.
_PLANS: dict[int, tuple[tuple[int, int], ...]] = {}
_NAMED: Final = EXPIRATION | REPLY_TO | USER_ID


def _plan(flags: int) -> tuple[tuple[int, int], ...]:
    """Return (flag, size) of the properties present; flag 0 for shortstrs the broker has no interest in."""
    if flags & _RESERVED:
        # Differs from RabbitMQ: it ignores both bits, and hands on a header that clients then read wrong.
        raise ProtocolSyntaxError("reserved property flags are set")
    plan = []
    for flag in _FLAGS:
        if flags & flag:
            size = _SIZES.get(flag, _SHORTSTR)
            plan.append((flag if size != _SHORTSTR or flag & _NAMED else 0, size))
    _PLANS[flags] = tuple(plan)
    return _PLANS[flags]


@lru_cache(maxsize=4_096)
def _traits(persistent: bool, priority: int, ttl_ms: int | None, wants: int) -> Traits:
    traits = Traits(persistent, priority, ttl_ms, wants)
    return PLAIN_TRAITS if traits == PLAIN_TRAITS else traits


def _read_named(octets: bytes, flag: int, ttl_ms: int | None, wants: int) -> tuple[int | None, int]:
    if flag == EXPIRATION:
        return _parse_expiration(octets), wants
    if flag == REPLY_TO:
        return ttl_ms, wants | WANTS_REPLY_TO if octets == _FAST_REPLY_TO else wants
    check_utf8(octets)
    return ttl_ms, wants | WANTS_USER_ID


def _wants_of_table(octets: bytes) -> int:
    # Three searches cost less than one key: most tables have none of them.
    if b"CC" not in octets and b"x-delay" not in octets:
        return 0
    wants = 0
    for key, value in split_table(octets):
        if key in (b"CC", b"BCC"):
            if value[:1] != b"A":
                fault = f'{{unacceptable_type_in_header,"{key.decode()}",{_TYPE_NAMES[value[:1].decode()]}}}'
                raise PreconditionFailed(f"invalid message: {fault}")
            wants |= WANTS_CC
        elif key == b"x-delay":
            wants |= WANTS_DELAY
    return wants


def _parse_expiration(octets: bytes) -> int:
    """Return milliseconds. Raises PreconditionFailed (406), source: rabbit_basic:parse_expiration."""
    sign = 1 if octets[:1] in (b"+", b"-") else 0
    digits = sign
    while octets[digits : digits + 1].isdigit():
        digits += 1
    if digits == sign:
        fault = "no_integer"
    elif digits < len(octets):
        fault = f"{{leftover_string,{printed_string(octets[digits:])}}}"
    else:
        ttl_ms = int(octets)
        if 0 <= ttl_ms <= EXPIRATION_MS_MAX:
            return ttl_ms
        fault = f"{{value_negative,{ttl_ms}}}" if ttl_ms < 0 else f"{{value_too_large,{ttl_ms}}}"
    raise PreconditionFailed(f"invalid expiration '{octets.decode(errors='replace')}': {fault}")


def _malformed() -> NoReturn:
    # Differs from RabbitMQ: its channel crashes, so it answers 541.
    raise ProtocolSyntaxError("malformed content header properties")


def _flags(props: bytes) -> int:
    if len(props) < 2:
        _malformed()
    flags = props[0] << 8 | props[1]
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
    flags = _flags(props)
    position = 2
    for flag in _FLAGS:
        if flag == wanted:
            return position, _end_of(props, position, flag) if flags & flag else position
        if flags & flag:
            position = _end_of(props, position, flag)
    raise AssertionError(wanted)


def _replace(props: bytes, flag: int, octets: bytes | None) -> bytes:
    start, end = _span(props, flag)
    flags = _flags(props) & ~flag if octets is None else _flags(props) | flag
    return flags.to_bytes(2) + props[2:start] + (octets or b"") + props[end:]


def _shortstr(value: str) -> bytes:
    octets = value.encode(errors="surrogateescape")
    if len(octets) > 255:
        raise ValueError(f"shortstr of {len(octets)} octets")
    return len(octets).to_bytes(1) + octets
