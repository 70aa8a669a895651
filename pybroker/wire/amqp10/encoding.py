"""Octets of AMQP 1.0 (its part 1): where a value ends, what lists and maps have, and values made.

A value is its constructor and what follows: a code whose upper half tells how long that is, or 0, a descriptor and
another value. Nothing here looks deeper than it is asked, so that no peer chooses how deep it goes; a length is
compared with what is there before it is used. Malformed octets raise ValueError.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

DESCRIBED: Final = 0x00
NULL: Final = 0x40
TRUE: Final = 0x41
FALSE: Final = 0x42
UINT_0: Final = 0x43
ULONG_0: Final = 0x44
EMPTY_LIST: Final = 0x45
UBYTE: Final = 0x50
BYTE: Final = 0x51
SMALL_UINT: Final = 0x52
SMALL_ULONG: Final = 0x53
SMALL_INT: Final = 0x54
SMALL_LONG: Final = 0x55
BOOLEAN: Final = 0x56
USHORT: Final = 0x60
SHORT: Final = 0x61
UINT: Final = 0x70
INT: Final = 0x71
FLOAT: Final = 0x72
CHAR: Final = 0x73
DECIMAL_32: Final = 0x74
ULONG: Final = 0x80
LONG: Final = 0x81
DOUBLE: Final = 0x82
TIMESTAMP: Final = 0x83
DECIMAL_64: Final = 0x84
DECIMAL_128: Final = 0x94
UUID: Final = 0x98
BINARY_8: Final = 0xA0
UTF8_8: Final = 0xA1
SYMBOL_8: Final = 0xA3
BINARY_32: Final = 0xB0
UTF8_32: Final = 0xB1
SYMBOL_32: Final = 0xB3
LIST_8: Final = 0xC0
MAP_8: Final = 0xC1
LIST_32: Final = 0xD0
MAP_32: Final = 0xD1
ARRAY_8: Final = 0xE0
ARRAY_32: Final = 0xF0

_CODES: Final = frozenset(
    {NULL, TRUE, FALSE, UINT_0, ULONG_0, EMPTY_LIST, UBYTE, BYTE, SMALL_UINT, SMALL_ULONG, SMALL_INT, SMALL_LONG}
    | {BOOLEAN, USHORT, SHORT, UINT, INT, FLOAT, CHAR, DECIMAL_32, ULONG, LONG, DOUBLE, TIMESTAMP, DECIMAL_64}
    | {DECIMAL_128, UUID, BINARY_8, UTF8_8, SYMBOL_8, BINARY_32, UTF8_32, SYMBOL_32, LIST_8, MAP_8, LIST_32, MAP_32}
    | {ARRAY_8, ARRAY_32}
)
# Octets behind a code, by its upper half; below 0 it is the width of a length that comes first.
_WIDTHS: Final = {4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16, 10: -1, 11: -4, 12: -1, 13: -4, 14: -1, 15: -4}
_SIZES: Final = [_WIDTHS[code >> 4] if code in _CODES else None for code in range(256)]
BINARIES: Final = frozenset({BINARY_8, BINARY_32})
TEXTS: Final = frozenset({UTF8_8, UTF8_32, SYMBOL_8, SYMBOL_32})
_LISTS: Final = frozenset({LIST_8, LIST_32})
_MAPS: Final = frozenset({MAP_8, MAP_32})
_WIDE: Final = 0x10  # set in the codes of what has a length of four octets

# So many descriptors of one value, one of the other; none has more than one.
_DESCRIPTORS_MAX: Final = 8
# Lengths below this one are written in one octet, as RabbitMQ does.
_SHORT_BELOW: Final = 255
# Of a list or map with a length in one octet, which counts the number of values too.
_SHORT_OCTETS_MAX: Final = 254

# A value's place: its code and what follows it, without a length.
Value = tuple[int, bytes]


def read(octets: bytes, at: int, stop: int) -> tuple[int, int, int]:
    """Return the code of the value at `at`, and where its octets begin and end, without its length.

    A descriptor in front of it is passed over. Raises ValueError.
    """
    for _ in range(_DESCRIPTORS_MAX):
        if at >= stop:
            raise ValueError("a value is cut short")
        code = octets[at]
        if code != DESCRIBED:
            break
        if at + 1 >= stop or octets[at + 1] == DESCRIBED:
            raise ValueError("a described descriptor")
        _, _, at = read(octets, at + 1, stop)
    size = _SIZES[code]
    if size is None:
        raise ValueError(f"no value has the code {code:#x}")
    start = at + 1
    if size < 0:
        start -= size
        size = int.from_bytes(octets[at + 1 : start])
    if start + size > stop:
        raise ValueError("a value is cut short")
    return code, start, start + size


def list_items(octets: bytes, at: int, stop: int) -> "Iterator[Value]":
    """Yield the values of the list at `at`. Raises ValueError."""
    code, start, end = read(octets, at, stop)
    if code not in _LISTS:
        if code != EMPTY_LIST:
            raise ValueError("no list")
        return
    yield from _items(octets, code, start, end)


def map_items(octets: bytes, at: int, stop: int) -> "Iterator[tuple[Value, Value]]":
    """Yield the keys and values of the map at `at`. Raises ValueError."""
    code, start, end = read(octets, at, stop)
    if code not in _MAPS:
        raise ValueError("no map")
    items = _items(octets, code, start, end)
    for key in items:
        value = next(items, None)
        if value is None:
            raise ValueError("a key without a value")
        yield key, value


def _items(octets: bytes, code: int, start: int, end: int) -> "Iterator[Value]":
    """Yield the values up to the end, whatever number of them is told, as RabbitMQ does."""
    start += 4 if code & _WIDE else 1
    if start > end:
        raise ValueError("a list or map without a number")
    while start < end:
        code, first, start = read(octets, start, end)
        yield code, octets[first:start]


def text(octets: bytes) -> bytes:
    """Return a string that is UTF-8."""
    return _variable(UTF8_8, UTF8_32, octets)


def binary(octets: bytes) -> bytes:
    """Return a binary."""
    return _variable(BINARY_8, BINARY_32, octets)


def symbol(octets: bytes) -> bytes:
    """Return a symbol of at most 255 octets."""
    return bytes((SYMBOL_8, len(octets))) + octets


def binary_head(length: int) -> bytes:
    """Return what comes before so many octets of a binary."""
    if length < _SHORT_BELOW:
        return bytes((BINARY_8, length))
    return b"%c%b" % (BINARY_32, length.to_bytes(4))


def _variable(short: int, long: int, octets: bytes) -> bytes:
    if len(octets) < _SHORT_BELOW:
        return bytes((short, len(octets))) + octets
    return b"%c%b%b" % (long, len(octets).to_bytes(4), octets)


def list_of(values: list[bytes]) -> bytes:
    """Return a list of values that are encoded."""
    return _compound(LIST_8, LIST_32, values)


def map_of(pairs: list[tuple[bytes, bytes]]) -> bytes:
    """Return a map of keys and values that are encoded."""
    return _compound(MAP_8, MAP_32, [octets for pair in pairs for octets in pair])


def _compound(short: int, long: int, values: list[bytes]) -> bytes:
    octets = b"".join(values)
    if len(octets) <= _SHORT_OCTETS_MAX and len(values) < _SHORT_BELOW:
        return bytes((short, len(octets) + 1, len(values))) + octets
    return b"%c%b%b%b" % (long, (len(octets) + 4).to_bytes(4), len(values).to_bytes(4), octets)
