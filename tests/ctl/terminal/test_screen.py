import signal
import sys

import pytest

from pybrokerctl.terminal.screen import ENTER, LEAVE, split_keys
from tests.ctl.typist import Typist

# Shows its keys until q, as top and --watch do.
SHOW_KEYS = """
import sys
from pybrokerctl.terminal.screen import Screen
with Screen() as screen:
    while True:
        key = screen.key(10)
        screen.draw([f"key: {key} {screen.size}."])
        if key == "q":
            sys.exit(7)
"""


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("ab", ["a", "b"]),
        ("\x1b[A\x1b[B", ["up", "down"]),
        ("\x1bOC", ["right"]),
        ("\x1b[5~\x1b[6~", ["page up", "page down"]),
        ("\x1b", ["escape"]),
        ("\x1bq", ["escape", "q"]),
        ("\t\r\x7f", ["tab", "enter", "backspace"]),
        ("é", ["é"]),
        ("\x1b[200~x", ["x"]),
        ("\x1b[1;5Ax", ["x"]),
        ("\x01x", ["x"]),
    ],
)
def test_keys_are_told_apart_and_unknown_ones_ignored(typed, keys):
    assert split_keys(typed) == keys


@pytest.fixture
def typist():
    with Typist("-c", SHOW_KEYS) as typist:
        typist.read_until(ENTER)
        yield typist


def test_keys_come_one_by_one_and_the_terminal_is_left_in_order(typist):
    typist.press("x\x1b[A")
    typist.read_until("key: x ")
    typist.read_until("key: up ")
    assert not typist.is_in_order
    typist.press("q")
    assert typist.wait() == 7
    assert LEAVE in typist.seen
    assert typist.is_in_order


def test_another_size_is_noticed(typist):
    typist.resize(100, 30)
    typist.read_until("key: resized (100, 30).")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_in_order(typist, number):
    typist.press("x")
    typist.read_until("key: x ")
    typist.process.send_signal(number)
    assert typist.wait() == 128 + number
    assert LEAVE in typist.seen
    assert typist.is_in_order


def test_ctrl_z_does_not_leave_the_shell_with_our_screen(typist):
    typist.press("\x1ax")
    typist.read_until("key: x ")


def test_it_can_be_loaded_where_there_is_no_terminal():
    assert "pybrokerctl.terminal.screen" in sys.modules
