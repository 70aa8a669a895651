"""Field tables (AMQP §4.2.5.5) in RabbitMQ's dialect: values that remember their types, and raw editing.

Values are made here only after `guard` has walked over the octets. What a header or an argument means is not known
here.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from struct import Struct, pack
from typing import Any, Final

from pybroker.wire.guard import check_table, value_end

# What we build ourselves nests less; what peers build is limited by the guard to half of it.
_ENCODE_DEPTH_MAX: Final = 64

_FLOAT_MAX: Final = 3.4028234663852886e38
_SECONDS_MAX: Final = 253_402_300_799  # the last second of the year 9999, datetime's end
_CODES: Final = {"b": "b", "B": "B", "s": "h", "u": "H", "I": "i", "i": "I", "l": "q", "f": "f", "d": "d"}
_NUMBERS: Final = {letter: Struct(f">{code}") for letter, code in _CODES.items()}
_UNPACK: Final[dict[int, tuple[str, int, Callable[..., tuple[Any, ...]]]]] = {
    ord(letter): (letter, packing.size, packing.unpack_from) for letter, packing in _NUMBERS.items()
}
# RabbitMQ reads 'L' as 'l', and writes 'l'.
_UNPACK[ord("L")] = _UNPACK[ord("l")]
_INT_RANGES: Final = {
    "b": (-(1 << 7), (1 << 7) - 1),
    "B": (0, (1 << 8) - 1),
    "s": (-(1 << 15), (1 << 15) - 1),
    "u": (0, (1 << 16) - 1),
    "I": (-(1 << 31), (1 << 31) - 1),
    "i": (0, (1 << 32) - 1),
    "l": (-(1 << 63), (1 << 63) - 1),
    "T": (0, (1 << 64) - 1),
}


class Table(dict[str, Any]):
    """A field table. `types` has the one-letter AMQP type of each entry as it came from the wire.

    Two tables are equal when keys, values and types are: 1 as 'I' is not 1 as 'l', True is not 1. Compared with
    a plain mapping only keys and values count. A value replaced by one of another type takes that one's usual type.
    """

    __slots__ = ("types",)
    __hash__ = None

    def __init__(
        self, values: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), types: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(values)
        self.types: dict[str, str] = dict(types) if types else {}
        if types is None and isinstance(values, Table):
            self.types = dict(values.types)

    def type_of(self, key: str) -> str:
        """Return the one-letter AMQP type of the value at `key`, as it is or would be encoded. Raises KeyError."""
        return _type_of(self[key], self.types.get(key))

    def __eq__(self, other: object) -> bool:
        if not dict.__eq__(self, other):
            return False
        return not isinstance(other, Table) or all(self.type_of(key) == other.type_of(key) for key in self)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __repr__(self) -> str:
        return f"Table({', '.join(f'{key!r}: {self.type_of(key)} {value!r}' for key, value in self.items())})"

    def copy(self) -> "Table":
        """Return a shallow copy that has the types as well."""
        return Table(self)


class Array(list[Any]):
    """A field array; `types` has a letter for each element as it came, and counts while the lengths agree."""

    __slots__ = ("types",)
    __hash__ = None

    def __init__(self, values: Iterable[Any] = (), types: str = "") -> None:
        super().__init__(values)
        self.types = types

    def letters(self) -> list[str]:
        """Return the one-letter AMQP type of each element."""
        known: Iterable[str | None] = self.types if len(self.types) == len(self) else [None] * len(self)
        return [_type_of(value, letter) for value, letter in zip(self, known, strict=True)]

    def __eq__(self, other: object) -> bool:
        return list.__eq__(self, other) and (not isinstance(other, Array) or self.letters() == other.letters())

    def __ne__(self, other: object) -> bool:
        return not self == other


def decode_table(octets: bytes, offset: int = 0) -> tuple[Table, int]:
    """Return the table whose four length octets are at `offset`, and its end.

    Of equal keys the first one counts, as in RabbitMQ's lookups. Strings that are not UTF-8 are bytes; timestamps
    beyond the year 9999 are ints (seconds).

    Raises FrameError (501) and ProtocolSyntaxError (502) as `guard.check_table`.
    """
    end = check_table(octets, offset, len(octets))
    return _decode_fields(octets, offset + 4, end), end


def encode_table(mapping: Mapping[str, Any]) -> bytes:
    """Return the octets of a table, with their length in front.

    Types of a `Table` are kept. Others are RabbitMQ's usual: 'I' where 32 bits hold the int, else 'l'; 'd' for floats.

    Raises ValueError for what no field type can hold: it is our own table or an operator's, never a peer's.
    """
    return _encode_fields(mapping, 0)


def split_table(octets: bytes) -> list[tuple[bytes, bytes]]:
    """Return (key, octets of the value with its type octet in front) of each entry, in order.

    Raises ProtocolSyntaxError (502).
    """
    position, end = 4, 4 + int.from_bytes(octets[:4])
    pairs = []
    while position < end:
        key_end = position + 1 + octets[position]
        after = value_end(octets, key_end, min(end, len(octets)))
        pairs.append((octets[position + 1 : key_end], octets[key_end:after]))
        position = after
    return pairs


def join_table(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the octets of the table that `split_table` would split into `pairs`."""
    fields = b"".join([b"%c%b%b" % (len(key), key, value) for key, value in pairs])
    return len(fields).to_bytes(4) + fields


def encode_value(value: Any, letter: str | None = None) -> bytes:
    """Return the octets of one value with its type octet in front: as `letter` if that holds it. Raises ValueError."""
    return _encode_value(value, letter, 0)


def decode_value(octets: bytes) -> Any:
    """Return the value of octets as in `split_table`'s pairs. Raises as `decode_table`."""
    return decode_table(join_table([(b"", octets)]))[0][""]


