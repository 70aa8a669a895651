"""The board as lines of text: totals and alarms, the list by rich, the keys."""

import sys
from collections.abc import Sequence
from datetime import timedelta
from io import StringIO
from operator import attrgetter
from typing import Any, Final, Literal

from rich import box
from rich.table import Table
from rich.text import Text

from pybrokerctl.render import layout
from pybrokerctl.render.cell import cell
from pybrokerctl.render.pretty_table import width as columns_of
from pybrokerctl.render.terminal import STATES, console
from pybrokerctl.terminal import terminal
from pybrokerctl.top.board import CONNECTIONS, Board, Column, count, octets, rate
from pybrokerctl.top.snapshot import total

# Three lines of totals, a blank one, the header and its rule; the keys.
HEAD_LINES: Final = 6
FOOT_LINES: Final = 1
NUMBER_MIN: Final = 7
NAME_MIN: Final = 8
MAIN_MIN: Final = 20
HELP: Final = """\
  Tab            switch between queues and connections
  left, right    choose the sort column (also < and >)
  r              reverse the order
  /              filter by a text in name, user, virtual host or state;
                 Enter ends the text, Esc clears it
  up, down       scroll the list; also Page Up, Page Down, Home and End
  space          pause; again to continue
  + -            longer or shorter refresh interval
  q              quit

Publishers wait while they are blocked (by an alarm) or in flow (by the cause
shown beside them). 'pybrokerctl why_blocked' explains the cause.

Ready messages wait for delivery; unacked messages are with a consumer. Rates
are per second, over the last refresh interval, or the last minute (1m). The
head of a queue is the message that leaves it next. A wide screen shows more.

Press any key to go back."""


def room(height: int) -> int:
    """Return how many rows of the list a screen of this height shows."""
    return max(1, height - HEAD_LINES - FOOT_LINES)


def draw(board: Board, node: str, width: int, height: int) -> list[str]:
    """Return the lines of the screen."""
    rows = board.rows()
    lines = _rendered(_head(board, node), width)
    if board.helping:
        lines += ["", *_rendered([Text(line) for line in HELP.splitlines()], width)]
    else:
        lines += ["", *_rendered([_list(board, rows, width, room(height))], width)]
    lines = lines[: height - FOOT_LINES]
    lines += [""] * (height - FOOT_LINES - len(lines))
    return lines + _rendered([_foot(board, len(rows), width, height)], width)[:1]


def _head(board: Board, node: str) -> list[Text]:
    """Return three lines: identity and uptime, resources, and rates."""
    if board.latest is None:
        return [Text(f"{node}: {board.note or 'waiting for data'}"), Text(), Text()]
    status = board.latest.status
    totals = status.get("totals", {})
    first = Text(no_wrap=True)
    first.append(node, style="bold")
    first.append(f"  up {timedelta(seconds=status['uptime'])}")
    for name, key in (("connection", "connection_count"), ("queue", "queue_count"), ("vhost", "virtual_host_count")):
        number = totals.get(key, 0)
        first.append(f"  {count(number)} {name if number == 1 else name + 's'}")
    second = Text(no_wrap=True)
    if board.note:
        second.append(board.note, style="bold red")
    elif told := [*(one["message"] for one in status["resource_alarms"]), *status["notices"]]:
        second.append("ALARMS: " + ", ".join(map(cell, told)), style="bold red")
    else:
        second.append("no alarms", style="green")
    limit = status["vm_memory_high_watermark_limit"]
    second.append(f"  memory {octets(status['memory']['total']['used'])}B of {octets(limit)}B")
    files = status["file_descriptors"]
    second.append(f"  files {count(files['total_used'])} of {count(files['total_limit'])}")
    if "disk_free" in status:
        second.append(f"  disk free {octets(status['disk_free'])}B")
    rates = [(name, total(board.queues, attrgetter(name)), rate, "/s") for name in ("publish", "deliver", "ack")]
    rates += [("in", total(board.clients, attrgetter("received")), octets, "B/s")]
    rates += [("out", total(board.clients, attrgetter("sent")), octets, "B/s")]
    third = "  ".join(f"{name} {'-' if one is None else write(one) + unit}" for name, one, write, unit in rates)
    return [first, second, Text(third, no_wrap=True)]


