"""list_consumers: the consumers of a virtual host and their queues."""

from typing import TYPE_CHECKING, NamedTuple, cast

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Column, ColumnsArg, Command, Node, VHostArg
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.amqp.consumer import AmqpConsumer


class Args(NamedTuple):
    """Columns and virtual host."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterable[AmqpConsumer]":
    """Yield the consumers, queue by queue, in the order they subscribed."""
    for queue in as_they_were(find_vhost(node.broker, args.vhost).queues.values()):
        yield from cast("Iterable[AmqpConsumer]", queue.consumers)


def _channel_pid(consumer: "AmqpConsumer") -> str:
    return f"{consumer.channel.session.pid[:-2]}{consumer.channel.number}>"


def _activity(consumer: "AmqpConsumer") -> str:
    if not consumer.queue.consumers.single_active:
        return "up"
    return "single_active" if consumer.active else "waiting"


COLUMNS = (
    Column("queue_name", lambda c: c.queue.name, "queue it consumes from"),
    Column("channel_pid", _channel_pid, "id of its channel"),
    Column("consumer_tag", lambda c: c.tag, "consumer tag"),
    Column("ack_required", lambda c: not c.no_ack, "whether it acknowledges messages"),
    Column("prefetch_count", lambda c: c.prefetch, "prefetch limit; 0: none"),
    Column(
        "active", lambda c: c.active, "whether it receives messages; false if another consumer is the single active one"
    ),
    Column("activity_status", _activity, "up, single_active or waiting"),
    Column("arguments", lambda c: c.arguments, "arguments of basic.consume", table=True),
)

COMMAND = Command(
    name="list_consumers",
    section="Monitoring",
    summary="Lists the consumers of a virtual host",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=tuple(column.name for column in COLUMNS if column.name != "activity_status"),
    banner="Listing consumers in vhost {vhost} ...",
)