def _decode_fields(octets: bytes, position: int, end: int) -> Table:
    table = Table()
    types = table.types
    while position < end:
        key_end = position + 1 + octets[position]
        key = octets[position + 1 : key_end].decode()
        letter, value, position = _decode_value(octets, key_end)
        if key not in table:
            table[key] = value
            types[key] = letter
    return table


def _decode_items(octets: bytes, position: int, end: int) -> Array:
    array = Array()
    letters = []
    while position < end:
        letter, value, position = _decode_value(octets, position)
        array.append(value)
        letters.append(letter)
    array.types = "".join(letters)
    return array


def _decode_value(octets: bytes, position: int) -> tuple[str, Any, int]:
    """Return type, value and end of the value at `position`, which the guard has seen: depth and lengths are right."""
    code = octets[position]
    position += 1
    number = _UNPACK.get(code)
    if number is not None:
        letter, size, unpack = number
        return letter, unpack(octets, position)[0], position + size
    letter = chr(code)
    match letter:
        case "t":
            return letter, octets[position] != 0, position + 1
        case "V":
            return letter, None, position
        case "T":
            return letter, _decode_timestamp(int.from_bytes(octets[position : position + 8])), position + 8
        case "D":
            mantissa = int.from_bytes(octets[position + 1 : position + 5], signed=True)
            return letter, Decimal(mantissa).scaleb(-octets[position]), position + 5
    start = position + 4
    end = start + int.from_bytes(octets[position:start])
    match letter:
        case "F":
            return letter, _decode_fields(octets, start, end), end
        case "A":
            return letter, _decode_items(octets, start, end), end
        case "S":
            return letter, _decode_longstr(octets[start:end]), end
    return letter, octets[start:end], end


def _decode_timestamp(seconds: int) -> datetime | int:
    return datetime.fromtimestamp(seconds, UTC) if seconds <= _SECONDS_MAX else seconds


def _decode_longstr(octets: bytes) -> str | bytes:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets


def _type_of(value: Any, letter: str | None) -> str:
    """Return `letter` if it can hold `value`, else the usual type of such values. Raises ValueError."""
    if letter is not None and _fits(value, letter):
        return letter
    match value:
        case bool():
            return "t"
        case int():
            for usual in ("I", "l"):
                if _fits(value, usual):
                    return usual
        case str():
            return "S"
        case float():
            return "d"
        case bytes() | bytearray():
            return "x"
        case Mapping():
            return "F"
        case list() | tuple():
            return "A"
        case None:
            return "V"
        case datetime():
            return "T"
        case Decimal():
            return "D"
    raise ValueError(f"no field type holds {value!r:.60}")


def _fits(value: Any, letter: str) -> bool:
    span = _INT_RANGES.get(letter)
    if span is not None:
        if letter == "T" and isinstance(value, datetime):
            return True
        return type(value) is int and span[0] <= value <= span[1]
    match letter:
        case "t":
            return isinstance(value, bool)
        case "d":
            return isinstance(value, float)
        case "f":
            return isinstance(value, float) and not _FLOAT_MAX < abs(value) < float("inf")
        case "S":
            return isinstance(value, str | bytes | bytearray)
        case "x":
            return isinstance(value, bytes | bytearray)
        case "F":
            return isinstance(value, Mapping)
        case "A":
            return isinstance(value, list | tuple)
        case "D":
            return isinstance(value, Decimal)
    return letter == "V" and value is None


def _encode_fields(mapping: Mapping[str, Any], depth: int) -> bytes:
    types = mapping.types if isinstance(mapping, Table) else {}
    pairs = []
    for key, value in mapping.items():
        name = key.encode()
        if len(name) > 255:
            raise ValueError(f"field name of {len(name)} octets")
        pairs.append((name, _encode_value(value, types.get(key), depth)))
    return join_table(pairs)


def _encode_value(value: Any, letter: str | None, depth: int) -> bytes:
    if depth > _ENCODE_DEPTH_MAX:
        raise ValueError("table nested too deep")
    letter = _type_of(value, letter)
    packing = _NUMBERS.get(letter)
    if packing is not None:
        octets = packing.pack(value)
    else:
        match letter:
            case "t":
                octets = b"\x01" if value else b"\x00"
            case "V":
                octets = b""
            case "T":
                octets = _encode_timestamp(value)
            case "D":
                octets = _encode_decimal(value)
            case "F":
                octets = _encode_fields(value, depth + 1)
            case "A":
                letters = value.letters() if isinstance(value, Array) else [None] * len(value)
                items = [_encode_value(item, kind, depth + 1) for item, kind in zip(value, letters, strict=True)]
                octets = _with_length(b"".join(items))
            case _:
                octets = _with_length(value.encode() if isinstance(value, str) else bytes(value))
    return letter.encode() + octets


def _with_length(octets: bytes) -> bytes:
    return len(octets).to_bytes(4) + octets


def _encode_timestamp(value: datetime | int) -> bytes:
    if isinstance(value, datetime):
        seconds = int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    else:
        seconds = value
    if seconds < 0:
        raise ValueError("a timestamp before 1970")
    return seconds.to_bytes(8)


def _encode_decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if not value.is_finite() or not isinstance(exponent, int):
        raise ValueError(f"no field type holds {value!r}")
    scale = max(0, -exponent)
    mantissa = int("".join(map(str, digits))) * 10 ** max(0, exponent) * (-1 if sign else 1)
    if scale > 255 or not -(1 << 31) <= mantissa < 1 << 31:
        raise ValueError(f"no field type holds {value!r}")
    return pack(">Bi", scale, mantissa)
