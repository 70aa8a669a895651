"""wait: return when the daemon of a pid file, or of a process id, serves clients; fail at once when it dies."""

from typing import Annotated, NamedTuple

from pybroker.control.spec import EX_TEMPFAIL, Arg, BadArguments, Command, Node, Refused


class Args(NamedTuple):
    """The process is for pybrokerctl, which watches it while it waits."""

    pidfile: Annotated[str | None, Arg("pid file of the node; it need not exist yet", names="file")] = None
    pid: Annotated[int | None, Arg("the node's process id, instead of a pid file", "-P --pid", "pid")] = None


def check(args: Args) -> None:
    """Refuse both and none. Raises BadArguments."""
    if args.pidfile is None and args.pid is None:
        raise BadArguments("No pid or pidfile specified")
    if args.pidfile is not None and args.pid is not None:
        raise BadArguments("Cannot specify both pid and pidfile")


def run(node: Node, args: Args) -> None:
    """Tell whether the node is up. Raises Refused while it is not."""
    del args
    if not node.daemon.app_running:
        raise Refused(f"node {node.name} does not serve clients yet", EX_TEMPFAIL)


COMMAND = Command(
    name="wait",
    section="Nodes",
    summary="Waits until the node with this pid file or process id is running, or its process has exited",
    args=Args,
    effect="read",
    access="management",
    run=run,
    timeout_s=10,
    app="any",
    awaits_daemon=True,
    check=check,
)