def _list(board: Board, rows: Sequence[Any], width: int, most: int) -> Table:
    """Return the rows from the board's place on, as many as there is room for."""
    columns = board.columns(width)
    lines = box.SIMPLE_HEAD
    if not terminal.has_utf8(sys.stdout):
        lines = box.Box(str(lines).replace("─", "-"), ascii=True)
    table = Table(box=lines, show_edge=False, pad_edge=False, padding=(0, layout.GAP - 1, 0, 0), header_style="bold")
    arrow = ("▼" if board.falling else "▲") if terminal.has_utf8(sys.stdout) else ("v" if board.falling else "^")
    titles = [f"{column.title}{arrow}" if column is board.sort else column.title for column in columns]
    shown = rows[board.offset : board.offset + most]
    texts = [[cell(column.write(column.read(row))) for column in columns] for row in shown]
    for column, title, size in zip(columns, titles, _widths(columns, titles, texts, width), strict=True):
        side: Literal["left", "right"] = "right" if column.numeric else "left"
        style = "reverse" if column is board.sort else ""
        table.add_column(Text(title, style=style), justify=side, width=size, no_wrap=True, overflow="ellipsis")
    for row, line in zip(shown, texts, strict=True):
        styles = (_style(column.title, column.read(row)) for column in columns)
        table.add_row(*(Text(text, style=style) for text, style in zip(line, styles, strict=True)))
    return table


def _widths(columns: Sequence[Column], titles: Sequence[str], texts: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the width of each column: numbers take what they need, names share what is left."""
    needed = [max(map(columns_of, each)) for each in zip(titles, *texts, strict=True)]
    # Columns move less when a number grows a digit.
    sizes = [max(size, NUMBER_MIN) if column.numeric else 0 for column, size in zip(columns, needed, strict=True)]
    left = width - sum(sizes) - layout.GAP * (len(columns) - 1)
    names = [index for index, column in enumerate(columns) if not column.numeric]
    # The shortest first; what they leave belongs to what the list is of.
    names.sort(key=lambda index: (columns[index].title in {"queue", "connection"}, needed[index]))
    *others, main = names
    whole = sum(needed[index] for index in others) <= left - MAIN_MIN
    for rest, index in zip(range(len(names), 1, -1), others, strict=True):
        sizes[index] = max(NAME_MIN, needed[index] if whole else min(needed[index], left // rest))
        left -= sizes[index]
    sizes[main] = max(NAME_MIN, left)
    return sizes


def _style(title: str, value: Any) -> str:
    if title == "state":
        return STATES.get(value, ("", ""))[1]
    return "dim" if value == 0 else ""


def _foot(board: Board, rows: int, width: int, height: int) -> Text:
    foot = Text(no_wrap=True, overflow="crop", style="reverse")
    asking = f" show only: {cell(board.filter)}_   Enter ends, Esc clears"
    foot.append(asking if board.typing else _keys(board, rows, height))
    foot.pad_right(max(0, width - foot.cell_len))
    return foot


def _keys(board: Board, rows: int, height: int) -> str:
    """Return what is seen of how much, how often, and what to press."""
    last = min(rows, board.offset + room(height))
    seen = f" {board.offset + 1 if rows else 0}-{last} of {rows} {board.pane.name}"
    only = f" with '{cell(board.filter)}'" if board.filter else ""
    often = "HELD" if board.paused else f"{board.interval_s:g} s"
    other = "queues" if board.pane is CONNECTIONS else "connections"
    return f"{seen}{only}, {often}   q quit  Tab {other}  <> sort  / filter  h help"


def _rendered(things: list[Any], width: int) -> list[str]:
    out = StringIO()
    pen = console(out, width)
    for thing in things:
        pen.print(thing, overflow="ellipsis", no_wrap=True, crop=True)
    return out.getvalue().splitlines()
