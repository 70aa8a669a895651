"""list_bindings: the bindings of a virtual host, those to the default exchange included, as RabbitMQ shows them."""

from typing import TYPE_CHECKING, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Column, ColumnsArg, Command, Node, VHostArg
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pybroker.core.routing.binding import Binding
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.topology.vhost import VHost


class Args(NamedTuple):
    """Columns and virtual host."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterable[Binding]":
    """Return the bindings, exchange by exchange."""
    return of_vhost(find_vhost(node.broker, args.vhost))


def of_vhost(vhost: "VHost") -> "Iterator[Binding]":
    """Yield the bindings of a virtual host, exchange by exchange."""
    for exchange in list(vhost.exchanges.values()):
        yield from of_exchange(exchange)


def of_exchange(exchange: "Exchange") -> "Iterator[Binding]":
    """Return the bindings from an exchange."""
    # Rows of the default exchange are made one by one: a list of very many would hold up everybody.
    return as_they_were(exchange.bindings()) if exchange.name else exchange.bindings()


COLUMNS = (
    Column("source_name", lambda b: b.source.name, "source exchange; the default exchange has no name"),
    Column("source_kind", lambda _: "exchange", "always exchange"),
    Column("destination_name", lambda b: b.destination.name, "destination queue or exchange"),
    Column("destination_kind", lambda b: b.destination.kind, "queue or exchange"),
    Column("routing_key", lambda b: b.routing_key, "binding key"),
    Column("arguments", lambda b: b.arguments, "arguments of the binding", table=True),
)

COMMAND = Command(
    name="list_bindings",
    section="Monitoring",
    summary="Lists the bindings of a virtual host",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    banner="Listing bindings for vhost {vhost}...",
)
