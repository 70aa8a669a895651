"""The control protocol on the wire: one JSON value a line, both ways (pybroker-control(7)).

The daemon greets with an object; each request is an object, `{"command": ..., "args": {...}}`; its answer is a header
object, then rows (arrays), then an object with `end` or `error`. `nc -U` is a debugger for it. This file makes and
reads lines and knows what an AMQP value looks like in JSON; it knows no command.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

PROTOCOL: Final = 1
# The line about a command that says nothing for long, to programs that call for others.
GOES_ON: Final = {"goes_on": True}
# The longest sensible request is a user with a few hundred tags; this leaves room for importing by hand.
REQUEST_OCTETS_MAX: Final = 1_048_576
# A whole document that is sent behind a request, in lines: RabbitMQ's limit for definitions.
DOCUMENT_OCTETS_MAX: Final = 20_000_000

# Of a line of items, about: the node reads a line in one go, some milliseconds.
LINE_OCTETS: Final = 32_768
# Versions first: how old hashes are read depends on them.
FIRST_SECTIONS: Final = ("rabbit_version", "rabbitmq_version")

# The names RabbitMQ shows for the types of its dialect (rabbit_binary_parser.erl).
TYPE_NAMES: Final = {
    "S": "longstr",
    "I": "signedint",
    "l": "long",
    "L": "long",
    "b": "byte",
    "B": "unsignedbyte",
    "U": "short",
    "s": "short",
    "u": "unsignedshort",
    "i": "unsignedint",
    "d": "double",
    "f": "float",
    "D": "decimal",
    "F": "table",
    "A": "array",
    "t": "bool",
    "x": "binary",
    "V": "void",
    "T": "timestamp",
}


class Request(NamedTuple):
    """A caller's request: a command, its arguments by name, and whether it wants reports of progress.

    `held` is the node's answer about the files that it holds still, for a command that works offline. `session` is the
    handle of a user who logged in over HTTP; pybrokerctl has none.
    """

    command: str
    args: dict[str, Any]
    progress: bool = False
    held: dict[str, Any] | None = None
    session: str | None = None


class BadLine(ValueError):
    """A line that is not one JSON value, or not the one that belongs here."""


def encode(value: Any) -> bytes:
    """Return one line. Keys and arrays as given; all of it ASCII, so no name can break the line or the terminal."""
    return _encode(value).encode() + b"\n"


def encode_lines(values: Iterable[Any]) -> bytes:
    """Return a line each, for less than `encode` one by one: at least one value."""
    return ("\n".join(map(_encode, values)) + "\n").encode()


def decode_lines(octets: bytes) -> list[Any]:
    """Return the values of whole lines, for less than `decode` one by one. Raises BadLine."""
    lines = octets.splitlines()
    values: list[Any] = decode(b"[%b]" % b",".join(lines))
    if len(values) != len(lines):
        # No line is half a value, none is two.
        raise BadLine("a line is not one JSON value")
    return values


def decode(line: bytes) -> Any:
    """Return the value of one line. Raises BadLine."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(str(error)) from error


def decode_request(line: bytes) -> Request:
    """Return what is asked for. Raises BadLine."""
    request = decode(line)
    if not isinstance(request, dict) or not isinstance(request.get("command"), str):
        raise BadLine('a request is an object: {"command": NAME, "args": {...}}')
    args = request.get("args", {})
    if not isinstance(args, dict):
        raise BadLine('"args" is an object')
    held, session = request.get("held"), request.get("session")
    if not isinstance(session, str | None):
        raise BadLine('"session" is text')
    is_held = isinstance(held, dict)
    return Request(request["command"], args, request.get("progress") is True, held if is_held else None, session)


def encode_request(
    command: str,
    args: Mapping[str, Any],
    *,
    progress: bool = False,
    held: Mapping[str, Any] | None = None,
    session: str | None = None,
) -> bytes:
    """Return the line that asks for `command`, and to be told meanwhile how far its work is."""
    more: dict[str, Any] = {"progress": True} if progress else {}
    more |= {name: value for name, value in (("held", held), ("session", session)) if value is not None}
    return encode({"command": command, "args": args, **more})


def document_lines(document: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield a definitions document as lines of some items of a section each. Raises BadLine: an item is too long."""
    for name in sorted(document, key=lambda name: (name not in FIRST_SECTIONS, name)):
        items = document[name]
        if isinstance(items, list):
            for chunk in _chunks(items):
                yield b"[%b,[%b]]\n" % (_section(name), b",".join(chunk))
        else:
            # The node says what is wrong with a section that is no list; of others it wants no more than a version.
            short = {} if isinstance(items, dict) else items[:80] if isinstance(items, str) else items
            yield b"[%b,%b]\n" % (_section(name), _section(short))


def _chunks(items: list[Any]) -> Iterator[list[bytes]]:
    """Yield the items in lists that make lines of about LINE_OCTETS; at least one list."""
    chunk: list[bytes] = []
    octets = 0
    for item in items:
        encoded = _section(item)
        if len(encoded) > REQUEST_OCTETS_MAX // 2:
            raise BadLine(f"an item has {len(encoded)} octets; the maximum is {REQUEST_OCTETS_MAX // 2}")
        if chunk and octets + len(encoded) > LINE_OCTETS:
            yield chunk
            chunk, octets = [], 0
        chunk.append(encoded)
        octets += len(encoded)
    yield chunk


def _section(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # Half a character, which the node will refuse.
        return json.dumps(value, separators=(",", ":")).encode()


def table_triples(table: Mapping[str, Any]) -> list[list[Any]]:
    """Return an AMQP field table as RabbitMQ's JSON shows it: `[key, type, value]` each, types by name."""
    types: Mapping[str, str] = getattr(table, "types", {})
    triples = []
    for key, value in table.items():
        name, shown = _typed(value)
        triples.append([key, TYPE_NAMES.get(types.get(key, ""), name), shown])
    return triples


def _typed(value: Any) -> tuple[str, Any]:
    match value:
        case None:
            return "void", None
        case bool():
            return "bool", value
        case int():
            return ("signedint" if -(2**31) <= value < 2**31 else "long"), value
        case str():
            return "longstr", value
        case float():
            # JSON has no NaN and no infinity.
            return "double", value if value - value == 0 else str(value)
        case list() | tuple():
            return "array", [list(_typed(one)) for one in value]
        case Mapping():
            return "table", table_triples(value)
    return ("binary" if isinstance(value, bytes | bytearray) else "timestamp"), plain(value)


def plain(value: Any) -> Any:
    """Return what JSON shows for a value it does not know: octets as text, times in seconds, sets as lists."""
    if isinstance(value, bytes | bytearray):
        return value.decode(errors="backslashreplace")
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    timestamp = getattr(value, "timestamp", None)
    if timestamp is not None:
        return int(timestamp())
    return str(value)


# Bound once: json.dumps makes an encoder a call as soon as it is given an option, twice the cost of a row.
_encode: Final = json.JSONEncoder(separators=(",", ":"), default=plain).encode
