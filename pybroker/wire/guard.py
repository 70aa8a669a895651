"""Limits in front of the codec: nothing a peer sends is decoded before this file has walked over it.

Iterative on purpose: a peer chooses how deep tables nest, and 3.5 KB of nested tables are enough to exhaust
Python's stack. It checks structure, sizes and UTF-8; it makes no values. Source: AMQP §4.2.5, rabbit_binary_parser.
"""

from collections.abc import Mapping
from typing import Final, NoReturn

from pamqp import base, commands

from pybroker.errors import CommandInvalid, FrameError, MethodNotImplemented, ProtocolSyntaxError
from pybroker.wire.erlang import written_binary
from pybroker.wire.frame import METHOD, unknown_frame

# Far above what clients send (client properties: depth 2, 20 entries), far below what costs a millisecond.
DEPTH_MAX: Final = 32
ENTRIES_MAX: Final = 1_024
# AMQP §4.2.5.5 limits field names to 128.
KEY_OCTETS_MAX: Final = 128

MALFORMED_UTF8: Final = "Malformed UTF-8 in shortstr"

# Octets of the values of each type, RabbitMQ's dialect (its errata page); 'S' and 'x' carry their own length.
_FIXED: Final = "t1 b1 B1 s2 u2 I4 i4 l8 L8 f4 d8 D5 T8 V0"
FIXED_OCTETS: Final[Mapping[int, int]] = {ord(pair[0]): int(pair[1]) for pair in _FIXED.split()}
_TABLE: Final = ord("F")
_ARRAY: Final = ord("A")
_MEASURED: Final = frozenset(b"SxFA")

_SHORTSTR: Final = -1
_LONGSTR: Final = -2
_NESTED: Final = -3
_FIELD_OCTETS: Final = {"octet": 1, "short": 2, "long": 4, "longlong": 8, "timestamp": 8}
_FIELD_SHAPES: Final = {**_FIELD_OCTETS, "shortstr": _SHORTSTR, "longstr": _LONGSTR, "table": _NESTED}

# RabbitMQ knows these classes and methods and we do not: access (class 30) and basic.credit of its AMQP 1.0 days.
_KNOWN_ELSEWHERE: Final = frozenset({(30, 10), (30, 11), (60, 200), (60, 201), (60, 202)})


def _layout(method: type[base.Frame]) -> tuple[int, ...]:
    """Return what a method's arguments are made of: numbers of octets, or _SHORTSTR, _LONGSTR, _NESTED."""
    layout: list[int] = []
    bits = 0
    for name in method.attributes():
        kind = method.amqp_type(name)
        if kind == "bit":
            bits += 1
            octets = 1 if bits % 8 == 1 else 0
        else:
            bits = 0
            octets = _FIELD_SHAPES[kind]
        if octets > 0 and layout and layout[-1] > 0:
            layout[-1] += octets
        elif octets:
            layout.append(octets)
    return tuple(layout)


_LAYOUTS: Final = {index: _layout(method) for index, method in commands.INDEX_MAPPING.items()}


def check_utf8(octets: bytes) -> None:
    """Raise FrameError (501) unless `octets`, a shortstr's, are UTF-8. Source: rabbit_binary_parser:assert_utf8."""
    try:
        octets.decode()
    except UnicodeDecodeError:
        raise FrameError(MALFORMED_UTF8) from None


def check_table(octets: bytes, offset: int, end: int) -> int:
    """Walk the field table whose four length octets are at `offset`, which must not reach over `end`; return its end.

    Raises FrameError (501) above a limit and for keys that are not UTF-8, ProtocolSyntaxError (502) where lengths or
    types are wrong. # Differs from RabbitMQ: it has no limits, does not check keys, and answers 541 to a wrong table.
    """
    position, stop = _measured(octets, offset, end)
    outer: list[tuple[int, bool]] = []
    in_array = False
    entries = 0
    while True:
        while position == stop:
            if not outer:
                return stop
            stop, in_array = outer.pop()
        entries += 1
        if entries > ENTRIES_MAX:
            raise FrameError(f"table of more than {ENTRIES_MAX} entries")
        if not in_array:
            position = _check_key(octets, position, stop)
        letter = octets[position]
        position += 1
        size = FIXED_OCTETS.get(letter)
        if size is not None:
            position += size
            if position > stop:
                raise ProtocolSyntaxError("table is cut short")
        elif letter not in _MEASURED:
            raise ProtocolSyntaxError(f"unknown type {letter} in table")
        else:
            start, value_end = _measured(octets, position, stop)
            if letter in (_TABLE, _ARRAY):
                outer.append((stop, in_array))
                if len(outer) >= DEPTH_MAX:
                    raise FrameError(f"table nested deeper than {DEPTH_MAX} levels")
                position, stop, in_array = start, value_end, letter == _ARRAY
            else:
                position = value_end


