"""is_booting: is the node on its way up, reading what it had on disk."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return rabbitmq-diagnostics' sentence; for programs also how much of the log is read, in percent."""
    del args
    recovered = node.daemon.recovering
    if recovered is not None:
        return {"result": True, "recovered": recovered, "message": f"RabbitMQ on node {node.name} is booting"}
    text = (
        f"RabbitMQ on node {node.name} is fully booted (check with is_running), stopped or has not started booting yet"
    )
    return {"result": False, "message": text}


COMMAND = Command(
    name="is_booting",
    section="Monitoring",
    summary="Checks whether the node is still starting and recovering its data",
    args=NoArgs,
    effect="read",
    access="none",
    run=run,
    banner="Asking node {node} for its boot status ...",
    app="any",
)
