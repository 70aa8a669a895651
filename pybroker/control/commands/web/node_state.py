"""node_state: whether the node serves clients, and which program it is; for health checks without a login."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node
from pybroker.version import RABBITMQ_VERSION, VERSION


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return the state, the protocols that are listened for, and whether another connection would be let in."""
    del args
    broker = node.broker
    most = broker.settings.connection_max
    return {
        "node": node.name,
        "version": VERSION,
        "rabbitmq_version": RABBITMQ_VERSION,
        "in_service": node.daemon.app_running and node.daemon.recovering is None,
        "protocols": sorted({one.protocol for one in broker.listeners}),
        "below_connection_limit": most is None or len(broker.sessions) < most,
    }


COMMAND = Command(
    name="node_state",
    section="Monitoring",
    summary="Tells pybroker-web whether the node serves clients",
    args=NoArgs,
    effect="read",
    access="none",
    run=run,
    app="any",
)