def value_end(octets: bytes, offset: int, end: int) -> int:
    """Return the end of the typed value at `offset`, without looking into it. Raises ProtocolSyntaxError (502)."""
    if offset >= end:
        raise ProtocolSyntaxError("table is cut short")
    size = FIXED_OCTETS.get(octets[offset])
    if size is None:
        if octets[offset] not in _MEASURED:
            raise ProtocolSyntaxError(f"unknown type {octets[offset]} in table")
        return _measured(octets, offset + 1, end)[1]
    if offset + 1 + size > end:
        raise ProtocolSyntaxError("table is cut short")
    return offset + 1 + size


def guard_method(payload: bytes) -> None:
    """Check a method frame's payload: a known method, structure to the last octet, UTF-8 of shortstrs, tables.

    Raises FrameError (501) with RabbitMQ's texts, ProtocolSyntaxError (502) for a table, CommandInvalid (503) and
    MethodNotImplemented (540) for an unknown method. # Differs from RabbitMQ: it drops the connection without a word
    then, and it does not check the names of basic.publish.
    """
    if len(payload) < 4:
        raise unknown_frame(METHOD, payload)
    index = int.from_bytes(payload[:4])
    layout = _LAYOUTS.get(index)
    if layout is None:
        _unknown_method(index >> 16, index & 0xFFFF)
    position, end = 4, len(payload)
    try:
        for step in layout:
            if step > 0:
                position += step
            elif step == _SHORTSTR:
                if position >= end:
                    _cannot_decode(payload)
                start = position + 1
                position = start + payload[position]
                check_utf8(payload[start:position])
            else:
                start = position + 4
                position = start + int.from_bytes(payload[position:start])
                if position <= end and step == _NESTED:
                    check_table(payload, start - 4, end)
            if position > end:
                _cannot_decode(payload)
        if position != end:
            _cannot_decode(payload)
    except (FrameError, ProtocolSyntaxError) as error:
        error.method = (index >> 16, index & 0xFFFF)
        raise


def _measured(octets: bytes, offset: int, end: int) -> tuple[int, int]:
    """Return where the octets behind a four-octet length begin and end."""
    start = offset + 4
    value_end = start + int.from_bytes(octets[offset:start])
    if start > end or value_end > end:
        raise ProtocolSyntaxError("table is cut short")
    return start, value_end


def _check_key(octets: bytes, position: int, stop: int) -> int:
    """Return the offset of the value's type octet, which is inside the table."""
    length = octets[position]
    start = position + 1
    position = start + length
    if position >= stop:
        raise ProtocolSyntaxError("table is cut short")
    if length > KEY_OCTETS_MAX:
        raise FrameError(f"table key of more than {KEY_OCTETS_MAX} octets")
    check_utf8(octets[start:position])
    return position


def _cannot_decode(payload: bytes) -> NoReturn:
    # The reply text ends after 255 octets: no need to write 128 KiB of numbers.
    raise FrameError(f"cannot decode {written_binary(payload[4:260])}")


def _unknown_method(class_id: int, method_id: int) -> NoReturn:
    if (class_id, method_id) in _KNOWN_ELSEWHERE:
        raise MethodNotImplemented(f"method {class_id},{method_id} is not implemented", (class_id, method_id))
    raise CommandInvalid(f"unknown method {class_id},{method_id}", (class_id, method_id))
