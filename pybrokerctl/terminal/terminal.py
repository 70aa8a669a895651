"""The other end of a stream: a person's terminal or a pipe, its width, whether it takes colour.

NO_COLOR (no-color.org) and TERM=dumb are honoured here and nowhere else.
"""

import os
import sys
from typing import Final, TextIO

# Below this a table is no table any more.
COLUMNS_MIN: Final = 40


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a person reads, or types into, this stream."""
    return stream is not None and stream.isatty()


def is_dialogue() -> bool:
    """Tell whether questions can be asked: somebody sees them and can answer."""
    return is_terminal(sys.stdin) and is_terminal(sys.stdout)


def is_dumb() -> bool:
    """Tell whether the terminal can do nothing but print."""
    return os.environ.get("TERM", "dumb") in {"", "dumb", "unknown"}


def has_colour(stream: TextIO) -> bool:
    """Tell whether escape sequences may be written to this stream."""
    return is_terminal(stream) and not is_dumb() and not os.environ.get("NO_COLOR")


def has_utf8(stream: TextIO) -> bool:
    """Tell whether lines and dots beyond ASCII can be drawn."""
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def width(stream: TextIO) -> int | None:
    """Return how many columns a terminal has; None for a pipe, which has no end."""
    if not is_terminal(stream):
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return max(COLUMNS_MIN, int(given))
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    # A terminal that does not know is 80 wide, as ever.
    return max(COLUMNS_MIN, columns or 80)


def bold(text: str, stream: TextIO | None = None) -> str:
    """Return text in bold where the stream takes it."""
    return _styled(text, "1", stream or sys.stdout)


def red(text: str, stream: TextIO | None = None) -> str:
    """Return text in bold red where the stream takes it."""
    return _styled(text, "1;31", stream or sys.stdout)


def coloured(text: str, code: str) -> str:
    """Return text in a colour, given as an SGR code, where stdout takes it."""
    return _styled(text, code, sys.stdout)


def complaint(text: str) -> str:
    """Return a text for stderr; the word Error with which it begins stands out where a person sees it."""
    word = "Error"
    return red(word, sys.stderr) + text.removeprefix(word) if text.startswith(word) else text


def wrap(text: str, columns: int, first: str, others: str) -> list[str]:
    """Return the lines of a text in so many columns, the first and the others indented."""
    from textwrap import wrap  # noqa: PLC0415 - people only

    return wrap(text.expandtabs(), columns, initial_indent=first, subsequent_indent=others, replace_whitespace=False)


def _styled(text: str, code: str, stream: TextIO) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if has_colour(stream) else text
