"""top: the queues of all virtual hosts, their contents and totals; pybrokerctl makes rates of two looks."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control import figures
from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Arg, Column, ColumnsArg, Command, Node
from pybroker.core.stats.metrics import QUEUE
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.queue.queue import Queue


class Args(NamedTuple):
    """Columns, and one virtual host if not all."""

    columns: ColumnsArg = ()
    vhost: Annotated[str | None, Arg("only queues of this virtual host", "-p --vhost", "vhost", names="vhost")] = None


def run(node: Node, args: Args) -> "Iterator[Queue]":
    """Yield the queues, virtual host by virtual host. Raises Refused for an unknown one."""
    vhosts = list(node.broker.vhosts.values()) if args.vhost is None else [find_vhost(node.broker, args.vhost)]
    for vhost in vhosts:
        yield from as_they_were(vhost.queues.values())


def _head_age_ms(queue: "Queue") -> Any:
    # Every refresh asks for all queues: no head is read from disk for it.
    age_ms = queue.vhost.broker.ages.head_ms(queue)
    return "" if age_ms is None else age_ms


COLUMNS = (
    Column("vhost", lambda q: q.vhost.name, "virtual host"),
    Column("name", lambda q: q.name, "name"),
    *figures.columns(QUEUE, "messages_ready", "messages_unacknowledged", "consumers", "message_bytes"),
    *figures.columns(QUEUE, "publish"),
    Column("deliver", QUEUE["deliver_get"].read, QUEUE["deliver_get"].help),
    *figures.columns(QUEUE, "ack", "redeliver"),
    Column("head_age_ms", _head_age_ms, QUEUE["head_age_ms"].help),
    *figures.columns(QUEUE, "in_rate_1m", "out_rate_1m"),
    Column("state", lambda q: q.state, "always running"),
)

COMMAND = Command(
    name="top",
    section="Monitoring",
    summary="Shows queues, connections, rates and alarms live; in a pipe, lists the counters of queues",
    args=Args,
    effect="read",
    access="monitoring",
    run=run,
    columns=COLUMNS,
    banner="Listing counters of the queues of node {node} ...",
    timeout_s=60,
)
