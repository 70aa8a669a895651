"""trace_message in a pipe and on a terminal."""

import io
import sys

from pybrokerctl.views import lines
from pybrokerctl.views.trace_message import INDENT


def event(number: int, after_ms: int, name: str, text: str) -> dict:
    return {"event": name, "message": number, "after_ms": after_ms, "text": text}


BATCHES = [
    [event(1, 0, "published", "published"), event(1, 5, "stored", "on disk")],
    [],
    [event(2, 0, "published", "published"), event(1, 12_345, "acknowledged", "acknowledged\x1b[2J")],
    [{"event": "ended", "text": "end: time is up"}],
]


def shown(*, drawn=False) -> str:
    return "".join(lines("trace_message", BATCHES, drawn=drawn))


def test_each_message_has_its_heading_and_its_events_the_time_since_its_publish():
    assert shown() == (
        "message 1\n"
        "     +0.000 s  published\n"
        "     +0.005 s  on disk\n"
        "\n"
        "message 2\n"
        "     +0.000 s  published\n"
        "\n"
        "message 1, continued\n"
        "    +12.345 s  acknowledged\\033[2J\n"
        "end: time is up\n"
    )


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colours_and_lines_that_fit(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Screen())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = "acknowledged by a user with a very long name"
    drawn = "".join(lines("trace_message", [[event(1, 1, "acknowledged", text)]], drawn=True))
    assert drawn.startswith("\x1b[1mmessage 1\x1b[0m\n\x1b[32m     +0.001 s  acknowledged")
    assert f"\n{INDENT}" in drawn
    assert max(map(len, drawn.splitlines())) < 50
