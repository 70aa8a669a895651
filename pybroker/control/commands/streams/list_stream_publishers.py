"""list_stream_publishers: publishers of the stream protocol."""

from typing import TYPE_CHECKING, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Column, ColumnsArg, Command, Node, VHostArg
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.stream.publishers import Publisher


class Args(NamedTuple):
    """Columns and the virtual host."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterable[Publisher]":
    """Yield the publishers, stream by stream, in the order they came."""
    queues: list[Any] = [queue for queue in find_vhost(node.broker, args.vhost).queues.values() if queue.retains]
    for stream in as_they_were(queues):
        yield from list(stream.publishers)


COLUMNS = (
    Column("connection_pid", lambda p: p.session.pid, "id of its connection"),
    Column("conn_name", lambda p: p.session.name, "name of its connection"),
    Column("publisher_id", lambda p: p.id, "its number on this connection"),
    Column("stream", lambda p: p.stream.name, "stream it publishes to"),
    Column("reference", lambda p: p.name, "its name, by which messages that come again are known; empty: it has none"),
    Column("messages_published", lambda p: p.published, "messages that it published"),
    Column("messages_confirmed", lambda p: p.confirmed, "messages of these that are confirmed"),
    Column("messages_errored", lambda p: p.refused, "messages of these that were refused"),
)

COMMAND = Command(
    name="list_stream_publishers",
    section="Streams",
    summary="Lists publishers of the stream protocol",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=tuple(column.name for column in COLUMNS if column.name != "conn_name"),
    banner="Listing stream publishers ...",
)
