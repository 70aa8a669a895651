"""await_startup: return when clients are served. pybrokerctl also waits for a daemon that is not there yet."""

from pybroker.control.spec import EX_TEMPFAIL, Command, NoArgs, Node, Refused


def run(node: Node, args: NoArgs) -> None:
    """Tell whether the node is up. Raises Refused while it is not."""
    del args
    if not node.daemon.app_running:
        raise Refused(f"node {node.name} does not serve clients yet", EX_TEMPFAIL)


COMMAND = Command(
    name="await_startup",
    section="Nodes",
    summary="Waits until the node is running and serves clients",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
    timeout_s=300,
    app="any",
    awaits_daemon=True,
)
