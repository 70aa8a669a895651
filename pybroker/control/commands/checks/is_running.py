"""is_running: are clients served. Succeeds either way; check_running does not."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return rabbitmq-diagnostics' sentence, and the answer as a boolean for programs."""
    del args
    if node.daemon.app_running:
        return {"result": True, "message": f"RabbitMQ on node {node.name} is fully booted and running"}
    text = f"RabbitMQ on node {node.name} is not running or has not fully booted yet (check with is_booting)"
    return {"result": False, "message": text}


COMMAND = Command(
    name="is_running",
    section="Monitoring",
    summary="Checks whether the node is running and serves clients",
    args=NoArgs,
    effect="read",
    access="none",
    run=run,
    banner="Asking node {node} for its status ...",
    app="any",
)
