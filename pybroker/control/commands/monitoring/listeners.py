"""listeners: where clients can connect."""

from typing import Any

from pybroker.control import listeners
from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return the listeners, and a line for each."""
    del args
    found = listeners.documents(node.broker)
    text = "\n".join(listeners.lines(found)) or f"Node {node.name} reported no enabled listeners."
    return node.result(text, listeners=found)


COMMAND = Command(
    name="listeners",
    section="Monitoring",
    summary="Lists the node's listeners: interface, port, protocol",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
    banner="Asking node {node} to report its protocol listeners ...",
    app="any",
)
