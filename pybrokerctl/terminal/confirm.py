"""The question before something is destroyed. Only people are asked: both stdin and stdout are a terminal."""

import sys

from pybroker.control.spec import Command
from pybrokerctl.render import cell
from pybrokerctl.terminal import terminal


def is_asked(command: Command, *, yes: bool) -> bool:
    """Tell whether a command is to be confirmed; `yes`: the answer was given with --yes."""
    return command.effect == "destroy" and not yes and terminal.is_dialogue()


def is_confirmed(what: str) -> bool:
    """Ask on stderr, so that what goes to stdout stays an answer. Raises KeyboardInterrupt at Ctrl-C and Ctrl-D."""
    import click  # noqa: PLC0415 - it costs as much as all the rest of a call

    subject = cell.lines(what).strip().rstrip(".").rstrip()
    try:
        return click.confirm(f"{subject}: are you sure?", err=True)
    except click.Abort:
        sys.stderr.write("\n")
        raise KeyboardInterrupt from None
