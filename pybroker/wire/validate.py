"""Limits in front of the codec: nothing a peer sends is decoded before this file has walked over it.

Iterative on purpose: a peer chooses how deep tables nest, and 3.5 KB of nested tables are enough to exhaust
Python's stack. It checks structure, sizes and UTF-8; it makes no values. Source: AMQP §4.2.5, rabbit_binary_parser.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple, NoReturn

from pamqp import base, commands

from pybroker.errors import CommandInvalid, FrameError, MethodNotImplemented, ProtocolSyntaxError
from pybroker.wire.erlang import written_binary
from pybroker.wire.frame import METHOD, unknown_frame


class Limits(NamedTuple):
    """How deep tables may nest (one table: 1), and how many entries all of them together may have."""

    depth_max: int
    entries_max: int


# Far above what clients send (client properties: depth 2, 20 entries), far below what costs a millisecond.
PEER: Final = Limits(32, 1_024)
# Headers that a peer sent and the broker made longer: x-death adds three levels, and eight entries for each queue.
GROWN: Final = Limits(40, 16_384)
# AMQP §4.2.5.5 limits field names to 128.
KEY_OCTETS_MAX: Final = 128

MALFORMED_UTF8: Final = "Malformed UTF-8 in shortstr"

# Sizes of what carries its own length, below those that are numbers of octets.
_SHORTSTR: Final = -1
_LONGSTR: Final = -2
_TABLE: Final = -3
_ARRAY: Final = -4
_UNKNOWN: Final = -5
# Octets of the values of each type, by its letter: RabbitMQ's dialect (its errata page).
_FIXED: Final = {
    "t": 1,
    "b": 1,
    "B": 1,
    "s": 2,
    "u": 2,
    "I": 4,
    "i": 4,
    "l": 8,
    "L": 8,
    "f": 4,
    "d": 8,
    "D": 5,
    "T": 8,
    "V": 0,
}
_LETTERS: Final = {**_FIXED, "S": _LONGSTR, "x": _LONGSTR, "F": _TABLE, "A": _ARRAY}
_SIZES: Final = [_LETTERS.get(chr(code), _UNKNOWN) for code in range(256)]
# The same for the arguments of methods, by pamqp's names of their types.
_INTEGERS: Final = {"octet": 1, "short": 2, "long": 4, "longlong": 8, "timestamp": 8}
_ARGUMENTS: Final = {**_INTEGERS, "shortstr": _SHORTSTR, "longstr": _LONGSTR, "table": _TABLE}
_CUT_SHORT: Final = "table is cut short"

_length: Final[Callable[[bytes, int], tuple[int]]] = struct.Struct(">I").unpack_from

# RabbitMQ knows these classes and methods and we do not: access (class 30) and basic.credit of its AMQP 1.0 days.
_KNOWN_ELSEWHERE: Final = frozenset({(30, 10), (30, 11), (60, 200), (60, 201), (60, 202)})


def _layout(method: type[base.Frame]) -> tuple[int, ...]:
    """Return what a method's arguments are made of: numbers of octets, or _SHORTSTR, _LONGSTR, _TABLE."""
    layout: list[int] = []
    bits = 0
    for name in method.attributes():
        kind = method.amqp_type(name)
        if kind == "bit":
            bits += 1
            octets = 1 if bits % 8 == 1 else 0
        else:
            bits = 0
            octets = _ARGUMENTS[kind]
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


def check_table(octets: bytes, offset: int, end: int, limits: Limits = PEER) -> int:
    """Walk the field table whose four length octets are at `offset`, which must not reach over `end`; return its end.

    Raises FrameError (501) above a limit and for keys that are not UTF-8, ProtocolSyntaxError (502) where lengths or
    types are wrong. # Differs from RabbitMQ: it has no limits, does not check keys, and answers 541 to a wrong table.
    """
    try:
        position = offset + 4
        stop = position + _length(octets, offset)[0]
        if stop > end:
            raise ProtocolSyntaxError(_CUT_SHORT)
        _walk(octets, position, stop, limits)
    except struct.error:
        raise ProtocolSyntaxError(_CUT_SHORT) from None
    return stop


