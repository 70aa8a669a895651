"""set_log_level: how much the node writes into its log, until it stops."""

from typing import Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node

# The levels of log.file.level (pybroker.conf(5)).
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "none")


class Args(NamedTuple):
    """The least level that is written."""

    level: Annotated[str, Arg(f"lowest level to log: {', '.join(LEVELS)}", "", "log_level", choices=LEVELS)]


def run(node: Node, args: Args) -> None:
    """Set it, wherever the log goes."""
    node.daemon.set_log_level(args.level)
    for place in ("file", "console", "journald"):
        node.broker.settings.changed(f"log.{place}.level", args.level)


COMMAND = Command(
    name="set_log_level",
    section="Configuration",
    summary="Sets the log level until the node stops",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Setting log level to "{level}" ...',
    app="any",
)
