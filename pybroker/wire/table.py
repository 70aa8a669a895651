"""Field tables (AMQP §4.2.5.5): values that remember their types, and raw editing.

Values are made here only after `validate` has walked over the octets. Does not know what a header or an argument means.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

from pybroker.wire.validate import PEER, Limits, check_table, value_end
from pybroker.wire.value import decode_scalar, encode_scalar, letter_of

# `validate` limits the tables of peers to half of it, and the broker nests them three levels deeper.
_ENCODE_DEPTH_MAX: Final = 64
# Characters of a name in an error.
_SHOWN_MAX: Final = 40

_TABLE: Final = ord("F")
_ARRAY: Final = ord("A")


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
        if types is None and isinstance(values, Table):
            types = values.types
        self.types: dict[str, str] = dict(types or {})

    def type_of(self, key: str) -> str:
        """Return the one-letter AMQP type of the value at `key`, as it is or would be encoded. Raises KeyError."""
        return letter_of(self[key], self.types.get(key))

    def copy(self) -> Self:
        """Return a shallow copy, types included."""
        return type(self)(self)

    def __eq__(self, other: object) -> bool:
        if dict.__eq__(self, other) is not True:  # it may be NotImplemented, which is true
            return False
        return not isinstance(other, Table) or all(self.type_of(key) == other.type_of(key) for key in self)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __repr__(self) -> str:
        return f"Table({', '.join(f'{key!r}: {self.type_of(key)} {value!r}' for key, value in self.items())})"


class Array(list[Any]):
    """A field array. `types` has a letter for each element as it came, and counts while the lengths agree."""

    __slots__ = ("types",)
    __hash__ = None

    def __init__(self, values: Iterable[Any] = (), types: str = "") -> None:
        super().__init__(values)
        self.types: str = values.types if not types and isinstance(values, Array) else types

    def letters(self) -> list[str]:
        """Return the one-letter AMQP type of each element, as it is or would be encoded."""
        known: Iterable[str | None] = self.types if len(self.types) == len(self) else [None] * len(self)
        return [letter_of(value, letter) for value, letter in zip(self, known, strict=True)]

    def __eq__(self, other: object) -> bool:
        return list.__eq__(self, other) is True and (not isinstance(other, Array) or self.letters() == other.letters())

    def __ne__(self, other: object) -> bool:
        return not self == other


def decode_table(octets: bytes, offset: int = 0, limits: Limits = PEER) -> tuple[Table, int]:
    """Return the table whose four length octets are at `offset`, and its end.

    Of equal keys the first one counts, as in RabbitMQ's lookups. # Differs from RabbitMQ: the others are lost when such
    a table is encoded again. Strings that are not UTF-8 are bytes; timestamps beyond the year 9999 are ints (seconds).

    Raises FrameError (501) and ProtocolSyntaxError (502) as `guard.check_table`.
    """
    end = check_table(octets, offset, len(octets), limits)
    return read_fields(octets, offset + 4, end), end


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
    end = value_end(b"F" + octets, 0, len(octets) + 1) - 1
    position = 4
    pairs = []
    while position < end:
        key_end = position + 1 + octets[position]
        after = value_end(octets, key_end, end)
        pairs.append((octets[position + 1 : key_end], octets[key_end:after]))
        position = after
    return pairs


def join_table(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the octets of the table that `split_table` would split into `pairs`."""
    fields = b"".join([b"%c%b%b" % (len(key), key, value) for key, value in pairs])
    return len(fields).to_bytes(4) + fields


def encode_value(value: Any, letter: str | None = None) -> bytes:
    """Return the octets of one value with its type octet in front, as `letter` if that holds it. Raises ValueError."""
    return _encode_value(value, letter, 0)


def decode_value(octets: bytes, limits: Limits = PEER) -> Any:
    """Return the value of octets as in `split_table`'s pairs. Raises as `decode_table`."""
    return decode_table(join_table([(b"", octets)]), 0, limits)[0][""]


def read_fields(octets: bytes, position: int, end: int) -> Table:
    """Return the table of the fields between two offsets, over which the guard has walked."""
    table = Table()
    types = table.types
    while position < end:
        key_end = position + 1 + octets[position]
        key = octets[position + 1 : key_end].decode()
        letter, value, position = _read_value(octets, key_end)
        if key not in table:
            table[key] = value
            types[key] = letter
    return table


def _read_items(octets: bytes, position: int, end: int) -> Array:
    array = Array()
    letters = []
    while position < end:
        letter, value, position = _read_value(octets, position)
        array.append(value)
        letters.append(letter)
    array.types = "".join(letters)
    return array


def _read_value(octets: bytes, position: int) -> tuple[str, Any, int]:
    code = octets[position]
    if code not in (_TABLE, _ARRAY):
        return decode_scalar(octets, position)
    start = position + 5
    end = start + int.from_bytes(octets[position + 1 : start])
    if code == _TABLE:
        return "F", read_fields(octets, start, end), end
    return "A", _read_items(octets, start, end), end


def _encode_fields(mapping: Mapping[str, Any], depth: int) -> bytes:
    types = mapping.types if isinstance(mapping, Table) else {}
    pairs = []
    for key, value in mapping.items():
        name = key.encode()
        if len(name) > 255:
            raise ValueError(f"field {_shown(key)}: its name has {len(name)} octets, 255 are allowed")
        try:
            pairs.append((name, _encode_value(value, types.get(key), depth)))
        except ValueError as error:
            if depth:
                raise  # the outermost field is told
            raise ValueError(f"field {_shown(key)}: {error}") from None
    return join_table(pairs)


def _shown(key: str) -> str:
    return repr(key if len(key) <= _SHOWN_MAX else f"{key[:_SHOWN_MAX]}...")


def _encode_value(value: Any, remembered: str | None, depth: int) -> bytes:
    if depth > _ENCODE_DEPTH_MAX:
        raise ValueError(f"tables or lists are nested more than {_ENCODE_DEPTH_MAX} deep")
    letter = letter_of(value, remembered)
    if letter == "F":
        octets = _encode_fields(value, depth + 1)
    elif letter == "A":
        letters = value.letters() if isinstance(value, Array) else [None] * len(value)
        items = b"".join([_encode_value(item, kind, depth + 1) for item, kind in zip(value, letters, strict=True)])
        octets = len(items).to_bytes(4) + items
    else:
        octets = encode_scalar(value, letter)
    return letter.encode() + octets
