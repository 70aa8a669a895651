"""Values of headers: those of a field table (AMQP 0-9-1) as those of application properties (AMQP 1.0), and back.

Both ways octets become octets; no value is made of them. Types are RabbitMQ's choice, except where it has none.
"""

import uuid
from collections.abc import Callable
from typing import Final

from pybroker.wire.amqp10 import encoding as amqp
from pybroker.wire.value import decode_scalar

_MS: Final = 1_000
_LONG_MAX: Final = (1 << 63) - 1
_CHARACTERS: Final = 0x110000
_SURROGATES: Final = range(0xD800, 0xE000)


# -- to AMQP 0-9-1 -----------------------------------------------------------------------------------------------------

# Letters of types that have the octets of a code.
_SAME: Final = {
    amqp.UBYTE: b"B",
    amqp.BYTE: b"b",
    amqp.BOOLEAN: b"t",
    amqp.USHORT: b"u",
    amqp.SHORT: b"s",
    amqp.UINT: b"i",
    amqp.INT: b"I",
    amqp.FLOAT: b"f",
    amqp.LONG: b"l",
    amqp.DOUBLE: b"d",
}
_LETTERS: Final = {
    **dict.fromkeys(amqp.TEXTS, b"S"),
    **dict.fromkeys(amqp.BINARIES, b"x"),
}
_FIXED: Final = {
    amqp.NULL: b"V",
    amqp.TRUE: b"t\1",
    amqp.FALSE: b"t\0",
    amqp.UINT_0: b"i\0\0\0\0",
    amqp.ULONG_0: b"l\0\0\0\0\0\0\0\0",
}
# Of integers in one octet: the letter, how many octets its values have, and whether there are negative ones.
_SMALL: Final = {
    amqp.SMALL_UINT: (b"i", 4, False),
    amqp.SMALL_ULONG: (b"l", 8, False),
    amqp.SMALL_INT: (b"I", 4, True),
    amqp.SMALL_LONG: (b"l", 8, True),
}


def field_of(code: int, octets: bytes) -> bytes | None:
    """Return a value of AMQP 1.0 as one of a field table, its type octet first; None if it is left out.

    # Differs from RabbitMQ: unsigned long, uuid, char and symbol become the nearest type; lists, maps, arrays and
    decimals are left out. At any of these its consumer's connection ends with 541.
    """
    letter = _LETTERS.get(code)
    if letter is not None:
        return letter + len(octets).to_bytes(4) + octets
    letter = _SAME.get(code)
    if letter is not None:
        return letter + octets
    small = _SMALL.get(code)
    if small is not None:
        letter, size, signed = small
        return letter + int.from_bytes(octets, signed=signed).to_bytes(size, signed=signed)
    make = _MADE.get(code)
    return _FIXED.get(code) if make is None else make(octets)


def _longstr(text: str) -> bytes:
    octets = text.encode()
    return b"S" + len(octets).to_bytes(4) + octets


def _ulong(octets: bytes) -> bytes:
    number = int.from_bytes(octets)
    return b"l" + octets if number <= _LONG_MAX else _longstr(str(number))


def _timestamp(octets: bytes) -> bytes | None:
    ms = int.from_bytes(octets, signed=True)
    return b"T" + (ms // _MS).to_bytes(8) if ms >= 0 else None


def _char(octets: bytes) -> bytes | None:
    number = int.from_bytes(octets)
    return _longstr(chr(number)) if number < _CHARACTERS and number not in _SURROGATES else None


def _uuid(octets: bytes) -> bytes:
    return _longstr(str(uuid.UUID(bytes=octets)))


_MADE: Final[dict[int, Callable[[bytes], bytes | None]]] = {
    amqp.ULONG: _ulong,
    amqp.TIMESTAMP: _timestamp,
    amqp.CHAR: _char,
    amqp.UUID: _uuid,
}


# -- to AMQP 1.0 -------------------------------------------------------------------------------------------------------

# Codes of values that have the octets of a letter.
_CODES: Final = {ord(letter): code for code, letter in _SAME.items() if letter in (b"B", b"b", b"u", b"s", b"f", b"d")}


def value_of(field: bytes) -> bytes | None:
    """Return a value of a field table, its type octet first, as one of AMQP 1.0; None if it is left out.

    # Differs from RabbitMQ: a decimal becomes text, and a string that is not UTF-8 a binary. RabbitMQ says that any
    string is UTF-8, and ends a connection that publishes a decimal.
    """
    octets = field[1:]
    code = _CODES.get(field[0])
    if code is not None:
        return bytes((code,)) + octets
    match chr(field[0]):
        case "S":
            return _string(octets[4:])
        case "t":
            return bytes((amqp.BOOLEAN, octets[0] != 0))
        case "I":
            return _integer(octets, amqp.SMALL_INT, amqp.INT)
        case "l" | "L":
            return _integer(octets, amqp.SMALL_LONG, amqp.LONG)
        case "i":
            return _unsigned(octets)
        case "x":
            return amqp.binary(octets[4:])
        case "T":
            return timestamp(int.from_bytes(octets))
        case "V":
            return bytes((amqp.NULL,))
        case "D":
            return amqp.text(format(decode_scalar(field, 0)[1], "f").encode())
    return None


def timestamp(seconds: int) -> bytes | None:
    """Return a time in milliseconds; None: it is too far away for that."""
    ms = seconds * _MS
    return b"%c%b" % (amqp.TIMESTAMP, ms.to_bytes(8)) if ms <= _LONG_MAX else None


def _string(octets: bytes) -> bytes:
    try:
        octets.decode()
    except UnicodeDecodeError:
        return amqp.binary(octets)
    return amqp.text(octets)


def _integer(octets: bytes, small: int, code: int) -> bytes:
    number = int.from_bytes(octets, signed=True)
    return bytes((small, octets[-1])) if -128 <= number <= 127 else bytes((code,)) + octets


def _unsigned(octets: bytes) -> bytes:
    number = int.from_bytes(octets)
    if not number:
        return bytes((amqp.UINT_0,))
    return bytes((amqp.SMALL_UINT, number)) if number <= 255 else bytes((amqp.UINT,)) + octets
