"""server_version: which version the node runs."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node
from pybroker.version import RABBITMQ_VERSION, VERSION


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return the daemon's own version; programs also get the RabbitMQ version that clients are told."""
    del args
    return node.result(VERSION, version=VERSION, rabbitmq_version=RABBITMQ_VERSION)


COMMAND = Command(
    name="server_version",
    section="Configuration",
    summary="Displays the version of the node",
    args=NoArgs,
    effect="read",
    access="none",
    run=run,
    banner="Asking node {node} for its version...",
    app="any",
)
