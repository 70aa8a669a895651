"""node_health_check: the old health check: alarms of this node, virtual hosts, and that clients are served."""

from pybroker.control import alarms
from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> str:
    """Return rabbitmqctl's sentence. Raises Refused while there is an alarm."""
    del args
    alarms.check(node.broker, local=True)
    return "Health check passed"


COMMAND = Command(
    name="node_health_check",
    section="Deprecated",
    summary="DEPRECATED. Fails if the node does not serve clients or reports an alarm. Use check_running and "
    "check_local_alarms instead",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
    banner="This command is DEPRECATED: use check_running, check_local_alarms and check_port_connectivity instead.\n"
    "Timeout: {timeout:.0f} seconds ...\nChecking health of node {node} ...",
    timeout_s=70,
)
