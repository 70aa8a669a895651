import io
import re

from pybroker.daemon.banner import TITLE, Banner, say_goodbye, show

SCREEN = Banner(
    [("node", "a@b"), ("AMQP listener", "[::]:5672"), ("AMQP listener", "0.0.0.0:5672")],
    [("pybrokerctl status", "show the status")],
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Closed(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


def test_elsewhere_each_place_is_a_plain_line():
    stream = io.StringIO()
    show(SCREEN, stream)
    assert stream.getvalue().splitlines() == [
        TITLE,
        "node: a@b",
        "AMQP listener: [::]:5672",
        "AMQP listener: 0.0.0.0:5672",
        "next: pybrokerctl status  # show the status",
    ]


def test_a_terminal_shows_the_same_in_columns(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    show(SCREEN, stream)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert stream.getvalue() != plain
    assert [line.split() for line in plain.splitlines() if "5672" in line or "ctl" in line] == [
        ["AMQP", "listener", "[::]:5672"],
        ["0.0.0.0:5672"],
        ["pybrokerctl", "status", "show", "the", "status"],
    ]


def test_a_reader_that_is_not_there_is_no_error():
    show(SCREEN, Closed())
    show(SCREEN, None)
    say_goodbye(1, Closed())
    say_goodbye(1, None)


def test_a_terminal_learns_what_the_stop_waits_for():
    terminal, pipe = Terminal(), io.StringIO()
    say_goodbye(2, terminal)
    say_goodbye(2, pipe)
    assert terminal.getvalue() == "\n  Closing 2 connections; press Ctrl-C again to stop at once.\n"
    assert pipe.getvalue() == ""


def test_without_clients_there_is_nothing_to_wait_for():
    terminal = Terminal()
    say_goodbye(0, terminal)
    assert terminal.getvalue() == ""
