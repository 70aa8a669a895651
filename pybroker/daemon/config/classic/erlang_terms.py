"""Erlang terms of RabbitMQ's classic configuration files: one term and a dot, read strictly.

Lists, tuples, atoms, numbers, strings and binaries; no variables, maps, functions or characters (`$a`). A hostile file
costs no more than its length: reading does not recurse, and nothing is deeper than `DEPTH_MAX`. `classic_config.py`
knows what a term means.
"""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple, Union

from pybroker.daemon.config.classic.erlang_tokens import TermsError, Tokens

# RabbitMQ's deepest settings (of LDAP queries) have about a dozen.
DEPTH_MAX: Final = 64
# A number of this length is no setting, and Python's conversion of long ones is slow.
DIGITS_MAX: Final = 100

_CLOSING: Final = {"[": "]", "{": "}"}
_BARE_ATOM: Final = re.compile(r"[a-z][A-Za-z0-9_@]*")


@dataclass(frozen=True, slots=True)
class Atom:
    """A word: `rabbit`, `'PLAIN'`."""

    name: str


Value = Union[Atom, str, bytes, int, float, list["Term"], tuple["Term", ...]]  # noqa: UP007 - Term is not known yet


@dataclass(frozen=True, slots=True)
class Term:
    """A value, and where it begins; a str is Erlang's string, bytes a binary."""

    value: Value
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """Return the term as Erlang writes it."""
        match self.value:
            case list():
                return f"[{','.join(map(str, self.value))}]"
            case tuple():
                return f"{{{','.join(map(str, self.value))}}}"
            case Atom():
                name = self.value.name
                return name if _BARE_ATOM.fullmatch(name) else _written(name, "'")
            case str():
                return _written(self.value, '"')
            case bytes():
                return _written_binary(self.value)
            case float():
                mantissa, e, exponent = repr(self.value).partition("e")
                return f"{mantissa}{'' if '.' in mantissa else '.0'}{e}{exponent}"
            case int():
                return str(self.value)


def read_term(octets: bytes) -> Term:
    """Return the one term of a file.

    Raises:
        TermsError: naming what was expected and what was found.

    """
    try:
        text = octets.decode()
    except UnicodeDecodeError as error:
        before = octets[: error.start].decode()
        column = len(before) - (before.rfind("\n") + 1) + 1
        raise TermsError(before.count("\n") + 1, column, "not valid UTF-8") from None
    tokens = Tokens(text)
    term = _read(tokens)
    if tokens.text != ".":
        tokens.fail("'.' at the end of the term")
    tokens.advance()
    if tokens.kind != "end":
        tokens.fail("nothing after the final '.'")
    return term


class _Open(NamedTuple):
    """A list or tuple whose end is not read yet."""

    mark: str
    items: list[Term]
    at: int


def _read(tokens: Tokens) -> Term:
    """Return the term that begins with the present token; the one behind it is the present one then."""
    around: list[_Open] = []
    expected = "a term"
    while True:
        at, opening = tokens.at, tokens.text
        if tokens.kind == "mark" and opening in _CLOSING:
            if len(around) == DEPTH_MAX:
                tokens.fail(f"at most {DEPTH_MAX} nested lists and tuples")
            tokens.advance()
            around.append(_Open(opening, [], at))
            if tokens.text != _CLOSING[opening]:
                expected = f"a term or '{_CLOSING[opening]}'"
                continue
        else:
            term = Term(_scalar(tokens, expected), *tokens.place(at))
            if not around:
                return term
            around[-1].items.append(term)
        while tokens.text == _CLOSING[around[-1].mark]:
            opening, items, at = around.pop()
            term = Term(items if opening == "[" else tuple(items), *tokens.place(at))
            tokens.advance()
            if not around:
                return term
            around[-1].items.append(term)
        if tokens.text != ",":
            tokens.fail(f"',' or '{_CLOSING[around[-1].mark]}'")
        tokens.advance()
        expected = "a term after ','"


def _scalar(tokens: Tokens, expected: str) -> Value:
    """Return what is neither a list nor a tuple, and go on."""
    value: Value
    match tokens.kind:
        case "string":
            return _string(tokens)
        case "mark" if tokens.text == "<<":
            return _binary(tokens)
        case "atom":
            value = Atom(tokens.text)
        case "quoted":
            value = Atom(tokens.unescaped())
        case "integer" | "based":
            value = _integer(tokens)
        case "float":
            _check_length(tokens)
            value = float(tokens.text)
            if value in {float("inf"), float("-inf")}:
                tokens.fail("a number that is not too large")
        case _:
            tokens.fail(expected)
    tokens.advance()
    return value


def _integer(tokens: Tokens) -> int:
    _check_length(tokens)
    base, _, digits = tokens.text.rpartition("#")
    if not base:
        return int(digits)
    try:
        # int takes base 0 for something else.
        value = int(digits, abs(int(base)) or 1)
    except ValueError:
        tokens.fail("digits of a base from 2 to 36")
    return -value if base.startswith("-") else value


def _check_length(tokens: Tokens) -> None:
    if len(tokens.text) > DIGITS_MAX:
        tokens.fail(f"a number of at most {DIGITS_MAX} digits")


def _string(tokens: Tokens) -> str:
    """Return strings that follow each other as one, as Erlang does."""
    parts = []
    while tokens.kind == "string":
        parts.append(tokens.unescaped())
        tokens.advance()
    return "".join(parts)


def _binary(tokens: Tokens) -> bytes:
    """Return a binary of strings and octets."""
    tokens.advance()
    octets = bytearray()
    while tokens.text != ">>":
        octets += _segment(tokens)
        if tokens.text == ",":
            tokens.advance()
            if tokens.text == ">>":
                tokens.fail("a string or an octet after ','")
        elif tokens.text != ">>":
            tokens.fail("',' or '>>'")
    tokens.advance()
    return bytes(octets)


def _segment(tokens: Tokens) -> bytes:
    if tokens.kind in {"integer", "based"} and 0 <= (octet := _integer(tokens)) < 256:
        tokens.advance()
        return bytes([octet])
    if tokens.kind != "string":
        tokens.fail("a string or an octet from 0 to 255")
    place, text = tokens.place(tokens.at), _string(tokens)
    if tokens.text == "/":
        tokens.advance()
        if tokens.text != "utf8":
            tokens.fail("utf8 after '/'")
        tokens.advance()
        return text.encode()
    if not text.isascii():
        # Erlang would cut each character down to an octet, which is not what anybody means.
        raise TermsError(*place, 'expected <<"..."/utf8>> around what is not ASCII')
    return text.encode()


def _written(text: str, quote: str) -> str:
    def escaped(character: str) -> str:
        if character in {quote, "\\"}:
            return f"\\{character}"
        return character if character.isprintable() else f"\\x{{{ord(character):x}}}"

    return f"{quote}{''.join(map(escaped, text))}{quote}"


def _written_binary(octets: bytes) -> str:
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        return f"<<{','.join(map(str, octets))}>>"
    if not text:
        return "<<>>"
    quoted = _written(text, '"')
    return f"<<{quoted}>>" if text.isascii() else f"<<{quoted}/utf8>>"
