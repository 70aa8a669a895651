"""How RabbitMQ's reply texts name things: resources, field types, values. Clients compare these texts.

Owns the words only; `argument_values.py` and `exchange_declare.py` have the checks and their order.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pybroker.wire.erlang import printed_binary, printed_string
from pybroker.wire.table import Array, Table
from pybroker.wire.value import FIELD_TYPES


def describe(kind: str, name: str, vhost_name: str) -> str:
    """Return `queue 'q' in vhost '/'` (rabbit_misc:rs/1)."""
    return f"{kind} '{name}' in vhost '{vhost_name}'"


def field_type(arguments: Table, key: str) -> str:
    """Return RabbitMQ's name of the type of `arguments[key]`. Raises KeyError."""
    return FIELD_TYPES[arguments.type_of(key)]


def printed(value: Any) -> str:
    """Return a field's value as Erlang's `~p` prints it."""
    match value:
        case None:
            return "undefined"
        case bool():
            return "true" if value else "false"
        case str():
            return printed_binary(value.encode())
        case bytes() | bytearray():
            return printed_binary(bytes(value))
        case datetime():
            return str(int(value.timestamp()))
        case Array():
            types = (FIELD_TYPES[letter] for letter in value.letters())
            return "[" + ",".join(f"{{{kind},{printed(item)}}}" for kind, item in zip(types, value, strict=True)) + "]"
        case list():
            return printed(Array(value))
        case Table():
            fields = (f"{{{printed(key)},{field_type(value, key)},{printed(item)}}}" for key, item in value.items())
            return "[" + ",".join(fields) + "]"
        case Mapping():
            return printed(Table(value))
    return str(value)


def printed_json(value: Any) -> str:
    """Return a value that came as JSON as Erlang's `~p` prints it; a tuple is one there."""
    match value:
        case None:
            return "null"
        case dict():
            fields = (f"{printed(key)} => {printed_json(item)}" for key, item in sorted(value.items()))
            return "#{" + ",".join(fields) + "}"
        case list():
            # A list of small numbers is what Erlang takes for text.
            if value and all(type(item) is int and 0 <= item < 256 for item in value):
                return printed_string(bytes(value))
            return "[" + ",".join(map(printed_json, value)) + "]"
        case tuple():
            return "{" + ",".join(map(printed_json, value)) + "}"
    return printed(value)


def printed_text(text: str) -> str:
    """Return a text made by rabbit_misc:format as Erlang's `~p` prints it: in quotes."""
    return printed_string(text.encode())


def quoted(value: Any) -> str:
    """Return a value as it stands in `received 'x' but current is 'y'`: strings as they are, all else as printed."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode(errors="replace")
    return printed(value)
