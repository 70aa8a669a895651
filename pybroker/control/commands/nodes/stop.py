"""stop: end the daemon. pybrokerctl returns when its process is gone."""

from typing import Annotated, NamedTuple

from pybroker.control.spec import Arg, Command, Node


class Args(NamedTuple):
    """`idempotent` and `pidfile` are for pybrokerctl: what to expect of the node."""

    pidfile: Annotated[str | None, Arg("pid file of the node; that of another process is refused", names="file")] = None
    idempotent: Annotated[bool, Arg("succeed if the node is not running", "--idempotent")] = False


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
    summary="Stops the daemon and waits until its process has exited",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner=banner,
    app="any",
    ends_daemon=True,
)
