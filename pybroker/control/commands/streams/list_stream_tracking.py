"""list_stream_tracking: offsets that consumers stored, and the last publishing ids of publishers."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.stream_places import find_stream, tracked
from pybroker.control.spec import EX_USAGE, Arg, BadArguments, Column, ColumnsArg, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Iterator


class Tracked(NamedTuple):
    """One value; `lag` is that of an offset."""

    type: str
    name: str
    value: int
    lag: int | str


class Args(NamedTuple):
    """The stream, and which values."""

    stream: Annotated[str, Arg("name of the stream", names="queue")]
    columns: ColumnsArg = ()
    offset: Annotated[bool, Arg("only offsets of consumers", "--offset")] = False
    writer: Annotated[bool, Arg("only publishing ids of publishers", "--writer")] = False
    everything: Annotated[bool, Arg("both, as without an option", "--all")] = False
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse more than one choice. Raises BadArguments."""
    if args.offset + args.writer + args.everything > 1:
        raise BadArguments("Specify only one of --all, --offset, --writer.", EX_USAGE)


def run(node: Node, args: Args) -> "Iterator[Tracked]":
    """Yield the values by name. Raises Refused."""
    stream = find_stream(find_vhost(node.broker, args.vhost), args.stream)
    for _ in tracked(node, stream, None):
        pass
    if not args.writer:
        for stored in stream.tracking.offsets:
            yield Tracked("offset", stored.name, stored.offset, stored.lag)
    if not args.offset:
        for name, publishing_id in stream.tracking.publisher_ids:
            yield Tracked("writer", name, publishing_id, "")


COLUMNS = (
    Column("type", lambda t: t.type, "offset: of a consumer; writer: of a publisher"),
    Column("name", lambda t: t.name, "name of the consumer or publisher"),
    Column("value", lambda t: t.value, "offset that was stored, or the last publishing id"),
    Column("lag", lambda t: t.lag, "messages behind a consumer's offset"),
)

COMMAND = Command(
    name="list_stream_tracking",
    section="Streams",
    summary="Lists offsets that consumers stored in a stream, and the last publishing ids of publishers",
    args=Args,
    effect="read",
    access="management",
    run=run,
    check=check,
    columns=COLUMNS,
    default=("type", "name", "value", "lag"),
    banner="Listing tracking information for stream {stream} ...",
)
