"""alarms: shortages, and other notices for the operator. Succeeds either way; check_alarms does not."""

from typing import Any

from pybroker.control import alarms
from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return a sentence for each alarm and each notice; for programs what each is made of."""
    del args
    found, notices = alarms.documents(node.broker), alarms.notices(node.broker)
    lines = [*(one["message"] for one in found), *notices]
    told = "the following alarms:\n" + "\n".join(lines) if lines else "no alarms, local or clusterwide"
    places = alarms.by_place(node.broker, found) if found else {}
    return node.result(f"Node {node.name} reported {told}", alarms=found, **places, notices=notices)


COMMAND = Command(
    name="alarms",
    section="Monitoring",
    summary="Lists the alarms in effect: resource alarms; damage found at the start; certificates that expire soon",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
    banner="Asking node {node} to report any known resource alarms ...",
)
