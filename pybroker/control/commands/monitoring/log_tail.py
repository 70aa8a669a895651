"""log_tail: the last lines of the node's log."""

from typing import Annotated, Any, NamedTuple

from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Command, Node

LINES_MAX = 10_000


class Args(NamedTuple):
    """The number of lines."""

    number: Annotated[int, Arg(f"number of lines, at most {LINES_MAX}", "-N --number", "number")] = 50


def check(args: Args) -> None:
    """Refuse a number of lines that cannot be. Raises BadArguments."""
    if not 0 < args.number <= LINES_MAX:
        raise BadArguments(f"Bad argument: --number must be from 1 to {LINES_MAX}", EX_DATAERR)


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the lines. Raises Refused when the node writes no log file."""
    lines = node.daemon.log_tail(args.number)
    return node.result("\n".join(lines), lines=lines)


COMMAND = Command(
    name="log_tail",
    section="Monitoring",
    summary="Prints the last lines of the node's log file",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    banner="Last {number} log lines on node {node} ...",
    app="any",
    check=check,
)
