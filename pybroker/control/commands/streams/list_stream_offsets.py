"""list_stream_offsets: offsets that consumers stored in all streams, also those of consumers that are not connected."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.stream_places import tracked
from pybroker.control.spec import Column, ColumnsArg, Command, Node, Refused, VHostArg
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.stream.tracking import StoredOffset


class Args(NamedTuple):
    """Columns and the virtual host."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterator[StoredOffset]":
    """Yield the offsets, stream by stream, by name."""
    queues = find_vhost(node.broker, args.vhost).queues.values()
    streams: list[Any] = [queue for queue in queues if queue.type == "stream"]
    for stream in as_they_were(streams):
        with suppress(Refused):  # it is deleted meanwhile
            for _ in tracked(node, stream, None):
                pass
            yield from stream.tracking.offsets


COLUMNS = (
    Column("stream", lambda o: o.stream.name, "name of the stream"),
    Column("name", lambda o: o.name, "name of the consumer"),
    Column("offset", lambda o: o.offset, "offset of the last message with which it is done"),
    Column("lag", lambda o: o.lag, "messages behind that offset"),
)

COMMAND = Command(
    name="list_stream_offsets",
    section="Streams",
    summary="Lists offsets that consumers stored in streams, and how far each is behind, connected or not",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=tuple(column.name for column in COLUMNS),
    banner="Listing stored offsets ...",
)
