"""list_consumers: the consumers of a virtual host and their queues."""

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Column, ColumnsArg, Command, Node, VHostArg
from pybroker.humanize import utc
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.amqp.consumer import AmqpConsumer
    from pybroker.core.queue.pause import Pause
    from pybroker.core.stream.reader import Reader
    from pybroker.core.stream.stream import Stream


class Args(NamedTuple):
    """Columns and virtual host."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterable[AmqpConsumer]":
    """Yield the consumers, queue by queue, in the order they subscribed."""
    for queue in as_they_were(find_vhost(node.broker, args.vhost).queues.values()):
        yield from cast("Iterable[AmqpConsumer]", queue.consumers)


def _order(consumer: "AmqpConsumer") -> "Pause | None":
    """Return the order by which it waits: its own, else its queue's."""
    order = consumer.paused or consumer.queue.paused
    return order if order is not None and order.consume else None


def _paused(consumer: "AmqpConsumer") -> str:
    if _order(consumer) is None:
        return ""
    return "queue" if consumer.paused is None else "consumer"


def _since(consumer: "AmqpConsumer") -> str:
    order = _order(consumer)
    return "" if order is None else utc(order.since_ms)


def _activity(consumer: "AmqpConsumer") -> str:
    consumers = consumer.queue.consumers
    if _order(consumer) is not None:
        # Differs from RabbitMQ: it cannot pause a queue or a consumer.
        return "paused"
    if consumer.takes_chunks and consumer.arguments.get("single-active-consumer") == "true":
        return "single_active" if consumer.active else "waiting"
    if not consumers.single_active:
        return "up"
    return "single_active" if consumers.active is consumer else "waiting"


def reader_of(consumer: "AmqpConsumer") -> "Reader | None":
    """Return where a consumer of a stream is, None for a queue's."""
    queue = consumer.queue
    return cast("Stream", queue).readers.get(consumer) if queue.retains else None


def _next_offset(consumer: "AmqpConsumer") -> Any:
    reader = reader_of(consumer)
    return "" if reader is None or reader.next_offset is None else reader.next_offset


def _lag(consumer: "AmqpConsumer") -> Any:
    reader = reader_of(consumer)
    return "" if reader is None else reader.lag


COLUMNS = (
    Column("queue_name", lambda c: c.queue.name, "queue it consumes from"),
    Column("channel_pid", lambda c: c.channel.pid, "id of its channel"),
    Column("consumer_tag", lambda c: c.tag, "consumer tag"),
    Column("ack_required", lambda c: not c.no_ack, "whether it acknowledges messages"),
    Column("prefetch_count", lambda c: c.prefetch, "prefetch limit; 0: none"),
    Column(
        "active",
        lambda c: c.active and _order(c) is None,
        "whether it receives messages; false if it or its queue is paused, or another one is single active",
    ),
    Column("activity_status", _activity, "up, single_active, waiting or paused"),
    Column("arguments", lambda c: c.arguments, "arguments of basic.consume", table=True),
    Column("paused", _paused, "consumer or queue: which of them an operator paused"),
    Column("paused_by", lambda c: getattr(_order(c), "user", ""), "operator who did"),
    Column("paused_since", _since, "since when, in UTC"),
    Column("paused_since_ms", lambda c: getattr(_order(c), "since_ms", ""), "the same in milliseconds since 1970"),
    Column("paused_why", lambda c: getattr(_order(c), "why", ""), "reason for the pause"),
    Column("next_offset", _next_offset, "offset of the message of a stream that it receives next"),
    Column("lag", _lag, "messages of a stream that it has not received yet"),
)
RABBITMQ = ("queue_name", "channel_pid", "consumer_tag", "ack_required", "prefetch_count", "active", "arguments")

COMMAND = Command(
    name="list_consumers",
    section="Monitoring",
    summary="Lists the consumers of a virtual host",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=RABBITMQ,
    banner="Listing consumers in vhost {vhost} ...",
)
