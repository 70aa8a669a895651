"""Fields of a definitions document: single members, checked and read into plain values.

Knows JSON values only; which members an item has is `document.py`'s.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from pybroker.wire.table import Array, Table

# Names are shortstrs (AMQP §4.2.5.3).
NAME_OCTETS_MAX: Final = 255
# Depth to which an argument may be nested; peers' tables are limited likewise (wire/validate.py).
DEPTH_MAX: Final = 32


CONTAINERS: Final = (dict, list)
_plain: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Fault(ValueError):
    """A fault of a document; the text is a sentence."""


def text(item: Mapping[str, Any], name: str) -> str:
    """Return a text. Raises Fault."""
    value = item.get(name)
    if value is None:
        raise Fault(f"it has no {name}")
    if not isinstance(value, str):
        raise Fault(f"its {name} is not a text but {shown(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Fault(f"its {name} has an unpaired surrogate: {shown(value)}") from None
    return value


def short_text(item: Mapping[str, Any], name: str) -> str:
    """Return a text that fits where AMQP has a name. Raises Fault."""
    value = text(item, name)
    octets = len(value.encode())
    if octets > NAME_OCTETS_MAX:
        raise Fault(f"its {name} has {octets} octets; the maximum is {NAME_OCTETS_MAX}")
    return value


def optional_text(item: Mapping[str, Any], name: str) -> str | None:
    """Return a text; None for none, and for what Erlang calls undefined. Raises Fault."""
    return None if item.get(name) in (None, "undefined") else text(item, name)


def flag(item: Mapping[str, Any], name: str, default: bool) -> bool:
    """Return true or false. Raises Fault."""
    value = item.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise Fault(f"its {name} is neither true nor false but {shown(value)}")
    return value


def pairs(item: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return an object, which Erlang may have written as a list of pairs; None for none. Raises Fault."""
    value = item.get(name)
    if value is None:
        return None
    if is_pairs(value):
        value = dict(value)
    if not isinstance(value, dict):
        raise Fault(f"its {name} is not an object but {shown(value)}")
    return value


def is_pairs(value: Any) -> bool:
    """Tell whether a value is a list of pairs of a text and something."""
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in value
    )


def anything(item: Mapping[str, Any], name: str) -> Any:
    """Return any value. Raises Fault: there is none."""
    value = item.get(name)
    if value is None:
        raise Fault(f"it has no {name}")
    return value


def secret(item: Mapping[str, Any], name: str) -> str:
    """Return a text that no sentence may hold. Raises Fault."""
    try:
        return text(item, name)
    except Fault:
        raise Fault(f"its {name} is not a text") from None


def check_depth(item: Mapping[str, Any]) -> None:
    """Refuse members that are nested too deep to be walked over. Raises Fault."""
    for name, value in item.items():
        if not isinstance(value, CONTAINERS):
            continue
        level = [value]
        for _ in range(DEPTH_MAX):
            level = [inner for each in level if isinstance(each, CONTAINERS) for inner in _inside(each)]
            if not level:
                break
        else:
            raise Fault(f"it is nested too deep in {shown(name)}")


def check_characters(item: Mapping[str, Any]) -> None:
    """Refuse what no file could hold, wherever it stands: half a character, infinity. Raises Fault."""
    try:
        _plain(item).encode()
    except UnicodeEncodeError as error:
        raise Fault(f"it has an unpaired surrogate: {shown(error.object[error.start])}") from None
    except ValueError:
        raise Fault("it has a number that is too large") from None


def _inside(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def tags(value: Any) -> list[str]:
    """Return tags, which may be one text with commas, blanks around them taken off. Raises Fault."""
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise Fault(f"its tags are neither a list of texts nor one text but {shown(value)}")
    return [word for each in words if (word := each.strip())]


def as_table(value: Mapping[str, Any], depth: int = 0) -> Table:
    """Return JSON as an AMQP field table: whole numbers are `long`, others `double` (rabbit_misc:to_amqp_table).

    Raises Fault.
    """
    table = Table()
    for key, each in value.items():
        table[key], table.types[key] = _typed(each, depth)
    return table


def _typed(value: Any, depth: int) -> tuple[Any, str]:
    if depth > DEPTH_MAX:
        raise Fault("its arguments are nested too deep")
    match value:
        case bool():
            return value, "t"
        case int():
            if not -(1 << 63) <= value < 1 << 63:
                raise Fault(f"its arguments have a number of more than 64 bits: {shown(value)}")
            return value, "l"
        case float():
            return value, "d"
        case str():
            return value, "S"
        case list():
            items = [_typed(each, depth + 1) for each in value]
            return Array([each for each, _ in items], "".join(letter for _, letter in items)), "A"
        case dict():
            return as_table(value, depth + 1), "F"
    raise Fault("its arguments have a null, which RabbitMQ does not allow either")


def canonical(value: Any) -> str:
    """Return one text for equal JSON values: 1 is not 1.0 nor true, the order of members does not count."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def shown(value: Any) -> str:
    """Return a value as a sentence can hold it."""
    whole = json.dumps(value, default=str)
    return whole if len(whole) <= 80 else f"{whole[:77]}..."


def as_json(value: Any) -> Any:
    """Return an argument as RabbitMQ's JSON has it (rabbit_misc:amqp_value); a reader finds no types in it."""
    match value:
        case Mapping():
            return {str(key): as_json(each) for key, each in value.items()}
        case list() | tuple():
            return [as_json(each) for each in value]
        case bytes() | bytearray():
            return value.decode(errors="replace")
        case datetime():
            return int(value.timestamp())
        case Decimal():
            return float(value)
        case float() if not isfinite(value):
            return str(value)
        case None:
            return "undefined"
    return value
