"""Erlang terms as RabbitMQ prints them (`~p`, `~w`): they are part of reply texts, which clients and operators compare.

It knows octets and how Erlang quotes them, and nothing of frames.

# Differs from RabbitMQ: a term stays on one line. `~p` breaks it at column 80, so RabbitMQ's longer reply texts have
# line feeds and indentation in the middle.
"""

from typing import Final

# io_lib's escapes; the other characters it takes for printable stand for themselves.
_ESCAPES: Final = {8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 27: "\\e", 34: '\\"', 92: "\\\\"}


def _quoted(octets: bytes) -> str | None:
    """Return `octets` as a quoted Latin-1 string, None when Erlang would list them as numbers."""
    if not all(octet in _ESCAPES or 32 <= octet < 127 or octet >= 160 for octet in octets):
        return None
    return '"' + "".join(_ESCAPES.get(octet) or chr(octet) for octet in octets) + '"'


def written_binary(octets: bytes) -> str:
    """Return a binary as `~w` writes it: `<<1,2,3>>`."""
    return f"<<{','.join(map(str, octets))}>>"


def printed_binary(octets: bytes) -> str:
    """Return a binary as `~p` prints it: `<<"text">>` when printable, else `<<1,2,3>>`."""
    quoted = _quoted(octets) if octets else None
    return written_binary(octets) if quoted is None else f"<<{quoted}>>"


def printed_string(octets: bytes) -> str:
    """Return a list of characters as `~p` prints it: `"text"` when printable, else `[1,2,3]`; `[]` when empty."""
    quoted = _quoted(octets) if octets else None
    return f"[{','.join(map(str, octets))}]" if quoted is None else quoted
