"""list_stream_consumer_groups: groups of consumers of the stream protocol of which one is active."""

from typing import TYPE_CHECKING, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Column, ColumnsArg, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Iterable


class Args(NamedTuple):
    """Columns and the virtual host."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterable[Any]":
    """Return the groups of a virtual host: stream, name and group each, in the order they were made."""
    vhost = find_vhost(node.broker, args.vhost)
    return [found for found in node.broker.streams.groups if found[0].vhost is vhost]


COLUMNS = (
    Column("stream", lambda g: g[0].name, "stream that it reads"),
    Column("reference", lambda g: g[1], "name of its consumers"),
    Column(
        "partition_index",
        lambda g: -1 if g[2].partition is None else g[2].partition,
        "number of the stream in its super stream; -1: it is in none",
    ),
    Column("consumers", lambda g: len(g[2].members), "number of its consumers"),
)

COMMAND = Command(
    name="list_stream_consumer_groups",
    section="Streams",
    summary="Lists groups of stream consumers of which a single one is active",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=tuple(column.name for column in COLUMNS),
    banner="Listing stream consumer groups ...",
)