def _walk(octets: bytes, position: int, stop: int, limits: Limits) -> None:
    """Walk all fields between two offsets, and what they nest. Raises struct.error where a length is cut short."""
    depth_max, entries_max = limits
    # Far from all keys are ASCII, but looking at all octets at once costs less than decoding one key.
    all_ascii = octets.isascii()
    outer: list[tuple[int, bool]] = []
    in_array = False
    entries = 0
    while True:
        while position == stop:
            if not outer:
                return
            stop, in_array = outer.pop()
        entries += 1
        if entries > entries_max:
            raise FrameError(f"table of more than {entries_max} entries")
        if not in_array:
            start = position + 1
            position = start + octets[position]
            if position >= stop:
                raise ProtocolSyntaxError(_CUT_SHORT)
            if position - start > KEY_OCTETS_MAX:
                raise FrameError(f"table key of more than {KEY_OCTETS_MAX} octets")
            if not all_ascii:
                check_utf8(octets[start:position])
        size = _SIZES[octets[position]]
        position += 1
        if size >= 0:
            position += size
        elif size == _LONGSTR:
            position += 4 + _length(octets, position)[0]
        elif size == _UNKNOWN:
            raise ProtocolSyntaxError(f"unknown type {octets[position - 1]} in table")
        else:
            outer.append((stop, in_array))
            if len(outer) >= depth_max:
                raise FrameError(f"table nested deeper than {depth_max} levels")
            in_array = size == _ARRAY
            position += 4
            inner = position + _length(octets, position - 4)[0]
            if inner > stop:
                raise ProtocolSyntaxError(_CUT_SHORT)
            stop = inner
        if position > stop:
            raise ProtocolSyntaxError(_CUT_SHORT)


def value_end(octets: bytes, offset: int, end: int) -> int:
    """Return the end of the typed value at `offset`, without looking into it. Raises ProtocolSyntaxError (502)."""
    if offset >= end:
        raise ProtocolSyntaxError(_CUT_SHORT)
    size = _SIZES[octets[offset]]
    if size == _UNKNOWN:
        raise ProtocolSyntaxError(f"unknown type {octets[offset]} in table")
    if size < 0:
        size = 4 + int.from_bytes(octets[offset + 1 : offset + 5])
    if offset + 1 + size > end:
        raise ProtocolSyntaxError(_CUT_SHORT)
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
    try:
        for step, start, end in _spans(payload, layout):
            if step == _SHORTSTR:
                check_utf8(payload[start:end])
            elif step == _TABLE:
                check_table(payload, start - 4, end)
    except (FrameError, ProtocolSyntaxError) as error:
        error.method = (index >> 16, index & 0xFFFF)
        raise


def _spans(payload: bytes, layout: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return (what, start, end) of the arguments that carry their own length. Raises FrameError (501)."""
    spans = []
    position, end = 4, len(payload)
    for step in layout:
        if step > 0:
            position += step
        else:
            start = position + (1 if step == _SHORTSTR else 4)
            position = start + int.from_bytes(payload[position:start])
            spans.append((step, start, position))
        if position > end:
            break
    if position != end:
        # The reply text ends after 255 octets: no need to write 128 KiB of numbers.
        raise FrameError(f"cannot decode {written_binary(payload[4:260])}")
    return spans


def _unknown_method(class_id: int, method_id: int) -> NoReturn:
    if (class_id, method_id) in _KNOWN_ELSEWHERE:
        raise MethodNotImplemented(f"method {class_id},{method_id} is not implemented", (class_id, method_id))
    raise CommandInvalid(f"unknown method {class_id},{method_id}", (class_id, method_id))
