"""Signals: the first SIGTERM or SIGINT stops politely, the second at once; SIGHUP reopens the log and reloads.

The polite ones arrive through the event loop, so that they never interrupt the broker in the middle of a change. The
second one must work while the loop is stuck: it is a plain handler.
"""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

import gevent


class Signals:
    """The process's handlers, from `install` on. `stop_at_once` gets the signal's number and must not return."""

    __slots__ = ("_stop", "_stop_at_once", "_watchers")

    def __init__(self, stop: Callable[[], None], stop_at_once: Callable[[int], None]) -> None:
        self._stop = stop
        self._stop_at_once = stop_at_once
        self._watchers: list[Any] = []

    def install(self, hang_up: Callable[[], None]) -> None:
        """Handle SIGTERM, SIGINT and SIGHUP from now on."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._watchers.append(gevent.signal_handler(number, self._first))
        gevent.signal_handler(signal.SIGHUP, hang_up)
        # A reader of our output that went away must not kill the daemon.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def expect_second(self) -> None:
        """Let the next SIGTERM or SIGINT end the process: a stop is under way."""
        for watcher in self._watchers:
            watcher.cancel()
        self._watchers.clear()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._second)

    def expect_none(self) -> None:
        """Ignore SIGTERM and SIGINT: everything is stopped, and the exit code says so."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    def _first(self) -> None:
        self.expect_second()
        self._stop()

    def _second(self, number: int, _frame: FrameType | None) -> None:
        self._stop_at_once(number)
