"""list_exchanges: the exchanges of a virtual host."""

from typing import TYPE_CHECKING, NamedTuple

from pybroker.control import figures
from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Column, ColumnsArg, Command, Node, VHostArg
from pybroker.core.stats.metrics import EXCHANGE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.routing.exchange import Exchange


class Args(NamedTuple):
    """Columns and virtual host."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterable[Exchange]":
    """Return the exchanges in the order they were declared, the default one first."""
    return list(find_vhost(node.broker, args.vhost).exchanges.values())


COLUMNS = (
    Column("name", lambda x: x.name, "name; the default exchange has none"),
    Column("type", lambda x: x.TYPE, "direct, fanout, topic, headers, or an x- type"),
    Column("durable", lambda x: x.durable, "whether it survives a restart"),
    Column("auto_delete", lambda x: x.auto_delete, "whether it is deleted with its last binding"),
    Column("internal", lambda x: x.internal, "whether only other exchanges may publish to it"),
    Column("arguments", lambda x: x.arguments, "arguments it was declared with", table=True),
    *figures.columns(EXCHANGE, "messages_delayed"),
    Column("policy", lambda x: x.policy, "name of its policy"),
)

COMMAND = Command(
    name="list_exchanges",
    section="Monitoring",
    summary="Lists exchanges",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=("name", "type"),
    banner="Listing exchanges for vhost {vhost} ...",
)
