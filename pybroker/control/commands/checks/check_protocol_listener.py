"""check_protocol_listener: health check that fails unless a protocol is listened for."""

from typing import Annotated, NamedTuple

from pybroker.control.spec import EX_UNAVAILABLE, Arg, Command, Node, Refused

# Names that rabbitmq-diagnostics takes for the same thing (core/listeners.ex).
SYNONYMS = {"amqp091": "amqp", "amqp0.9.1": "amqp", "amqp0-9-1": "amqp", "amqp-0-9-1": "amqp", "amqps": "amqp/ssl"}


class Args(NamedTuple):
    """The protocol."""

    protocol: Annotated[str, Arg("protocol, such as amqp")]


def run(node: Node, args: Args) -> str:
    """Return rabbitmq-diagnostics' sentence. Raises Refused when there is no such listener."""
    protocol = SYNONYMS.get(args.protocol.lower(), args.protocol.lower())
    if not any(one.protocol == protocol for one in node.broker.listeners):
        found = ", ".join(sorted({one.protocol for one in node.broker.listeners}))
        text = f"No listener for protocol {protocol} is active on node {node.name}. "
        raise Refused(f"{text}Found listeners for the following protocols: {found}", EX_UNAVAILABLE)
    return f"A listener for protocol {protocol} is running on node {node.name}."


COMMAND = Command(
    name="check_protocol_listener",
    section="Monitoring",
    summary="Health check: fails unless the node listens for this protocol",
    args=Args,
    effect="read",
    access="management",
    run=run,
    banner="Asking node {node} if there's an active listener for protocol {protocol} ...",
    app="any",
)
