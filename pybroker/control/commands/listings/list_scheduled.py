"""list_scheduled: the messages that wait in delayed message exchanges for their time."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.schedules import find_schedule, ready
from pybroker.control.spec import Arg, Column, ColumnsArg, Command, Node, VHostArg, split_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.delayed.listing import Listed


class Args(NamedTuple):
    """Columns, virtual host, and one exchange if not all."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"
    exchange: Annotated[
        str | None, Arg("only messages of this exchange", "--exchange", "exchange", names="exchange")
    ] = None


# Columns read off the messages themselves, for which evicted ones have to be read from disk.
CONTENTS = frozenset({"routing_key", "persistent", "message_id", "published_at", "headers"})


def run(node: Node, args: Args) -> "Iterator[Listed]":
    """Yield them exchange by exchange, in the order in which they are due. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    if args.exchange is not None:
        schedules = [find_schedule(vhost, args.exchange)]
    else:
        schedules = [ready(schedule) for schedule in vhost.schedules]
    contents = not CONTENTS.isdisjoint(split_columns(args.columns) or DEFAULT)
    return (each for schedule in schedules for each in schedule.walk(node.pause, contents=contents))


DEFAULT = ("id", "exchange", "routing_key", "deliver_at", "size")

COLUMNS = (
    Column("id", lambda m: m.waiting.seq, "id, for cancel_scheduled"),
    Column("exchange", lambda m: m.schedule.exchange.name, "exchange that holds it"),
    Column("routing_key", lambda m: m.routing_key, "routing key of the publish"),
    Column("deliver_at", lambda m: m.deliver_at, "when it is due, in UTC"),
    Column("deliver_at_ms", lambda m: m.deliver_at_ms, "the same in milliseconds since 1970"),
    Column("delay", lambda m: m.left_ms, "remaining delay in milliseconds"),
    Column("size", lambda m: m.waiting.size, "octets of its body"),
    Column("persistent", lambda m: m.persistent, "whether it survives a restart, if its exchange does"),
    Column("message_id", lambda m: m.message_id, "property message-id"),
    Column("published_at", lambda m: m.published_at, "when it was published, in UTC"),
    Column("headers", lambda m: m.headers, "its headers", table=True),
)

COMMAND = Command(
    name="list_scheduled",
    section="Monitoring",
    summary="Lists messages scheduled in delayed message exchanges",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=DEFAULT,
    banner="Listing scheduled messages for vhost {vhost} ...",
)
