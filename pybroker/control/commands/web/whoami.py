"""whoami: the user of a session, and what this user sees."""

from typing import Any

from pybroker.control.access import vhosts_seen
from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return name, tags, and the virtual hosts that the user sees."""
    del args
    user = node.user
    return {"name": user.name, "tags": list(user.tags), "vhosts": list(vhosts_seen(user, node.broker))}


COMMAND = Command(
    name="whoami",
    section="Monitoring",
    summary="Tells who the user of a session is",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
    app="any",
)
