"""list_stream_connections: connections of the stream protocol."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.control.commands.listings.list_connections import COLUMNS as OF_CONNECTIONS
from pybroker.control.spec import Column, ColumnsArg, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.stream.session import StreamSession


class Args(NamedTuple):
    """Connections belong to the node, so there is no virtual host to choose."""

    columns: ColumnsArg = ()


def run(node: Node, args: Args) -> "Iterable[StreamSession]":  # noqa: ARG001 - the columns are rendered elsewhere
    """Return the connections in the order they came; those that have not spoken yet are none."""
    sessions: list[Any] = list(node.broker.sessions.values())
    return (each for each in sessions if each.protocol == "stream" and each.state not in {"header", "closed"})


# RabbitMQ's names of what list_connections shows by others.
OTHERS: Final = {"name": "conn_name", "state": "connection_state", "timeout": "heartbeat"}
# A connection of the stream protocol has no channels, and one version.
LEFT_OUT: Final = frozenset({"channels", "channel_max", "container_id", "protocol"})
COLUMNS = (
    *(
        column._replace(name=OTHERS.get(column.name, column.name))
        for column in OF_CONNECTIONS
        if column.name not in LEFT_OUT
    ),
    Column("publishers", lambda s: len(s.channel.publishers), "number of its publishers"),
    Column("subscriptions", lambda s: len(s.channel.consumers), "number of its subscriptions"),
)

COMMAND = Command(
    name="list_stream_connections",
    section="Streams",
    summary="Lists connections of the stream protocol",
    args=Args,
    effect="read",
    access="monitoring",
    run=run,
    columns=COLUMNS,
    default=("conn_name", "user", "connection_state", "publishers", "subscriptions"),
    banner="Listing stream connections ...",
)
