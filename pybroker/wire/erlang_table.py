"""Field tables as Erlang prints them: `{<<"x-max-length">>,signedint,5}`. RabbitMQ's event exchange shows them so."""

from collections.abc import Mapping
from typing import Any, Final

from pybroker.wire.erlang import printed_binary
from pybroker.wire.table import Array, Table

# RabbitMQ's names of the types (rabbit_binary_parser.erl).
_NAMES: Final = {
    "S": "longstr",
    "I": "signedint",
    "D": "decimal",
    "T": "timestamp",
    "F": "table",
    "A": "array",
    "b": "byte",
    "B": "unsignedbyte",
    "d": "double",
    "f": "float",
    "i": "unsignedint",
    "l": "long",
    "s": "short",
    "t": "bool",
    "u": "unsignedshort",
    "V": "void",
    "x": "binary",
}


def printed_entries(table: Table) -> list[str]:
    """Return each entry as `{<<"key">>,type,value}`."""
    return [_entry(key, table.type_of(key), value) for key, value in table.items()]


def _entry(key: str, letter: str, value: Any) -> str:
    return f"{{{printed_binary(key.encode())},{_NAMES.get(letter, letter)},{_value(value)}}}"


def _value(value: Any) -> str:
    # Tables come from the guard, which allows 32 levels.
    if value is None:
        return "undefined"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return printed_binary(value.encode(errors="surrogateescape"))
    if isinstance(value, bytes):
        return printed_binary(value)
    if isinstance(value, Mapping):
        return f"[{','.join(printed_entries(value if isinstance(value, Table) else Table(value)))}]"
    if isinstance(value, list):
        array = value if isinstance(value, Array) else Array(value)
        pairs = zip(array.letters(), array, strict=True)
        return f"[{','.join(f'{{{_NAMES.get(letter, letter)},{_value(one)}}}' for letter, one in pairs)}]"
    if hasattr(value, "timestamp"):
        return str(int(value.timestamp()))
    return str(value)
