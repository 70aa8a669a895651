"""One value as the text of a cell, in rabbitmqctl's form: lists `[a, b]`, maps `#{k => v}`, AMQP tables as Erlang.

Scripts search `[{"connection_name","NAME"}]` in client_properties, so the Erlang term is to the letter (io_lib's ~p).
"""

from collections.abc import Sequence
from typing import Any, Final

_C_ESCAPES: Final = {
    code: {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r"}.get(code, f"\\{code:03o}")
    for code in [*range(32), *range(127, 160)]
}
# A text of several lines keeps them.
_LINE_ESCAPES: Final = {code: escape for code, escape in _C_ESCAPES.items() if code not in {9, 10}}
_TERM_ESCAPES: Final = {**_C_ESCAPES, 27: r"\e", 34: r"\"", 92: r"\\"}


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
    """Return a text of several lines as a terminal may show it: what else would steer the terminal, as in a cell."""
    return text.translate(_LINE_ESCAPES)


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
