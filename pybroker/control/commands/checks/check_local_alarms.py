"""check_local_alarms: health check that fails while an alarm of this node is in effect."""

from pybroker.control import alarms
from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> str:
    """Return rabbitmq-diagnostics' sentence. Raises Refused while there is an alarm."""
    del args
    alarms.check(node.broker, local=True)
    return f"Node {node.name} reported no local alarms"


COMMAND = Command(
    name="check_local_alarms",
    section="Monitoring",
    summary="Health check: fails while a resource alarm of the node is in effect",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
    banner="Asking node {node} to report any local resource alarms ...",
)
