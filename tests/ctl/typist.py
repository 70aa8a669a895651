"""A person at a terminal: starts a program on one of its own, reads what it shows, presses keys."""

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from typing import Self

import pytest

# Makes the terminal the one from which Ctrl-C comes, and becomes Python with the words given.
LAUNCH = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
SECONDS_MAX = 60


class Typist:
    """pybrokerctl with some words, or Python with `-c`, on a terminal of its own.

    `seen` is what it has written and nobody has read yet.
    """

    def __init__(self, *words: str, columns: int = 80, lines: int = 24, **environment: str) -> None:
        self.seen = ""
        try:
            self._end, other = os.openpty()
        except OSError as error:
            pytest.skip(f"no pseudo-terminals here: {error}")
        self.resize(columns, lines)
        inherited = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "LINES", "NO_COLOR"}}
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *(words if words[0] == "-c" else ("-m", "pybrokerctl", *words))],
            stdin=other,
            stdout=other,
            stderr=other,
            env={**inherited, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
            start_new_session=True,
        )
        self.before = termios.tcgetattr(other)
        self._other = other

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS_MAX)
        os.close(self._end)
        os.close(self._other)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._end, keys.encode())

    def read_until(self, text: str) -> str:
        """Return what is new up to and with `text`; what follows is new next time."""
        deadline = time.monotonic() + SECONDS_MAX
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} does not come; there was {self.seen!r}"
            self._read(0.1)
        new, _, self.seen = self.seen.partition(text)
        return new + text

    def wait(self) -> int:
        """Return the exit code; `seen` is all that it still wrote."""
        deadline = time.monotonic() + SECONDS_MAX
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end; there was {self.seen!r}"
            self._read(0.05)
        while self._read(0):
            pass
        return self.process.returncode

    def insist(self, key: str) -> int:
        """Press a key again and again until it ends; return the exit code.

        A signal between a prompt and the read behind it, a few microseconds, waits for the next key; people are slower.
        """
        for _ in range(SECONDS_MAX):
            self.press(key)
            try:
                self.process.wait(1)
            except subprocess.TimeoutExpired:
                continue
            break
        return self.wait()

    @property
    def is_in_order(self) -> bool:
        """Tell whether the terminal is as it was."""
        return termios.tcgetattr(self._other) == self.before

    def _read(self, seconds: float) -> bool:
        if not select.select([self._end], [], [], seconds)[0]:
            return False
        self.seen += os.read(self._end, 65_536).decode(errors="replace")
        return True


def plain(text: str) -> str:
    """Return text without escape sequences."""
    return re.sub(r"\x1b(\[[0-9;?]*[a-zA-Z]|[()].)", "", text).replace("\r\n", "\n")
