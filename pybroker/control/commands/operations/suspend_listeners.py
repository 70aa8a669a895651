"""suspend_listeners: close the sockets that listen for clients; connections go on."""

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> None:
    """Close them. Nothing happens when they are closed already."""
    del args
    node.daemon.suspend_listeners()


COMMAND = Command(
    name="suspend_listeners",
    section="Operations",
    summary="Closes the client listeners so that no new client can connect; keeps open connections",
    args=NoArgs,
    effect="write",
    access="administrator",
    run=run,
    banner="Will suspend client connection listeners on node {node}. "
    "The node will no longer accept client connections!",
)
