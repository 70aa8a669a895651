"""The whole terminal for a while: a screen of its own, keys one by one, and everything back as it was at the end.

Knows nothing of what is shown. Ctrl-C stays a signal; kill and a closed window leave the terminal in order too.
"""

import os
import select
import signal
import sys
import termios
import tty
from collections import deque
from collections.abc import Sequence
from types import FrameType
from typing import Any, Final, NoReturn, Self

from pybrokerctl.terminal import terminal

# The alternate screen, no cursor, no wrapping: xterm's private modes (ctlseqs), which all of today's terminals know.
ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[?7l"
LEAVE: Final = "\x1b[?7h\x1b[?25h\x1b[?1049l"
HOME: Final = "\x1b[H"
REST_OF_LINE: Final = "\x1b[K"
KEYS: Final = {
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1bOC": "right",
    "\x1bOD": "left",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[H": "home",
    "\x1b[F": "end",
    "\x1b[1~": "home",
    "\x1b[4~": "end",
    "\x1bOH": "home",
    "\x1bOF": "end",
    "\x1b[Z": "back tab",
}
RESIZED: Final = "resized"


class Screen:
    """Enter it with `with`. Without a terminal on stdin there are no keys, and `key` only waits."""

    def __init__(self) -> None:
        self._input: int | None = sys.stdin.fileno() if terminal.is_terminal(sys.stdin) else None
        self._before: list[Any] = []
        self._keys: deque[str] = deque()
        self._wake_end, self._signal_end = -1, -1
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if self._input is not None:
            self._before = termios.tcgetattr(self._input)
            tty.setcbreak(self._input)
            mode = termios.tcgetattr(self._input)
            # Ctrl-Z would leave the shell with our screen.
            mode[6][termios.VSUSP] = os.fpathconf(self._input, "PC_VDISABLE").to_bytes(1, "little")
            termios.tcsetattr(self._input, termios.TCSANOW, mode)
        self._wake_end, self._signal_end = os.pipe()
        os.set_blocking(self._signal_end, False)
        for number in (signal.SIGTERM, signal.SIGHUP):
            self._handlers[number] = signal.signal(number, _end)
        self._handlers[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, self._resized)
        self._write(ENTER)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._wake_end)
        os.close(self._signal_end)
        try:
            self._write(LEAVE)
        finally:
            if self._input is not None:
                termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)

    @property
    def size(self) -> tuple[int, int]:
        """Return columns and lines."""
        lines = os.get_terminal_size(sys.stdout.fileno()).lines
        return terminal.width(sys.stdout) or 80, lines or 24

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines, as many as fit, in one go, so that nothing flickers."""
        height = self.size[1]
        shown = [*lines[:height], *[""] * (height - len(lines))]
        # Behind a full line the cursor still stands on its last character, so lines are cleared before.
        self._write(HOME + "\n".join(REST_OF_LINE + line for line in shown))

    def key(self, timeout_s: float) -> str | None:
        """Return the next key, a character or a name from KEYS, or RESIZED; None when the time is over."""
        if not self._keys:
            sources = [self._wake_end] if self._input is None else [self._wake_end, self._input]
            ready = select.select(sources, [], [], max(0.0, timeout_s))[0]
            if self._wake_end in ready:
                os.read(self._wake_end, 64)
                return RESIZED
            if not ready:
                return None
            assert self._input is not None
            typed = os.read(self._input, 1024)
            if not typed:
                # The terminal is gone.
                sys.exit(128 + signal.SIGHUP)
            self._keys.extend(split_keys(typed.decode(errors="replace")))
        return self._keys.popleft() if self._keys else None

    def _resized(self, _number: int, _frame: FrameType | None) -> None:
        os.write(self._signal_end, b"!")

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def split_keys(typed: str) -> list[str]:
    """Return the keys in what a terminal sent: names for those of KEYS, nothing for unknown sequences."""
    keys = []
    while typed:
        size = _sequence_length(typed) if typed.startswith("\x1b") else 1
        key, typed = typed[:size], typed[size:]
        name = KEYS.get(key, key)
        if name.isprintable():
            keys.append(name)
    return keys


def _sequence_length(typed: str) -> int:
    """Return how many characters the escape sequence at the start has (ECMA-48: CSI ... final, or SS3 and one)."""
    if typed[1:2] == "O":
        return 3
    if typed[1:2] != "[":
        return 1
    for index, char in enumerate(typed[2:], 2):
        if "@" <= char <= "~":
            return index + 1
    return len(typed)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    # By way of __exit__, which puts the terminal in order.
    sys.exit(128 + number)
