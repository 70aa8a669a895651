"""start_app: open the listeners again."""

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> None:
    """Serve clients; nothing happens when they are served already."""
    del args
    if not node.daemon.app_running:
        node.daemon.start_app()


COMMAND = Command(
    name="start_app",
    section="Nodes",
    summary="Opens the listeners after stop_app",
    args=NoArgs,
    effect="write",
    access="administrator",
    run=run,
    banner="Starting node {node} ...",
    app="any",
)
