"""Waiting for a node that is not up yet: its pid file, its process, its socket, its listeners (await_startup, wait).

Knows where sockets may lie and what a process is; the daemon's answer decides whether it is up.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pybroker.control.spec import EX_SOFTWARE, EX_TEMPFAIL, Refused
from pybrokerctl.client import Connection, TimedOut, Unreachable
from pybrokerctl.locate import Target, locate

POLL_S: Final = 0.1


class Waiting:
    """One wait, until `timeout_s` from now. `say` gets what it waits for, a line at a time."""

    def __init__(self, timeout_s: float | None, say: Callable[[str], None]) -> None:
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._say = say

    def process(self, pid_file: str | None, pid: int | None) -> int | None:
        """Return the process to watch: the one given, or that of a pid file as soon as there is one; None without.

        Raises Refused for a file that holds no number or cannot be read.
        """
        if pid_file is None:
            return pid
        self._say(f"Waiting for pid file '{pid_file}' to appear")
        while True:
            try:
                text = Path(pid_file).read_text(encoding="ascii", errors="replace").strip()
            except FileNotFoundError:
                text = ""
            except OSError as error:
                raise Refused(f"could not read pid. Detail: {error.strerror}", EX_SOFTWARE) from None
            if text:
                break
            self._pause()
        # Ten digits are more than any kernel gives.
        if not text.isdecimal() or len(text) > 10:
            raise Refused("garbage in pid file.", EX_SOFTWARE)
        self._say(f"pid is {text}")
        return int(text)

    def node(self, command: str, given: Mapping[str, Any], find: Callable[[], Target], watched: int | None) -> Target:
        """Return where the node is as soon as it answers `command` otherwise than with EX_TEMPFAIL.

        Raises Refused, also when the watched process has ended; TimedOut.
        """
        target = find()
        if watched is not None:
            text = f"Waiting for the control socket of node '{target.node}' while OS process '{watched}' is running"
            self._say(text)
        told = False
        while True:
            try:
                with Connection(target.path, self.left_s()) as connection:
                    if watched == connection.pid and not told:
                        # RabbitMQ's name for "the node with everything in it"; scripts look for the line.
                        self._say(f"Waiting for applications 'rabbit_and_plugins' to start on node '{connection.node}'")
                        told = True
                    if watched in {None, connection.pid}:
                        connection.ask(command, given)
                        if told:
                            self._say(f"Applications 'rabbit_and_plugins' are running on node '{connection.node}'")
                        return target
            except Unreachable:
                pass
            except Refused as refused:
                if refused.exit_code != EX_TEMPFAIL:
                    raise
            if watched is not None and not _is_alive(watched):
                raise Refused("process is not running.", EX_SOFTWARE)
            self._pause()
            target = find()

    def left_s(self) -> float | None:
        """Return how much time is left, None for as long as it takes. Raises TimedOut."""
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimedOut
        return left

    def _pause(self) -> None:
        left = self.left_s()
        time.sleep(POLL_S if left is None else min(POLL_S, left))


def await_node(
    command: str, given: Mapping[str, Any], timeout_s: float | None, say: Callable[[str], None], *where: str | None
) -> tuple[Target, float | None]:
    """Wait for the node that `-n` and `--socket` (`where`) mean; return it and the time that is left.

    Raises Refused, TimedOut.
    """
    waiting = Waiting(timeout_s, say)
    watched = waiting.process(given.get("pidfile"), given.get("pid"))
    target = waiting.node(command, given, lambda: locate(where[0], where[1]), watched)
    return target, waiting.left_s()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
