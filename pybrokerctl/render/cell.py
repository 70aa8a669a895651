"""One value as the text of a cell, in rabbitmqctl's form: lists `[a, b]`, maps `#{k => v}`, AMQP tables as Erlang.

Scripts search `[{"connection_name","NAME"}]` in client_properties, so the Erlang term is to the letter (io_lib's ~p).
"""

from collections.abc import Sequence
from typing import Any, Final
from unicodedata import category

# Categories of Unicode that show nothing but change how the rest is shown: what turns its direction or hides
# (U+202E, U+2066, U+200B, ...), and what breaks lines (U+2028, U+2029).
_STEERING: Final = frozenset({"Cf", "Zl", "Zp"})


class _Escapes(dict[int, str]):
    """A table for `str.translate` that learns what is beyond Latin-1 as it is met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = escape = _escape(code) if category(character) in _STEERING else character
        return escape


class _JsonEscapes(_Escapes):
    def __missing__(self, code: int) -> str:
        super().__missing__(code)
        if category(chr(code)) in _STEERING and code >= 1 << 16:
            high, low = divmod(code - (1 << 16), 1 << 10)
            self[code] = f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
        return self[code]


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


_C_ESCAPES: Final = _Escapes(
    {
        code: {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r"}.get(code, f"\\{code:03o}")
        for code in [*range(32), *range(127, 160)]
    }
)
# A text of several lines keeps them.
_LINE_ESCAPES: Final = _Escapes({code: escape for code, escape in _C_ESCAPES.items() if code not in {9, 10}})
_TERM_ESCAPES: Final = _Escapes({**_C_ESCAPES, 27: r"\e", 34: r"\"", 92: r"\\"})
# Drawn text has escape sequences of its own.
_DRAWN_ESCAPES: Final = _Escapes({code: f"\\{code:03o}" for code in range(128, 160)})
_JSON_ESCAPES: Final = _JsonEscapes({code: f"\\u{code:04x}" for code in range(127, 160)})


def cell(value: Any, *, table: bool = False) -> str:
    """Return the text of one cell. `table`: the value is an AMQP table's triples."""
    if isinstance(value, str):
        # Differs from RabbitMQ: it prints names as they are, though a tab breaks the row and an escape the terminal.
        return value if value.isprintable() else value.translate(_C_ESCAPES)
    if type(value) is int:
        # Most of what is listed; a boolean is an int, too, but not of that type.
        return str(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if table:
        return table_term(value)
    if isinstance(value, list):
        return f"[{', '.join(map(cell, value))}]"
    if isinstance(value, dict):
        return f"#{{{', '.join(f'{cell(key)} => {cell(one)}' for key, one in value.items())}}}"
    return str(value)


def lines(text: str) -> str:
    """Return a text of several lines as a terminal may show it, other control characters escaped as in a cell."""
    return text.translate(_LINE_ESCAPES)


def drawn(text: str) -> str:
    """Return a text that was drawn for a terminal without what turns, hides or breaks it, whatever made it."""
    return text if text.isascii() else text.translate(_DRAWN_ESCAPES)


def json_escaped(text: str) -> str:
    """Return a JSON text that means the same, with escapes for what would steer a terminal or break lines."""
    return text.translate(_JSON_ESCAPES)


def table_term(triples: Sequence[Sequence[Any]]) -> str:
    """Return an AMQP table as the Erlang term rabbitmqctl prints: `[{"key","value"},{"n",5}]`."""
    return f"[{','.join(f'{{{_string(key)},{_term(kind, value)}}}' for key, kind, value in triples)}]"


def _term(kind: str, value: Any) -> str:
    match kind:
        case "table":
            return table_term(value)
        case "array":
            return f"[{','.join(_term(one_kind, one) for one_kind, one in value)}]"
        case "longstr":
            return _string(value)
        case "void":
            return "undefined"
        case "binary":
            return f"<<{_string(value)}>>" if value else "<<>>"
    return cell(value)


def _string(text: str) -> str:
    # Erlang's strings are lists, and it prints the empty one as such.
    return f'"{text.translate(_TERM_ESCAPES)}"' if text else "[]"
