"""why_blocked for people: shortages and remedies, then each connection with the causes that hold it back.

In a pipe the same words stand in lines as long as they come; csv and pretty_table have a row for each cause.
"""

import sys
from collections.abc import Iterator
from typing import Any, Final

from pybrokerctl.render.cell import cell
from pybrokerctl.render.terminal import STATES
from pybrokerctl.terminal import terminal

COLUMNS: Final = ("pid", "name", "user_provided_name", "user", "vhost", "state", "cause", "seconds", "why", "advice")
# Connections that would be blocked are many, and all alike.
LATER_MAX: Final = 10
INDENT: Final = "    "
# How advice goes on, and how what can be typed begins: as control/explain/flow.py and alarm.py write it.
OR: Final = ", or: "
COMMAND: Final = "pybrokerctl "
ALARMS: Final = frozenset({"memory", "disk"})


def view(document: dict[str, Any], args: Any, *, drawn: bool = False) -> Iterator[str]:
    """Yield the text."""
    del args
    width = (terminal.width(sys.stdout) or 0) - 1 if drawn else 0
    yield _text(document["message"], width)
    for notice in document["notices"]:
        yield _text(notice, width)
    for alarm in document["alarms"]:
        # Its figures come with the reason.
        title = cell(f"{alarm['title']} ({alarm['lasting']})")
        yield f"\n{terminal.red(title) if drawn else title}\n" + _reason(alarm, width)
    later = 0
    for one in document["connections"]:
        waits = any(cause["now"] for cause in one["causes"]) or one["state"] != "blocking"
        later += not waits
        if waits or later <= LATER_MAX:
            yield "\n" + _connection(one, width, drawn=drawn)
    untold = document["left_out"] + max(0, later - LATER_MAX)
    if untold:
        more = f"... and {untold:,} more: pybrokerctl list_connections --problems pid name state"
        yield "\n" + _text(more, width)


def rows(document: dict[str, Any]) -> list[list[Any]]:
    """Return a row of COLUMNS for each connection and cause."""
    return [[{**one, **cause}[name] for name in COLUMNS] for one in document["connections"] for cause in one["causes"]]


def _connection(one: dict[str, Any], width: int, *, drawn: bool) -> str:
    """Return a sentence for each cause, and what there is to say of it; alarms have been explained above."""
    called = f" ({one['user_provided_name']})" if one["user_provided_name"] else ""
    who, state = f"{one['pid']} {one['name']}{called}, user {one['user']},", one["state"]
    text = ""
    for cause in one["causes"]:
        sentence = _text(f"{state}: {who} {cause['message']}", width)
        if drawn:
            sentence = terminal.coloured(state, STATES[state][0]) + sentence.removeprefix(state)
        text += sentence + (_reason(cause, width) if cause["cause"] not in ALARMS else "")
    if one["flow_count"] > 1:
        # Stopped for a moment many times a second: how long in all says how much that is.
        text += _text(
            f"in flow {one['flow_count']:,} times until now, {one['flow_time'] / 1000:,.1f} s in all", width, INDENT
        )
    return text


def _reason(one: dict[str, Any], width: int) -> str:
    """Return why, and what to do; a command in a line of its own, which a terminal may be too narrow for."""
    first, *others = one["advice"].split(OR)
    told = _text(one["why"], width, INDENT) + _text(f"to do: {first}", width * (not first.startswith(COMMAND)), INDENT)
    return told + "".join(f"{INDENT}or:    {cell(other)}\n" for other in others)


def _text(text: str, width: int, indent: str = "") -> str:
    """Return a text in lines of a terminal, or as one."""
    if not width:
        return f"{indent}{cell(text)}\n"
    return "".join(f"{line}\n" for line in terminal.wrap(cell(text), width, indent, f"{indent}  "))
