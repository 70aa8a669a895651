"""The listeners as RabbitMQ's tools show them: one document each, and one line for people."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pybroker.core.broker import Broker


# By protocol; RabbitMQ's words.
PURPOSES: Final = {
    "amqp": "AMQP 0-9-1",
    "amqp/ssl": "AMQP 0-9-1 over TLS",
    "stream": "stream",
    "stream/ssl": "stream over TLS",
}


def documents(broker: "Broker") -> list[dict[str, Any]]:
    """Return interface, port (0 for a Unix socket, whose path is the interface), protocol and purpose of each."""
    return [
        {
            "node": broker.settings.node_name,
            "protocol": one.protocol,
            "interface": one.path or (f"[{one.interface}]" if ":" in one.interface else one.interface),
            "port": one.port,
            "purpose": PURPOSES[one.protocol],
        }
        for one in broker.listeners
    ]


def lines(listeners: Iterable[dict[str, Any]]) -> list[str]:
    """Return `Interface: [::], port: 5672, protocol: amqp, purpose: AMQP 0-9-1` of each."""
    template = "Interface: {interface}, port: {port}, protocol: {protocol}, purpose: {purpose}"
    return [template.format_map(one) for one in listeners]


def ports(broker: "Broker") -> str:
    """Return the ports that are listened on, and the paths of Unix sockets: `5672, /run/amqp.sock`."""
    numbers = sorted({one.port for one in broker.listeners if not one.path})
    return ", ".join([*map(str, numbers), *sorted(one.path for one in broker.listeners if one.path)])
