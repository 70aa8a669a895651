"""shutdown: end the daemon, as `stop` does; whether pybrokerctl waits for the end of its process can be chosen."""

import os
from typing import Annotated, Any, NamedTuple

from pybroker.control.spec import Arg, BadArguments, Command, Node


class Args(NamedTuple):
    """Both are for pybrokerctl."""

    wait: Annotated[bool, Arg("wait until the process has exited (the default)", "--wait")] = False
    no_wait: Annotated[bool, Arg("return at once", "--no-wait")] = False


def check(args: Args) -> None:
    """Refuse both. Raises BadArguments."""
    if args.wait and args.no_wait:
        raise BadArguments("Cannot set both --wait and --no-wait")


def run(node: Node, args: Args) -> dict[str, Any]:
    """Ask the daemon to end; it says goodbye to its clients first."""
    pid = os.getpid()
    node.daemon.stop()
    then = "is shutting down" if args.no_wait else "is shutting down; waiting for its process to exit"
    return node.result(f"Node {node.name} running at PID {pid} {then}", pid=pid)


COMMAND = Command(
    name="shutdown",
    section="Nodes",
    summary="Stops the daemon and waits until its process has exited; needs no pid file",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    app="any",
    ends_daemon=True,
    check=check,
)
