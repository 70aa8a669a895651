"""stop_app: close listeners and clients; the process and its control socket stay."""

from pybroker.control.spec import Changed, Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> Changed | None:
    """Answer when the clients are gone; nothing happens when they are already."""
    del args
    if not node.daemon.app_running:
        return None
    node.daemon.stop_app()
    return Changed(node.broker.definitions.commit_position)


COMMAND = Command(
    name="stop_app",
    section="Nodes",
    summary="Closes listeners and connections, but keeps the daemon and its control socket",
    args=NoArgs,
    effect="write",
    access="administrator",
    run=run,
    banner="Stopping rabbit application on node {node} ...",
    app="any",
)
