"""check_running: health check that fails unless clients are served."""

from pybroker.control.spec import EX_UNAVAILABLE, Command, NoArgs, Node, Refused


def run(node: Node, args: NoArgs) -> str:
    """Return rabbitmq-diagnostics' sentence. Raises Refused while clients are not served."""
    del args
    if not node.daemon.app_running:
        text = f"RabbitMQ on node {node.name} is not running or has not fully booted yet (check with is_booting)"
        raise Refused(text, EX_UNAVAILABLE)
    return f"RabbitMQ on node {node.name} is fully booted and running"


COMMAND = Command(
    name="check_running",
    section="Monitoring",
    summary="Health check: fails unless the node is running and serves clients",
    args=NoArgs,
    effect="read",
    access="none",
    run=run,
    banner="Checking if RabbitMQ is running on node {node} ...",
    app="any",
)
