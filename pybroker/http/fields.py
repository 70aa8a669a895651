"""Fields: members of a body that a route needs, checked, with RabbitMQ's words for what is wrong; values as JSON."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pybroker.http.errors import bad_request

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_FLAGS: Final = {True: True, False: False, "true": True, "false": False}


def required(fields: Mapping[str, Any], *names: str) -> list[Any]:
    """Return the values of members that must be there. Raises HttpError: `[{key_missing,count}]`."""
    missing = [name for name in names if name not in fields]
    if missing:
        raise bad_request(f"[{','.join(f'{{key_missing,{name}}}' for name in missing)}]")
    return [fields[name] for name in names]


def flag(fields: Mapping[str, Any], name: str) -> bool:
    """Return true or false, which may be said as text; false without it. Raises HttpError: `["not_boolean", 5]`."""
    value = fields.get(name, False)
    if not isinstance(value, bool | str) or value not in _FLAGS:
        raise bad_request(["not_boolean", value])
    return _FLAGS[value]


def integer(value: Any) -> int:
    """Return a whole number, which may be said as text. Raises HttpError: `["not_integer", "x"]`."""
    try:
        if isinstance(value, int | str) and not isinstance(value, bool):
            return int(value)
    except ValueError:
        pass
    raise bad_request(["not_integer", value])


def text(value: Any, name: str) -> str:
    """Return a text. Raises HttpError."""
    if not isinstance(value, str):
        raise bad_request(f"{name} is not a text")
    return value


def word(value: Any) -> str:
    """Return a text, or a number as one, as RabbitMQ does. Raises HttpError: `["not_string", ...]`."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise bad_request(["not_string", value])
    return str(value)


def arguments(fields: Mapping[str, Any], name: str = "arguments") -> dict[str, Any]:
    """Return an object of AMQP's values; an empty list is an empty one. Raises HttpError."""
    value = fields.get(name) or {}
    if not isinstance(value, dict):
        raise bad_request(f"{name} is not an object")
    if any(each is None for each in _inside(value)):
        raise bad_request("null_not_allowed")
    return value


def _inside(value: Any) -> Iterator[Any]:
    """Yield all values in a value, however deep."""
    open_ones = [value]
    while open_ones:
        last = open_ones.pop()
        inner = list(last.values()) if isinstance(last, dict) else last
        yield from inner
        open_ones += [each for each in inner if isinstance(each, dict | list)]


def tags(value: Any) -> list[str]:
    """Return tags, a list of texts or one text with commas. Raises HttpError."""
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(each, str) for each in words):
        raise bad_request("tags are neither a list of texts nor one text")
    return [each.strip() for each in words if each.strip()]


def as_json(value: Any) -> str:
    """Return the text of a value, in an answer or for a command that wants JSON."""
    return _encode(value)
