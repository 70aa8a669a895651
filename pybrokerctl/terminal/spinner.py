"""Progress of a command on a terminal: nothing for a moment, then that it works, and how far it is."""

import sys
import time
from typing import TYPE_CHECKING, Final

from pybrokerctl.terminal import terminal

if TYPE_CHECKING:
    from rich.progress import Progress

# An answer by then needs no display.
SILENT_S: Final = 0.5


class Spinner:
    """One line on stderr, drawn by rich and gone before the answer. `what` is what goes on."""

    def __init__(self, what: str) -> None:
        self._what = what.strip().splitlines()[-1] if what.strip() else ""
        self._since_s = time.monotonic()
        self._bar: Progress | None = None
        self._total: int | None = None

    @staticmethod
    def is_wanted() -> bool:
        """Tell whether somebody looks at it, on a terminal that can take it away again."""
        return terminal.is_terminal(sys.stdout) and terminal.is_terminal(sys.stderr) and not terminal.is_dumb()

    def wait(self) -> None:
        """Show that time goes by."""
        if time.monotonic() - self._since_s >= SILENT_S:
            self._shown(self._total).refresh()

    def count(self, done: int, total: int) -> None:
        """Show how far the work is."""
        bar = self._shown(total)
        bar.update(bar.task_ids[0], completed=done, refresh=True)

    def stop(self) -> None:
        """Take it off the screen."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _shown(self, total: int | None) -> "Progress":
        """Return what is on the screen now: a bar for work of `total` steps, else only that time goes by."""
        # Tens of milliseconds, for what takes half a second at least.
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn  # noqa: PLC0415

        if self._bar is not None and total == self._total:
            return self._bar
        self.stop()
        self._total = total
        colour = terminal.has_colour(sys.stderr)
        console = Console(
            stderr=True, force_terminal=True, no_color=not colour, markup=False, emoji=False, highlight=False
        )
        how_far = (BarColumn(), MofNCompleteColumn()) if total else ()
        columns = (SpinnerColumn(), "{task.description}", *how_far, TimeElapsedColumn())
        self._bar = Progress(*columns, console=console, auto_refresh=False, transient=True)
        self._bar.add_task(self._what, total=total)
        self._bar.start()
        return self._bar
