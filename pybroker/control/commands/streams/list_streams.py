"""list_streams: the streams of a virtual host: what they keep, and how far their consumers are behind."""

from typing import TYPE_CHECKING, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Column, ColumnsArg, Command, Node, VHostArg
from pybroker.humanize import utc
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.stream.reader import Reader
    from pybroker.core.stream.stream import Stream


class Args(NamedTuple):
    """Columns and the virtual host."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> "Iterable[Stream]":
    """Return the streams in the order they were declared."""
    queues = find_vhost(node.broker, args.vhost).queues.values()
    streams: list[Any] = [queue for queue in queues if queue.type == "stream"]
    return as_they_were(streams)


def _slowest(stream: "Stream") -> "Reader | None":
    return max(stream.readers.values(), key=lambda reader: reader.lag, default=None)


def _slowest_lag(stream: "Stream") -> Any:
    reader = _slowest(stream)
    return "" if reader is None else reader.lag


def _slowest_tag(stream: "Stream") -> str:
    reader = _slowest(stream)
    return "" if reader is None else reader.consumer.tag


def _time(timestamp_ms: int) -> Any:
    return utc(timestamp_ms) if timestamp_ms else ""


COLUMNS = (
    Column("name", lambda s: s.name, "name"),
    Column("messages", lambda s: s.messages, "messages that can be read"),
    Column("first_offset", lambda s: s.first_offset, "offset of the oldest message"),
    Column("next_offset", lambda s: s.next_offset, "offset of the next message that comes"),
    Column("octets", lambda s: s.files.octets, "octets of its segments on disk"),
    Column("segments", lambda s: s.files.segment_count, "number of its segments on disk"),
    Column("octets_pending", lambda s: s.pending, "octets of messages that are in the log, and move to a segment soon"),
    Column(
        "oldest",
        lambda s: _time(s.oldest_ms),
        "when its oldest messages came, in UTC; after a truncation, when their segment began",
    ),
    Column("oldest_ms", lambda s: s.oldest_ms or "", "the same in milliseconds since 1970"),
    Column("newest", lambda s: _time(s.newest_ms), "when its newest messages came, in UTC"),
    Column("newest_ms", lambda s: s.newest_ms or "", "the same in milliseconds since 1970"),
    Column("readers", lambda s: len(s.readers), "number of consumers"),
    Column("slowest_lag", _slowest_lag, "messages that the slowest consumer has still to get"),
    Column("slowest_tag", _slowest_tag, "tag of the slowest consumer"),
    Column("arguments", lambda s: s.arguments, "arguments it was declared with", table=True),
    Column("policy", lambda s: s.applied.policy, "name of its policy"),
    Column("operator_policy", lambda s: s.applied.operator_policy, "name of its operator policy"),
    Column("state", lambda s: s.state, "always running"),
)

COMMAND = Command(
    name="list_streams",
    section="Streams",
    summary="Lists streams, what they keep, and how far their consumers are behind",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=(
        "name",
        "messages",
        "first_offset",
        "next_offset",
        "octets",
        "octets_pending",
        "segments",
        "oldest",
        "readers",
        "slowest_lag",
    ),
    banner="Timeout: {timeout} seconds ...\nListing streams for vhost {vhost} ...",
    timeout_s=60,
)
