"""check_alarms: health check that fails while any alarm is in effect, on this node or another one."""

from pybroker.control import alarms
from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> str:
    """Return rabbitmq-diagnostics' sentence. Raises Refused while there is an alarm."""
    del args
    alarms.check(node.broker)
    return f"Node {node.name} reported no alarms, local or clusterwide"


COMMAND = Command(
    name="check_alarms",
    section="Monitoring",
    summary="Health check: fails while a resource alarm is in effect",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
    banner="Asking node {node} to report any local resource alarms ...",
)
