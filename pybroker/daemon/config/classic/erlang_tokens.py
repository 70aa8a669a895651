"""Tokens of Erlang's terms: numbers, atoms, strings and marks, each with its place, without comments and spaces.

`erlang_terms.py` builds terms of them.
"""

import re
from bisect import bisect_right
from typing import Final, NoReturn

_SPACE: Final = re.compile(r"(?:[ \t\r\n\f\v]+|%[^\n]*)*")
_TOKEN: Final = re.compile(
    r"""
    (?P<float>[+-]?[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<based>[+-]?[0-9]{1,2}\#[0-9A-Za-z]+(?:_[0-9A-Za-z]+)*)
    |(?P<integer>[+-]?[0-9]+(?:_[0-9]+)*)
    |(?P<atom>[a-z][A-Za-z0-9_@]*)
    |(?P<quoted>'[^'\\]*(?:\\.[^'\\]*)*')
    |(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")
    |(?P<mark><<|>>|[][{},./])
    |(?P<other>[A-Za-z_][A-Za-z0-9_@]*|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:x\{([0-9A-Fa-f]{1,8})\}|x([0-9A-Fa-f]{2})|([0-7]{1,3})|\^([@-_a-z])|(.))", re.DOTALL)
_ESCAPED: Final = {"b": "\b", "d": "\x7f", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "s": " ", "t": "\t", "v": "\v"}
_NAMELESS: Final = {"end": "the end of the file", "string": "a string", "quoted": "a quoted atom"}


class TermsError(ValueError):
    """The text is no term; the place counts lines and columns from 1."""

    def __init__(self, line: int, column: int, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line
        self.column = column


class Tokens:
    """The token that comes next: `kind`, `text`, and where it begins."""

    __slots__ = ("_all", "_lines", "_next", "at", "kind", "text")

    def __init__(self, text: str) -> None:
        self._all = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._next = 0
        self.at = 0
        self.kind = ""
        self.text = ""
        self.advance()

    def advance(self) -> None:
        """Go on to the next token; its kind is `end` behind the last one."""
        space = _SPACE.match(self._all, self._next)
        self.at = space.end() if space else self._next
        match = _TOKEN.match(self._all, self.at)
        if match is None:
            self.kind, self.text, self._next = "end", "", self.at
            return
        self.kind, self.text, self._next = str(match.lastgroup), match[0], match.end()

    def place(self, at: int) -> tuple[int, int]:
        """Return line and column."""
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def fail(self, expected: str) -> NoReturn:
        """Raise the TermsError for the present token."""
        if self.kind == "other" and self.text in {"'", '"'}:
            raise TermsError(*self.place(self.at), f"unterminated text: missing the closing {self.text}")
        # A quoted text may be a password.
        found = _NAMELESS.get(self.kind) or repr(self.text[:40])
        raise TermsError(*self.place(self.at), f"expected {expected}, found {found}")

    def unescaped(self) -> str:
        """Return what the present quoted atom or string stands for."""

        def character(match: re.Match[str]) -> str:
            long, short, octal, control, plain = match.groups()
            if plain is not None:
                if plain == "x":
                    self.fail(r"\xHH or \x{H...} of hexadecimal digits")
                return _ESCAPED.get(plain, plain)
            if control:
                return chr(ord(control) & 31)
            code = int(octal, 8) if octal else int(long or short, 16)
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                self.fail("a character of Unicode")
            return chr(code)

        return _ESCAPE.sub(character, self.text[1:-1])
