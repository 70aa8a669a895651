"""list_unresponsive_queues: queues that do not answer within a time. All of them answer where the node does."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Column, ColumnsArg, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.queue.queue import Queue


class Args(NamedTuple):
    """Columns, virtual host, and how long a queue may take."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"
    local: Annotated[bool, Arg("only queues of this node", "--local")] = False
    timeout_s: Annotated[int, Arg("timeout for a response, in seconds", "--queue-timeout", "queue-timeout")] = 15


def check(args: Args) -> None:
    """Refuse a time that is over before it begins. Raises BadArguments."""
    if args.timeout_s <= 0:
        raise BadArguments("Bad argument: --queue-timeout must be a number of seconds above 0", EX_DATAERR)


def run(node: Node, args: Args) -> "Iterable[Queue]":
    """Return the queues that do not run. Raises Refused.

    A queue here is no process of its own that could hang: the loop that runs this command runs all of them, so a node
    that answers at all has answered for its queues. Only the call itself may take too long (`--timeout`).
    """
    return [queue for queue in find_vhost(node.broker, args.vhost).queues.values() if queue.state != "running"]


COLUMNS = (
    Column("name", lambda q: q.name, "name"),
    Column("durable", lambda q: q.durable, "whether it survives a restart"),
    Column("auto_delete", lambda q: q.auto_delete, "whether it is deleted with its last consumer"),
    Column("arguments", lambda q: q.arguments, "arguments it was declared with", table=True),
    Column(
        "pid",
        lambda q: f"<{q.vhost.broker.settings.node_name}.{q.vhost.broker.epoch}.0.0>",
        "id of the node's process",
    ),
)

COMMAND = Command(
    name="list_unresponsive_queues",
    section="Monitoring",
    summary="Lists the queues of a virtual host that do not respond in time; none unless the node is stuck",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=("name",),
    banner="Listing unresponsive queues for vhost {vhost} ...",
    check=check,
)
