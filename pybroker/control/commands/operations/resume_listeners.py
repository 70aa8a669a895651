"""resume_listeners: listen for clients again, on the ports of before."""

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> None:
    """Open the listeners. Nothing happens when they are open. Raises Refused when one cannot be opened."""
    del args
    node.daemon.resume_listeners()


COMMAND = Command(
    name="resume_listeners",
    section="Operations",
    summary="Reopens the client listeners closed by suspend_listeners",
    args=NoArgs,
    effect="write",
    access="administrator",
    run=run,
    banner="Will resume client connection listeners on node {node}. The node will now accept client connections",
)
