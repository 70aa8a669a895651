"""list_bindings: the bindings of a virtual host, those to the default exchange included, as RabbitMQ shows them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pybroker.control.lookup import find_vhost
from pybroker.control.spec import Column, ColumnsArg, Command, Node, VHostArg


class Args(NamedTuple):
    """Columns and virtual host."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"


class Row(NamedTuple):
    """One binding; those to the default exchange are implied and have no object of their own."""

    source_name: str
    destination_name: str
    destination_kind: str
    routing_key: str
    arguments: dict[str, object]


def run(node: Node, args: Args) -> Iterable[Row]:
    """Yield what every queue's name implies, then the bindings, exchange by exchange."""
    vhost = find_vhost(node.broker, args.vhost)

    def rows() -> Iterator[Row]:
        for name in list(vhost.queues):
            yield Row("", name, "queue", name, {})
        for exchange in list(vhost.exchanges.values()):
            for one in list(exchange.bindings()):
                yield Row(exchange.name, one.destination.name, one.destination.kind, one.routing_key, one.arguments)

    return rows()


COLUMNS = (
    Column("source_name", lambda b: b.source_name, "exchange that messages come from; the default one has no name"),
    Column("source_kind", lambda _: "exchange", "always exchange"),
    Column("destination_name", lambda b: b.destination_name, "queue or exchange that they go to"),
    Column("destination_kind", lambda b: b.destination_kind, "queue or exchange"),
    Column("routing_key", lambda b: b.routing_key, "binding key"),
    Column("arguments", lambda b: b.arguments, "arguments it was made with", table=True),
)

COMMAND = Command(
    name="list_bindings",
    section="Monitoring",
    summary="Lists the bindings of a virtual host",
    args=Args,
    effect="read",
    run=run,
    columns=COLUMNS,
    banner="Listing bindings for vhost {vhost}...",
)
