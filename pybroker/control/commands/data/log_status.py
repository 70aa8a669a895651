"""log_status: the durable log's segments, how much of them is live, and the progress of the disk."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return the figures as a document."""
    del args
    return node.daemon.log_status()


COMMAND = Command(
    name="log_status",
    section="Data",
    summary="Displays the state of the durable log: segments and live messages, checkpoints, unsynced data",
    args=NoArgs,
    effect="read",
    access="monitoring",
    run=run,
    banner="Status of the log of node {node} ...",
    app="any",
)
