"""--watch: an answer again and again, over one connection: in place on a terminal, one below the other in a pipe."""

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pybrokerctl import exit_codes, response
from pybrokerctl.terminal import terminal
from pybrokerctl.terminal.screen import Screen

if TYPE_CHECKING:
    from pybrokerctl.call import Call
    from pybrokerctl.client import Connection

# Title and blank line above the answer.
HEAD_LINES = 2


def watch(call: "Call", args: Any, connection: "Connection", given: Mapping[str, Any]) -> int:
    """Show the answer until somebody says q; return the exit code. Raises what the first failing answer raises."""
    if not terminal.is_terminal(sys.stdout) or terminal.is_dumb():
        _repeat(call, args, connection, given)
    with Screen() as screen:
        offset = 0
        while True:
            connection.restart_clock()
            lines = "".join(response.texts(call, args, connection, given)).splitlines()
            due_s = time.monotonic() + _interval_s(call)
            key: str | None = ""
            while key is not None:
                offset = moved(offset, key, len(lines), screen.size[1] - HEAD_LINES)
                screen.draw(page(title(call, connection.node, screen.size[0]), lines, offset, screen.size[1]))
                key = screen.key(due_s - time.monotonic())
                if key in {"q", "Q"}:
                    return exit_codes.OK
                if key in {" ", "resized"}:
                    break


def _repeat(call: "Call", args: Any, connection: "Connection", given: Mapping[str, Any]) -> None:
    """Write the answer again and again; Ctrl-C, or a reader who has enough, ends it."""
    between = ""
    while True:
        connection.restart_clock()
        sys.stdout.write(between)
        for text in response.texts(call, args, connection, given):
            sys.stdout.write(text)
        sys.stdout.flush()
        between = "\n"
        time.sleep(_interval_s(call))


def _interval_s(call: "Call") -> float:
    assert call.options.watch_s is not None
    return call.options.watch_s


def title(call: "Call", node: str, columns: int) -> str:
    """Return the line that says what is shown, how often, of whom and when."""
    left = f"Every {_interval_s(call):g} s: {call.command.name}"
    right = f"{node}  {time.strftime('%H:%M:%S')}"
    return terminal.bold(f"{left}{right:>{max(len(right) + 2, columns - len(left) - 1)}}")


def page(head: str, lines: list[str], offset: int, height: int) -> list[str]:
    """Return the lines of a screen of this height; the last one says how many more there are."""
    room = height - HEAD_LINES
    shown = lines[offset : offset + room]
    below = len(lines) - offset - room
    if below > 0:
        shown[-1:] = [terminal.bold(f"{below + 1} more lines; arrow and page keys move, q quits")]
    return [head, "", *shown]


def moved(offset: int, key: str, count: int, room: int) -> int:
    """Return the first line to show after a key, of `count` lines of which `room` are seen."""
    steps = {"up": -1, "down": 1, "page up": 1 - room, "page down": room - 1, "home": -count, "end": count}
    return max(0, min(offset + steps.get(key, 0), count - room))
