"""Tables for a terminal, drawn by rich, as wide as they need to be, states in colour.

The first page decides the widths and is drawn by rich; the rest streams below it in the same columns, at a hundredth of
the cost, so that 100,000 rows begin at once and end in seconds. If the columns do not fit, a row becomes a block of
lines. Scripts never see any of this: they get `table`.
"""

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, Final, Literal

from pybrokerctl.render import Head, Rows, Value, layout, table
from pybrokerctl.render.cell import cell
from pybrokerctl.render.pretty_table import width
from pybrokerctl.terminal import terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# A screenful, and what follows looks like it: rich takes half a millisecond a row.
PAGE_ROWS: Final = 100
# Colours for the meaning of a state, as SGR codes (ECMA-48) and as rich calls them.
GOOD: Final = ("32", "green")
WARNING: Final = ("33", "yellow")
BAD: Final = ("31", "red")
DIM: Final = ("2", "dim")
PLAIN: Final = ("", "")
STATES: Final = {
    "running": GOOD,
    "idle": DIM,
    "starting": WARNING,
    "tuning": WARNING,
    "opening": WARNING,
    "flow": WARNING,
    "blocking": WARNING,
    "blocked": BAD,
    "closing": WARNING,
    "closed": BAD,
    "down": BAD,
    "stopped": BAD,
}


def rows(head: Head, batches: Iterable[Rows]) -> Iterator[str]:
    """Yield the first page as soon as it is there, then the rest as it comes. Nothing without rows."""
    columns = terminal.width(sys.stdout) or 80
    source = iter(batches)
    page: list[Sequence[Any]] = []
    for batch in source:
        page += batch
        if len(page) >= PAGE_ROWS:
            break
    if not page:
        return
    lines = [_texts(head, row) for row in page]
    # With a column to spare: a full line makes some terminals add an empty one.
    widths = layout.fit(head.columns if head.show else [""] * len(head.columns), lines, columns - 1)
    if widths is None:
        yield from _records(head, page)
        for batch in source:
            yield from _records(head, batch, between=True)
        return
    yield draw(head, page[:PAGE_ROWS], widths, columns)
    numeric = [_is_number(one) for one in page[0]]
    for batch in itertools.chain([page[PAGE_ROWS:]], source):
        if batch:
            yield _rest(head, batch, widths, numeric)


def value(answer: Value, node: str) -> Iterator[str]:
    """Yield what `table` says; a document's keys stand in a column of their own."""
    if not isinstance(answer, dict) or "message" in answer:
        yield from table.value(answer, node)
        return
    names = [str(name) for name in answer]
    size = max(map(width, names), default=0)
    for name, one in zip(names, answer.values(), strict=True):
        yield f"{terminal.bold(name)}{' ' * (size - width(name))}  {cell(one)}\n"


def draw(head: Head, page: Rows, widths: Sequence[int], columns: int) -> str:
    """Return a page of rows as rich draws it."""
    from rich.text import Text  # noqa: PLC0415 - 30 ms, for eyes only

    drawn = _table(head, widths, numeric=[_is_number(one) for one in page[0]])
    for row in page:
        drawn.add_row(
            *(
                Text(text, style=_style(name, one)[1])
                for name, text, one in zip(head.columns, _texts(head, row), row, strict=True)
            )
        )
    out = StringIO()
    console(out, columns).print(drawn)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def console(out: StringIO, columns: int) -> "Console":
    """Return rich's console that writes to `out` what stdout's terminal understands."""
    from rich.console import Console  # noqa: PLC0415 - 30 ms, for eyes only

    colour = terminal.has_colour(sys.stdout)
    return Console(
        file=out,
        width=columns,
        force_terminal=colour,
        # 16 colours, as the person has chosen them.
        color_system="standard" if colour else None,
        markup=False,
        emoji=False,
        highlight=False,
        # NO_COLOR is ours to look at, and COLUMNS too.
        _environ={},
    )


def _table(head: Head, widths: Sequence[int], numeric: Sequence[bool]) -> "Table":
    from rich import box  # noqa: PLC0415 - 30 ms, for eyes only
    from rich.table import Table  # noqa: PLC0415 - likewise

    lines = box.SIMPLE_HEAD
    if not terminal.has_utf8(sys.stdout):
        lines = box.Box(str(lines).replace("─", "-"), ascii=True)
    drawn = Table(
        box=lines,
        show_header=head.show,
        show_edge=False,
        pad_edge=False,
        padding=(0, layout.GAP - 1, 0, 0),
        header_style="bold",
    )
    for name, size, is_number in zip(head.columns, widths, numeric, strict=True):
        side: Literal["left", "right"] = "right" if is_number else "left"
        drawn.add_column(layout.fold(name, size), width=size, justify=side, overflow="fold")
    return drawn


def _rest(head: Head, batch: Rows, widths: Sequence[int], numeric: Sequence[bool]) -> str:
    """Return rows below the first page, in its columns; a text that is longer than those sticks out."""
    colour = terminal.has_colour(sys.stdout)
    out = []
    for row in batch:
        cells = []
        for name, text, one, size, is_number in zip(head.columns, _texts(head, row), row, widths, numeric, strict=True):
            blank = " " * (size - width(text))
            code = _style(name, one)[0] if colour else ""
            shown = f"\x1b[{code}m{text}\x1b[0m" if code else text
            cells.append(blank + shown if is_number else shown + blank)
        out.append((" " * layout.GAP).join(cells).rstrip() + "\n")
    return "".join(out)


def _records(head: Head, batch: Rows, *, between: bool = False) -> Iterator[str]:
    """Yield rows as a block of lines each, for they have more columns than fit beside one another."""
    size = max(map(width, head.columns))
    for row in batch:
        lines = [
            f"{terminal.bold(name)}{' ' * (size - width(name))}  {text}\n"
            for name, text in zip(head.columns, _texts(head, row), strict=True)
        ]
        yield ("\n" if between else "") + "".join(lines)
        between = True


def _texts(head: Head, row: Sequence[Any]) -> list[str]:
    # Blanks in AMQP tables, which go without elsewhere, let long ones be folded between their entries.
    return [
        cell(one, table=True).replace("},{", "}, {") if index in head.tables else cell(one)
        for index, one in enumerate(row)
    ]


def _is_number(one: Any) -> bool:
    return isinstance(one, int | float) and not isinstance(one, bool)


def _style(name: str, one: Any) -> tuple[str, str]:
    """Return the style of a cell: states by their meaning, empty values dimmed."""
    if name == "state":
        return STATES.get(one, PLAIN)
    return DIM if one in (0, False, None, []) else PLAIN
