"""top on a terminal: look, show, read keys, until q. One control connection from the beginning to the end."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.spec import Refused
from pybrokerctl import exit_codes
from pybrokerctl.general import WATCH_S
from pybrokerctl.terminal.screen import Screen
from pybrokerctl.top import draw
from pybrokerctl.top.board import Board
from pybrokerctl.top.snapshot import fetch

if TYPE_CHECKING:
    from pybrokerctl.client import Connection

# The first rates are there after this long.
FIRST_S: Final = 0.5
# 100,000 queues take seconds to look at; the node has better things to do than to be looked at.
SHARE_MAX: Final = 0.2


def run(connection: "Connection", args: Mapping[str, Any], interval_s: float | None) -> int:
    """Show the board; return the exit code. Raises TimedOut, Gone."""
    board = Board(interval_s or WATCH_S)
    with Screen() as screen:
        screen.draw(draw.draw(board, connection.node, *screen.size))
        first = True
        while True:
            began_s = time.monotonic()
            connection.restart_clock()
            try:
                board.update(fetch(connection, args))
            except Refused as refused:
                # While the app is stopped, for instance; it may come back.
                board.note = refused.text
            took_s = time.monotonic() - began_s
            pause_s = max(FIRST_S if first else board.interval_s, took_s / SHARE_MAX)
            first = False
            if not _show(screen, board, connection.node, pause_s):
                return exit_codes.OK


def _show(screen: Screen, board: Board, node: str, pause_s: float) -> bool:
    """Show the board and obey keys for a while; return False when it is enough."""
    until_s = time.monotonic() + pause_s
    while True:
        width, height = screen.size
        screen.draw(draw.draw(board, node, width, height))
        key = screen.key(until_s - time.monotonic())
        if key is None:
            return True
        if key in {"q", "Q"} and not board.typing:
            return False
        board.press(key, width, draw.room(height))
