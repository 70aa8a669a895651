"""stop: end the daemon. pybrokerctl returns when its process is gone."""

from typing import Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node


class Args(NamedTuple):
    """`idempotent` and `pidfile` are pybrokerctl's business: what to expect of the node."""

    pidfile: Annotated[str | None, Arg("the node's pid file; another process's is refused", names="file")] = None
    idempotent: Annotated[bool, Arg("succeed when the node does not run", "--idempotent")] = False


def run(node: Node, args: Args) -> None:
    """Ask the daemon to end; it says goodbye to its clients first."""
    del args
    node.daemon.stop()


def banner(args: Args) -> str:
    """Return the banner, which names the pid file if one is given."""
    watched = "" if args.pidfile is None else " (will monitor pid file {pidfile})"
    return f"Stopping and halting node {{node}}{watched} ..."


COMMAND = Command(
    name="stop",
    section="Nodes",
    summary="Stops the daemon and waits until its process is gone",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner=banner,
    app="any",
    ends_daemon=True,
)
