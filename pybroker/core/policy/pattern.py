r"""NamePattern: the regular expression of a policy, searched for anywhere in a name, by RE2.

RE2 takes time linear in the name's length, whatever the pattern. It has no look-around; the use of RabbitMQ's guides,
`^(?!amq\.).*`, is understood all the same: conditions at the very beginning are patterns of their own.
"""

from typing import Final

import re2

PATTERN_CHARS_MAX: Final = 1_000

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False  # it would write to stderr; the fault is reported to the caller

_NOT, _AND = "(?!", "(?="


class PatternError(ValueError):
    """A pattern that cannot be compiled; the text says why."""


class NamePattern:
    """One compiled pattern, and its text as it was set. Raises PatternError."""

    __slots__ = ("_conditions", "_search", "text")

    def __init__(self, text: str) -> None:
        if len(text) > PATTERN_CHARS_MAX:
            reason = f"a pattern may have at most {PATTERN_CHARS_MAX} characters"
            raise PatternError(reason)
        self.text = text
        conditions, rest = _split(text)
        self._conditions = tuple((wanted, _compile(f"^(?:{condition})").search) for wanted, condition in conditions)
        self._search = _compile(rest).search

    def matches(self, name: str) -> bool:
        """Tell whether the pattern is found in `name`. The empty pattern is found everywhere."""
        if self._search(name) is None:
            return False
        return all((search(name) is not None) is wanted for wanted, search in self._conditions)

    def __repr__(self) -> str:
        return f"NamePattern({self.text!r})"


def _compile(text: str) -> "re2._Regexp":
    # Differs from RabbitMQ: RE2 has no back references, and no look-around but what `_split` takes; such a pattern is
    # refused when it is set.
    try:
        return re2.compile(text, _OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else "no reason given"
        if isinstance(reason, bytes):
            reason = reason.decode(errors="replace")
        raise PatternError(str(reason)) from None


def _split(text: str) -> tuple[list[tuple[bool, str]], str]:
    """Return what must (True) or must not (False) be at a name's beginning, and the pattern that is left."""
    conditions: list[tuple[bool, str]] = []
    if not text.startswith("^"):
        return conditions, text
    at = 1
    while text.startswith((_NOT, _AND), at):
        end = _end_of(text, at + len(_NOT), ")")
        if end == len(text) or text[end + 1 : end + 2] in tuple("*+?{"):
            return [], text
        conditions.append((text.startswith(_AND, at), text[at + len(_NOT) : end]))
        at = end + 1
    # Conditions hold for the alternative that they stand in.
    if not conditions or _end_of(text, at, "|") < len(text):
        return [], text
    return conditions, "^" + text[at:]


def _end_of(text: str, at: int, mark: str) -> int:
    """Return where `mark` stands next, outside of groups and classes opened since `at`; the length if nowhere."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char == mark and not depth:
            return at
        if char == "\\":
            at += 1
        elif char == "[":
            # A bracket that closes is a character where it is the first.
            at += 2 if text.startswith("^", at + 1) else 1
            at += 1
            while at < len(text) and text[at] != "]":
                at += 2 if text[at] == "\\" else 1
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        at += 1
    return len(text)
