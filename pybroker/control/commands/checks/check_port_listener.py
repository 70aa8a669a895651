"""check_port_listener: health check that fails unless somebody listens on a port."""

from typing import Annotated, NamedTuple

from pybroker.control import listeners
from pybroker.control.spec import EX_UNAVAILABLE, Arg, Command, Node, Refused


class Args(NamedTuple):
    """The port."""

    port: Annotated[int, Arg("TCP port")]


def run(node: Node, args: Args) -> str:
    """Return rabbitmq-diagnostics' sentence. Raises Refused when there is no such listener."""
    if not any(one.port == args.port and not one.path for one in node.broker.listeners):
        found = listeners.ports(node.broker)
        text = f"No listener for port {args.port} is active on node {node.name}. "
        raise Refused(f"{text}Found listeners that use the following ports: {found}", EX_UNAVAILABLE)
    return f"A listener for port {args.port} is running on node {node.name}."


COMMAND = Command(
    name="check_port_listener",
    section="Monitoring",
    summary="Health check: fails unless the node listens on this port",
    args=Args,
    effect="read",
    access="management",
    run=run,
    banner="Asking node {node} if there's an active listener on port {port} ...",
    app="any",
)
