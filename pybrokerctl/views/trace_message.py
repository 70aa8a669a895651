"""trace_message for people: the events of each message in lines, with the time since its publish.

Messages at work at the same time are told in turn, each under its own heading.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from pybrokerctl.render.cell import cell
from pybrokerctl.terminal import terminal

GREEN, YELLOW, RED = "32", "33", "1;31"
COLOURS: Final = {
    **dict.fromkeys(("acknowledged", "settled", "replied"), GREEN),
    **dict.fromkeys(
        ("requeued", "waiting", "withheld", "connection_withheld", "unsettled", "not_followed", "events_dropped"),
        YELLOW,
    ),
    **dict.fromkeys(
        ("unroutable", "refused", "pause_refused", "not_stored", "rolled_back", "not_taken", "cancelled"), RED
    ),
    **dict.fromkeys(("rejected", "expired", "maxlen", "delivery_limit", "dead_letter_dropped"), RED),
    **dict.fromkeys(("purged", "deleted", "unreadable"), RED),
}
# `  +  0.000 s  `
INDENT: Final = " " * 15


def lines(batches: Iterable[Sequence[dict[str, Any]]], *, drawn: bool = False) -> Iterator[str]:
    """Yield the text of events as they come. `drawn`: for a person at a terminal."""
    width = (terminal.width(sys.stdout) or 0) - 1 if drawn else 0
    shown, known = 0, set[int]()
    for batch in batches:
        text = ""
        for event in batch:
            number = event.get("message", 0)
            if number and number != shown:
                heading = f"message {number}" + (", continued" if number in known else "")
                text += ("\n" if shown else "") + (terminal.bold(heading) if drawn else heading) + "\n"
                known.add(number)
            shown = number or shown
            text += _line(event, width, drawn=drawn)
        yield text


def _line(event: dict[str, Any], width: int, *, drawn: bool) -> str:
    told = cell(event["text"])
    head = f"  {event['after_ms'] / 1000:+9.3f} s  " if "after_ms" in event else ""
    told = "\n".join(terminal.wrap(told, width, head, INDENT)) if width else head + told
    colour = COLOURS.get(event["event"])
    return (terminal.coloured(told, colour) if drawn and colour else told) + "\n"
