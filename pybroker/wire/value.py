"""Single values of a field table (AMQP §4.2.5.5) in RabbitMQ's dialect: which type holds what, and their octets.

Tables and arrays are known by their letters only: how they nest is `table.py`'s.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from math import inf
from struct import Struct, pack
from typing import Any, Final

# One-letter types and RabbitMQ's names of them (rabbit_binary_parser), part of its texts. It reads 'L' as 'l'.
FIELD_TYPES: Final = {
    "S": "longstr",
    "I": "signedint",
    "D": "decimal",
    "T": "timestamp",
    "F": "table",
    "A": "array",
    "b": "byte",
    "B": "unsignedbyte",
    "s": "short",
    "u": "unsignedshort",
    "i": "unsignedint",
    "l": "long",
    "f": "float",
    "d": "double",
    "t": "bool",
    "x": "binary",
    "V": "void",
}

_FLOAT_MAX: Final = 3.4028234663852886e38
# The last second of the year 9999, where datetime ends.
_SECONDS_MAX: Final = 253_402_300_799

_CODES: Final = {"b": "b", "B": "B", "s": "h", "u": "H", "I": "i", "i": "I", "l": "q", "f": "f", "d": "d"}
_NUMBERS: Final = {letter: Struct(f">{code}") for letter, code in _CODES.items()}
_UNPACK: Final[dict[int, tuple[str, int, Callable[..., tuple[Any, ...]]]]] = {
    ord(letter): (letter, packing.size, packing.unpack_from) for letter, packing in _NUMBERS.items()
}
_UNPACK[ord("L")] = _UNPACK[ord("l")]

_SPANS: Final = {
    "b": range(-(1 << 7), 1 << 7),
    "B": range(1 << 8),
    "s": range(-(1 << 15), 1 << 15),
    "u": range(1 << 16),
    "I": range(-(1 << 31), 1 << 31),
    "i": range(1 << 32),
    "l": range(-(1 << 63), 1 << 63),
    "T": range(1 << 64),
}
_CLASSES: Final[dict[str, type | tuple[type, ...]]] = {
    "t": bool,
    "d": float,
    "f": float,
    "S": (str, bytes, bytearray),
    "x": (bytes, bytearray),
    "F": Mapping,
    "A": (list, tuple),
    "D": Decimal,
    "T": datetime,
    "V": type(None),
}
# The first one that holds a value is its usual type. RabbitMQ's: 'I' before 'l', and no other integers.
_USUAL: Final = "tIlxSdFAVTD"


def letter_of(value: Any, remembered: str | None = None) -> str:
    """Return the one-letter type `remembered` if it holds `value`, else the usual one. Raises ValueError: none does."""
    if remembered is not None and _holds(remembered, value):
        return remembered
    for letter in _USUAL:
        # An int may be a timestamp that datetime cannot hold, but only where it came as one.
        if _holds(letter, value) and not (letter == "T" and isinstance(value, int)):
            return letter
    raise ValueError(f"no AMQP type holds {value!r:.60}")


def decode_scalar(octets: bytes, position: int) -> tuple[str, Any, int]:
    """Return letter, value and end of the value whose type octet is at `position`: any but a table or an array.

    Strings that are not UTF-8 are bytes, timestamps beyond the year 9999 ints (seconds). The guard has been here.
    """
    code = octets[position]
    position += 1
    number = _UNPACK.get(code)
    if number is not None:
        letter, size, unpack = number
        return letter, unpack(octets, position)[0], position + size
    match chr(code):
        case "t":
            return "t", octets[position] != 0, position + 1
        case "V":
            return "V", None, position
        case "T":
            seconds = int.from_bytes(octets[position : position + 8])
            value = datetime.fromtimestamp(seconds, UTC) if seconds <= _SECONDS_MAX else seconds
            return "T", value, position + 8
        case "D":
            mantissa = int.from_bytes(octets[position + 1 : position + 5], signed=True)
            return "D", Decimal(mantissa).scaleb(-octets[position]), position + 5
    start = position + 4
    end = start + int.from_bytes(octets[position:start])
    if code == ord("x"):
        return "x", octets[start:end], end
    try:
        return "S", octets[start:end].decode(), end
    except UnicodeDecodeError:
        return "S", octets[start:end], end


def encode_scalar(value: Any, letter: str) -> bytes:
    """Return the octets of a value behind its type octet, for a letter from `letter_of`. Raises ValueError."""
    packing = _NUMBERS.get(letter)
    if packing is not None:
        return packing.pack(value)
    match letter:
        case "t":
            return b"\x01" if value else b"\x00"
        case "V":
            return b""
        case "T":
            return _encode_timestamp(value)
        case "D":
            return _encode_decimal(value)
    octets = value.encode() if isinstance(value, str) else bytes(value)
    return len(octets).to_bytes(4) + octets


def _holds(letter: str, value: Any) -> bool:
    span = _SPANS.get(letter)
    if span is not None and type(value) is int:
        return value in span
    kind = _CLASSES.get(letter)
    if kind is None or not isinstance(value, kind):
        return False
    return not (letter == "f" and isinstance(value, float) and _FLOAT_MAX < abs(value) < inf)


def _encode_timestamp(value: datetime | int) -> bytes:
    if isinstance(value, datetime):
        # Naive ones are UTC: AMQP's timestamps know no zone.
        value = int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    if value < 0:
        raise ValueError(f"timestamps begin in 1970, this one is {-value} seconds before")
    return value.to_bytes(8)


def _encode_decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if isinstance(exponent, int) and -255 <= exponent <= 9:
        mantissa = int("".join(map(str, digits))) * 10 ** max(0, exponent) * (-1 if sign else 1)
        if -(1 << 31) <= mantissa < 1 << 31:
            return pack(">Bi", max(0, -exponent), mantissa)
    raise ValueError(f"a decimal has 32 bits and at most 255 places, {value!r:.60} does not fit")
