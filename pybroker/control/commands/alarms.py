"""alarms: which resource alarms are in effect. Succeeds either way; check_alarms does not."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return the alarms: none, because this version raises none (status says so)."""
    del args
    return node.tell(f"Node {node.name} reported no alarms, local or clusterwide", alarms=[])


COMMAND = Command(
    name="alarms",
    section="Monitoring",
    summary="Lists the resource alarms in effect; this version raises none",
    args=NoArgs,
    effect="read",
    run=run,
    banner="Asking node {node} to report any known resource alarms ...",
)
