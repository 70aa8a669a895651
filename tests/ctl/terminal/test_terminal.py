import io

import pytest

from pybrokerctl.terminal import terminal


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def test_a_pipe_has_neither_width_nor_colour():
    pipe = io.StringIO()
    assert (terminal.width(pipe), terminal.has_colour(pipe), terminal.bold("x", pipe)) == (None, False, "x")


def test_a_terminal_has_both():
    assert terminal.width(Terminal()) == 80
    assert terminal.bold("x", Terminal()) == "\x1b[1mx\x1b[0m"
    assert terminal.red("x", Terminal()) == "\x1b[1;31mx\x1b[0m"


def test_an_error_stands_out_for_people_only(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert terminal.complaint("Error:\nno Error") == "Error:\nno Error"
    monkeypatch.setattr("sys.stderr", Terminal())
    assert terminal.complaint("Error:\nno Error") == "\x1b[1;31mError\x1b[0m:\nno Error"
    assert terminal.complaint("other") == "other"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "")])
def test_no_escapes_where_they_are_not_wanted(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert terminal.bold("x", Terminal()) == "x"
    assert terminal.is_dumb() == (name == "TERM")


def test_an_empty_no_color_means_nothing(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "")
    assert terminal.has_colour(Terminal())


@pytest.mark.parametrize(("given", "expected"), [("132", 132), ("5", terminal.COLUMNS_MIN), ("many", 80), ("0", 80)])
def test_columns_may_be_given(monkeypatch, given, expected):
    monkeypatch.setenv("COLUMNS", given)
    assert terminal.width(Terminal()) == expected


def test_a_dialogue_needs_both_ends(monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert not terminal.is_dialogue()
    monkeypatch.setattr("sys.stdout", Terminal())
    assert terminal.is_dialogue()
    monkeypatch.setattr("sys.stdin", None)
    assert not terminal.is_dialogue()
