"""check_virtual_hosts: health check of the virtual hosts. They run where the node runs: none can stop alone."""

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> str:
    """Return rabbitmq-diagnostics' sentence."""
    del args
    return f"Node {node.name} reported all vhosts as running"


COMMAND = Command(
    name="check_virtual_hosts",
    section="Monitoring",
    summary="Health check: fails unless all virtual hosts are running; they are while the node is",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
    banner="Checking if all vhosts are running on node {node} ...",
)
