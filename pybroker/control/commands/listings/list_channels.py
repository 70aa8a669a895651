"""list_channels: the channels of every connection."""

from typing import TYPE_CHECKING, NamedTuple, cast

from pybroker.control import figures
from pybroker.control.spec import Column, ColumnsArg, Command, Node
from pybroker.core.stats.metrics import CHANNEL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.amqp.channel import AmqpChannel
    from pybroker.amqp.session import AmqpSession


class Args(NamedTuple):
    """Channels belong to the node, so there is no virtual host to choose."""

    columns: ColumnsArg = ()


def run(node: Node, args: Args) -> "Iterable[AmqpChannel]":
    """Yield the channels, connection by connection, in the order of their numbers."""
    del args
    for session in cast("list[AmqpSession]", list(node.broker.sessions.values())):
        for number in sorted(session.channels):
            # Between two slices a channel may have been closed.
            channel = session.channels.get(number)
            if channel is not None and not channel.starting:
                yield channel


COLUMNS = (
    Column("pid", lambda c: c.pid, "id: that of its connection, followed by the channel number"),
    Column("connection", lambda c: c.session.pid, "id of its connection"),
    Column("name", lambda c: f"{c.session.name} ({c.number})", "name of its connection, and channel number"),
    Column("number", lambda c: c.number, "number within the connection"),
    Column("user", lambda c: c.session.user.name if c.session.user else "", "user"),
    Column("vhost", lambda c: c.session.vhost.name if c.session.vhost else "", "virtual host"),
    Column("transactional", lambda c: c.transaction is not None, "whether it is in transaction mode"),
    Column("confirm", lambda c: c.confirms is not None, "whether it is in confirm mode"),
    *figures.columns(CHANNEL, "consumer_count", "messages_unacknowledged", "messages_uncommitted", "acks_uncommitted"),
    *figures.columns(CHANNEL, "messages_unconfirmed"),
    Column("prefetch_count", lambda c: c.prefetch, "prefetch limit of new consumers; 0: none"),
    Column("global_prefetch_count", lambda c: c.prefetch_global, "prefetch limit of the channel; 0: none"),
    Column("state", lambda c: c.session.shown_state, "state of its connection"),
)

COMMAND = Command(
    name="list_channels",
    section="Monitoring",
    summary="Lists the channels of every connection",
    args=Args,
    effect="read",
    access="monitoring",
    run=run,
    columns=COLUMNS,
    default=("pid", "user", "consumer_count", "messages_unacknowledged"),
    banner="Listing channels ...",
)
