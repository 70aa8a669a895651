"""is_booting: is the node on its way up. It answers only when it has left that behind."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return rabbitmq-diagnostics' sentence: no control socket is answered before the listeners are open."""
    del args
    text = (
        f"RabbitMQ on node {node.name} is fully booted (check with is_running), stopped or has not started booting yet"
    )
    return {"result": False, "message": text}


COMMAND = Command(
    name="is_booting",
    section="Monitoring",
    summary="Tells whether the node is still starting; one that answers is not",
    args=NoArgs,
    effect="read",
    run=run,
    banner="Asking node {node} for its boot status ...",
    app="any",
)
