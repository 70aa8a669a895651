"""alarms: what is short, and what else the operator must know. Succeeds either way; check_alarms does not."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return a sentence for each alarm and each notice; memory raises none in this version (status says so)."""
    del args
    found = [*node.broker.alarms.sentences(), *node.broker.notices]
    told = "no alarms, local or clusterwide" if not found else "the following alarms:\n" + "\n".join(found)
    return node.tell(f"Node {node.name} reported {told}", alarms=found)


COMMAND = Command(
    name="alarms",
    section="Monitoring",
    summary="Lists the alarms in effect: what is short, and what was damaged and had to be restored",
    args=NoArgs,
    effect="read",
    run=run,
    banner="Asking node {node} to report any known resource alarms ...",
)
