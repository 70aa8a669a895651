"""The general options of one call, checked."""

import sys
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pybroker.control.spec import BadArguments
from pybrokerctl import render
from pybrokerctl.terminal import terminal

# Shorter, and the watching is most of what the node does; longer, and the node lets the connection go.
WATCH_S_MIN: Final = 0.1
WATCH_S_MAX: Final = 300.0


class Options(NamedTuple):
    """How to reach the node and how to show its answer. `timeout_s` of 0 is for ever, None the command's own."""

    node: str | None = None
    socket: str | None = None
    timeout_s: float | None = None
    quiet: bool = False
    silent: bool = False
    formatter: str = "table"
    headers: bool = True
    pad: bool = False
    dry_run: bool = False
    yes: bool = False
    watch_s: float | None = None

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Options":
        """Return them from the words given. Raises BadArguments."""
        silent = bool(given.get("silent"))
        formatter = given.get("formatter")
        if formatter is None:
            # Scripts that read from a terminal, `script` or `ssh -t`, say -s or name the formatter.
            formatter = render.TERMINAL if terminal.is_terminal(sys.stdout) and not silent else "table"
        elif formatter not in render.NAMES:
            # RabbitMQ's sentence, and what it does not say.
            supported = ", ".join(render.NAMES)
            raise BadArguments(f"the requested formatter is not supported by this command\nSupported are: {supported}")
        return cls(
            node=given.get("node"),
            socket=given.get("socket"),
            timeout_s=_timeout(given.get("timeout")),
            quiet=bool(given.get("quiet")) or silent,
            silent=silent,
            formatter=formatter,
            headers=not given.get("no_table_headers") and not silent,
            pad=bool(given.get("pad_to_header")),
            dry_run=bool(given.get("dry_run")),
            yes=bool(given.get("yes")),
            watch_s=_interval(given.get("watch")),
        )

    @property
    def talks(self) -> bool:
        """Tell whether banners and notes are wanted."""
        return not self.quiet and self.formatter not in render.MACHINE


def _timeout(word: str | None) -> float | None:
    if word is None:
        return None
    if word == "infinity":
        return 0.0
    seconds = _seconds(word)
    if not 0 < seconds < 1e9:
        raise BadArguments(
            "Invalid options for this command:\n--timeout must be a number of seconds above 0, or infinity"
        )
    return seconds


def _interval(word: str | None) -> float | None:
    if word is None:
        return None
    seconds = _seconds(word)
    if not WATCH_S_MIN <= seconds <= WATCH_S_MAX:
        text = f"--watch must be a number of seconds from {WATCH_S_MIN:g} to {WATCH_S_MAX:g}"
        raise BadArguments(f"Invalid options for this command:\n{text}")
    return seconds


def _seconds(word: str) -> float:
    """Return the number; a word that is none as one that fits nowhere."""
    try:
        return float(word)
    except ValueError:
        return -1.0
