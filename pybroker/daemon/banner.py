"""The banner of a running daemon: where everything is, and what to type next.

In colours on a terminal, elsewhere as plain `label: value` lines that a script can read.
"""

from collections.abc import Sequence
from typing import NamedTuple, TextIO

from pybroker.version import RABBITMQ_VERSION, VERSION

TITLE = f"pybroker {VERSION}, AMQP 0-9-1, compatible with RabbitMQ {RABBITMQ_VERSION}"


class Banner(NamedTuple):
    """`places` are (label, value) lines, `hints` (what to type, what it does)."""

    places: Sequence[tuple[str, str]]
    hints: Sequence[tuple[str, str]]


def show(screen: Banner, stream: TextIO | None) -> None:
    """Write the screen; a reader that is not there costs the screen, not the daemon."""
    if stream is None:
        return
    try:
        if stream.isatty():
            _show_rich(screen, stream)
        else:
            stream.write(_plain(screen))
        stream.flush()
    except OSError:
        return


def say_goodbye(clients: int, stream: TextIO | None) -> None:
    """Write to the terminal what the stop waits for."""
    if stream is None or not clients:
        return
    try:
        if stream.isatty():
            stream.write(
                f"\n  Closing {clients} connection{'s' * (clients > 1)}; press Ctrl-C again to stop at once.\n"
            )
            stream.flush()
    except OSError:
        return


def _plain(screen: Banner) -> str:
    lines = [TITLE, *(f"{label}: {value}" for label, value in screen.places)]
    lines += [f"next: {command}  # {purpose}" for command, purpose in screen.hints]
    return "\n".join(lines) + "\n"


def _show_rich(screen: Banner, stream: TextIO) -> None:
    from rich.console import Console  # noqa: PLC0415 - 30 ms that only a terminal pays
    from rich.padding import Padding  # noqa: PLC0415 - likewise
    from rich.table import Table  # noqa: PLC0415 - likewise
    from rich.text import Text  # noqa: PLC0415 - likewise

    console = Console(file=stream, highlight=False)
    console.print()
    console.print(Text(f"  {TITLE}", style="bold"))
    for pairs, first, second in ((screen.places, "cyan", ""), (screen.hints, "bold green", "dim")):
        grid = Table.grid(padding=(0, 2))
        # Folded rather than cut: the text is there to be copied.
        grid.add_column(overflow="fold")
        grid.add_column(overflow="fold")
        previous = ""
        for left, right in pairs:
            grid.add_row(Text("" if left == previous else left, style=first), Text(right, style=second))
            previous = left
        console.print()
        console.print(Padding(grid, (0, 0, 0, 2)))
    console.print()
