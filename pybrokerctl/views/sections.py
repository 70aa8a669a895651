"""Documents of several parts as text: rabbitmqctl's sections in a pipe, the same closer together on a terminal."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from pybrokerctl.render.pretty_table import width
from pybrokerctl.terminal import terminal

# From this width on, sections stand side by side.
TWO_COLUMNS_MIN: Final = 120
GAP: Final = 4


def show(sections: Mapping[str, Sequence[str]], *, drawn: bool, alarming: Collection[str] = ()) -> Iterator[str]:
    """Yield titles and their lines, `drawn` for a person, who should see `alarming` titles first."""
    columns = terminal.width(sys.stdout)
    if not drawn or columns is None:
        yield "\n".join("\n".join([title, "", *lines, ""]) for title, lines in sections.items())
        return
    sides = 2 if columns >= TWO_COLUMNS_MIN else 1
    room = (columns - 1 - GAP * (sides - 1)) // sides
    blocks = [[title, *_wrapped(lines, room), ""] for title, lines in sections.items()]
    left, right = _halves(blocks) if sides == 2 else (blocks, [])
    first, second = _styled(left, alarming), _styled(right, alarming)
    for index in range(max(len(first), len(second))):
        text, size = first[index] if index < len(first) else ("", 0)
        other = second[index][0] if index < len(second) else ""
        yield (f"{text}{' ' * (room + GAP - size)}{other}" if other else text) + "\n"


def _wrapped(lines: Sequence[str], room: int) -> Iterator[str]:
    for line in lines:
        text = line.strip()
        indent = "  " + " " * (len(line) - len(line.lstrip()))
        yield from terminal.wrap(text, room, indent, f"{indent}  ") or [""]


def _halves(blocks: list[list[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the blocks in two parts of about the same height, in their order."""
    total, height = sum(map(len, blocks)), 0
    for index, block in enumerate(blocks):
        if height + len(block) / 2 > total / 2:
            return blocks[:index], blocks[index:]
        height += len(block)
    return blocks, []


def _styled(blocks: list[list[str]], alarming: Collection[str]) -> list[tuple[str, int]]:
    """Return the lines of blocks, titles in bold, each with the columns it takes."""
    styled = []
    for title, *lines in blocks:
        shown = terminal.red(title) if title in alarming else terminal.bold(title)
        styled += [(shown, width(title)), *((line, width(line)) for line in lines)]
    return styled
