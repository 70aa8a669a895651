"""How wide each column of a table on a terminal is. Pure: texts and a width in, widths out."""

from collections.abc import Sequence
from typing import Final

from pybrokerctl.render.pretty_table import width

GAP: Final = 2
# A column that is folded keeps at least this: narrower, nobody can read it.
FOLDED_MIN: Final = 16
# A header may be folded at its underscores down to this.
HEADER_MIN: Final = 8


def fit(columns: Sequence[str], lines: Sequence[Sequence[str]], available: int) -> list[int] | None:
    """Return the width of each column so that all of them fit; None when that would be unreadable.

    Long headers are folded first, for `messages_unacknowledged` is wider than its numbers; then the widest cells.
    """
    cells = [max(map(width, column), default=0) for column in zip(*lines, strict=True)]
    natural = [max(size, width(name)) for size, name in zip(cells, columns, strict=True)]
    room = available - GAP * (len(columns) - 1)
    if sum(natural) <= room:
        return natural
    narrow = [max(size, len(longest_part(name))) for size, name in zip(cells, columns, strict=True)]
    widths = list(narrow)
    while sum(widths) > room:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= max(FOLDED_MIN, len(longest_part(columns[widest]))):
            return None
        widths[widest] -= 1
    # Give the rest of the room to headers that were folded for nothing.
    for index, size in enumerate(natural):
        if widths[index] == narrow[index] and (more := size - widths[index]) <= room - sum(widths):
            widths[index] += more
    return widths


def longest_part(name: str) -> str:
    """Return the widest line of a header that is folded as far as it may be."""
    return max(fold(name, HEADER_MIN).splitlines(), key=len, default="")


def fold(name: str, columns: int) -> str:
    """Return a header in lines of at most `columns`, broken behind underscores; a longer part stays whole."""
    lines = [""]
    for part in name.replace("_", "_ ").split():
        if lines[-1] and len(lines[-1]) + len(part) > columns:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
