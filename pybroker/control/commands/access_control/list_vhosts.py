"""list_vhosts: the virtual hosts."""

from typing import TYPE_CHECKING, Any, NamedTuple

from pybroker.control.spec import Column, ColumnsArg, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.topology.vhost import VHost


class Args(NamedTuple):
    """Columns."""

    columns: ColumnsArg = ()


def run(node: Node, args: Args) -> "Iterable[VHost]":
    """Return the virtual hosts in the order they were added."""
    del args
    return list(node.broker.vhosts.values())


def _metadata(vhost: "VHost") -> dict[str, Any]:
    return {
        "description": vhost.description,
        "tags": list(vhost.tags),
        "default_queue_type": vhost.queue_type or "classic",
        **({"protected_from_deletion": True} if vhost.protected else {}),
    }


COLUMNS = (
    Column("name", lambda v: v.name, "name"),
    Column("description", lambda v: v.description, "description"),
    Column("tags", lambda v: list(v.tags), "tags"),
    Column(
        "default_queue_type",
        lambda v: v.queue_type or "classic",
        "type of a durable queue declared without x-queue-type",
    ),
    Column("protected_from_deletion", lambda v: v.protected, "whether delete_vhost is refused"),
    Column("tracing", lambda v: v.firehose, "whether its messages are copied to amq.rabbitmq.trace"),
    Column("metadata", _metadata, "description, tags and default queue type together"),
    Column("cluster_state", lambda v: {v.broker.settings.node_name: "running"}, "its state on each node"),
)

COMMAND = Command(
    name="list_vhosts",
    section="Access Control",
    summary="Lists virtual hosts",
    args=Args,
    effect="read",
    access="monitoring",
    run=run,
    columns=COLUMNS,
    default=("name",),
    banner="Listing vhosts ...",
)
