"""The overview: sums over all that the user sees."""

import platform
from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.control.access import MANAGEMENT
from pybroker.http.route import NO_LOGIN, Route
from pybroker.http.shapes import with_details
from pybroker.http.windows import LENGTHS, MESSAGES, window_of
from pybroker.version import RABBITMQ_VERSION, VERSION

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document

# RabbitMQ's words for the types of the specification.
_TYPE: Final = "AMQP {} exchange, as per the AMQP specification"
STANDARD_TYPES: Final = frozenset({"direct", "fanout", "headers", "topic"})
# RabbitMQ's name of what came or went: the node's.
CHURN: Final = {
    "channel_closed": "channels_closed",
    "channel_created": "channels_opened",
    "connection_closed": "connections_closed",
    "connection_created": "connections_opened",
    "queue_created": "queues_created",
    "queue_declared": "queues_declared",
    "queue_deleted": "queues_deleted",
}


def _overview(call: "Call") -> "Document":
    found = call.ask("overview")
    everything = found["churn"] is not None

    def details(kind: str, name: str) -> "Document":
        window = window_of(call.query, kind)
        if everything:
            return call.samples.of_node(name, window)
        return call.samples.of_vhosts(found["vhosts"], name, window)

    messages, churn = found["message_stats"], found["churn"] or {}
    return {
        "management_version": RABBITMQ_VERSION,
        "rates_mode": "basic",
        "product_name": "pybroker",
        "product_version": VERSION,
        "rabbitmq_version": RABBITMQ_VERSION,
        "cluster_name": found["cluster_name"],
        "erlang_version": f"Python {platform.python_version()}",
        "erlang_full_version": f"{platform.python_implementation()} {platform.python_version()}",
        "exchange_types": exchange_types(found["exchange_types"]),
        "disable_stats": False,
        "enable_queue_totals": False,
        "message_stats": with_details(messages, partial(details, MESSAGES)) if any(messages.values()) else {},
        "churn_rates": with_details(
            {name: churn[ours] for name, ours in CHURN.items() if ours in churn},
            lambda name: details(MESSAGES, CHURN[name]),
        ),
        "queue_totals": with_details(found["queue_totals"], partial(details, LENGTHS)),
        "object_totals": found["object_totals"],
        "statistics_db_event_queue": 0,
        "node": found["node"],
        "listeners": listeners(call, found["listeners"]),
        "contexts": contexts(call, found["node"]),
    }


def exchange_types(names: list[str]) -> "list[Document]":
    """Return what RabbitMQ says of types of exchanges."""
    return [
        {"name": name, "description": _TYPE.format(name) if name in STANDARD_TYPES else "", "enabled": True}
        for name in sorted(names)
    ]


def listeners(call: "Call", found: "list[Document]") -> "list[Document]":
    """Return the listeners of the node, and the one of this request."""
    here = [
        {"node": each["node"], "protocol": each["protocol"], "ip_address": each["interface"], "port": each["port"]}
        for each in found
    ]
    node = found[0]["node"] if found else ""
    return [*here, {"node": node, "protocol": call.protocol, "ip_address": call.host, "port": call.port}]


def contexts(call: "Call", node: str) -> "list[Document]":
    """Return the listener of this request as a context, which is RabbitMQ's word for it."""
    return [{"description": "RabbitMQ Management", "node": node, "path": "/", "port": str(call.port), "ssl_opts": []}]


def _extensions(call: "Call") -> "list[Document]":
    call.ask("whoami")
    return [{"javascript": "main.js"}]


def _version(_: "Call") -> str:
    return RABBITMQ_VERSION


def _auth(_: "Call") -> "Document":
    return {"oauth_enabled": False, "enable_uaa": False, "uaa_client_id": "", "uaa_location": ""}


ROUTES: Final = (
    Route("GET", "/api/overview", MANAGEMENT, _overview),
    Route("GET", "/api/extensions", MANAGEMENT, _extensions),
    Route("GET", "/api/version", NO_LOGIN, _version),
    Route("GET", "/api/auth", NO_LOGIN, _auth),
)
