"""list_stream_consumers: subscriptions of the stream protocol."""

from typing import TYPE_CHECKING, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Column, ColumnsArg, Command, Node, VHostArg
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.channel.consumer import Consumer


class Args(NamedTuple):
    """Columns and the virtual host."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterable[Consumer]":
    """Yield the subscriptions, stream by stream, in the order they came."""
    queues: list[Any] = [queue for queue in find_vhost(node.broker, args.vhost).queues.values() if queue.retains]
    for stream in as_they_were(queues):
        yield from [consumer for consumer in stream.consumers if consumer.takes_chunks]


def _shown(number: int | None) -> int | str:
    return "" if number is None else number


def _status(subscription: Any) -> str:
    if subscription.paused is not None:
        return "paused"
    if subscription.arguments.get("single-active-consumer") != "true":
        return "up"
    return "single_active" if subscription.active else "waiting"


COLUMNS = (
    Column("connection_pid", lambda s: s.channel.session.pid, "id of its connection"),
    Column("conn_name", lambda s: s.channel.session.name, "name of its connection"),
    Column("subscription_id", lambda s: s.id, "its number on this connection"),
    Column("stream", lambda s: s.queue.name, "stream it reads"),
    Column("messages_consumed", lambda s: s.delivered, "messages that it was sent"),
    Column(
        "offset",
        lambda s: _shown(s.queue.last_offset_of(s)),
        "offset of the last message that it was sent; empty if it waits for its turn in a group",
    ),
    Column("offset_lag", lambda s: _shown(s.queue.lag_of(s)), "messages that it has still to get"),
    Column("credits", lambda s: s.chunks, "chunks that it asked for and has still to get"),
    Column("active", lambda s: s.active, "whether it receives messages"),
    Column("activity_status", _status, "up, single_active, waiting for its turn in a group, or paused"),
    Column("properties", lambda s: s.arguments, "properties of its Subscribe", table=True),
)

COMMAND = Command(
    name="list_stream_consumers",
    section="Streams",
    summary="Lists consumers of the stream protocol, and how far each is behind",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=tuple(column.name for column in COLUMNS if column.name != "conn_name"),
    banner="Listing stream consumers ...",
)
