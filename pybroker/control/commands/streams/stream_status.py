"""stream_status: all that is known of one stream: its offsets, files, limits and consumers."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.stream_places import find_stream
from pybroker.control.spec import Arg, Command, Node, VHostArg
from pybroker.humanize import utc

if TYPE_CHECKING:
    from pybroker.core.queue.pause import Pause
    from pybroker.core.stream.reader import Reader


class Args(NamedTuple):
    """The stream."""

    stream: Annotated[str, Arg("name of the stream", names="queue")]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the figures as a document, the slowest consumer first. Raises Refused."""
    stream = find_stream(find_vhost(node.broker, args.vhost), args.stream)
    limits = stream.limits
    readers = sorted(stream.readers.values(), key=lambda reader: -reader.lag)
    return {
        "name": stream.name,
        "vhost": args.vhost,
        "state": stream.state,
        "paused": _paused(stream.paused),
        "policy": stream.applied.policy,
        "operator_policy": stream.applied.operator_policy,
        "messages": stream.messages,
        "first_offset": stream.first_offset,
        "last_chunk_offset": stream.last_chunk_offset,
        "next_offset": stream.next_offset,
        "oldest": _time(stream.oldest_ms),
        "newest": _time(stream.newest_ms),
        "segments": stream.files.segment_count,
        "octets": stream.files.octets,
        "octets_pending": stream.pending,
        "memory": stream.memory_octets,
        "max_length_bytes": limits.octets_max,
        "max_age_ms": limits.age_max_ms,
        "max_segment_size_bytes": stream.segment_octets_max,
        "readers": [_reader(reader) for reader in readers],
    }


def _time(timestamp_ms: int) -> str | None:
    return utc(timestamp_ms) if timestamp_ms else None


def _paused(order: "Pause | None") -> dict[str, Any] | None:
    if order is None:
        return None
    return {"what": order.what, "user": order.user, "since": utc(order.since_ms), "why": order.why}


def _reader(reader: "Reader") -> dict[str, Any]:
    consumer: Any = reader.consumer
    session = consumer.channel.session
    return {
        "consumer_tag": consumer.tag,
        "connection": session.name,
        "connection_pid": session.pid,
        "user_provided_name": session.log_fields().get("client_name", ""),
        "channel": consumer.channel.number,
        "user": session.user.name if session.user is not None else "",
        "next_offset": reader.next_offset,
        "lag": reader.lag,
        "prefetch_count": consumer.prefetch,
        "credits": consumer.chunks if consumer.takes_chunks else None,
        "unacknowledged": consumer.unacked,
        "skipped": reader.skipped,
    }


COMMAND = Command(
    name="stream_status",
    section="Streams",
    summary="Displays a stream's offsets, files, limits and consumers",
    args=Args,
    effect="read",
    access="management",
    run=run,
    banner="Status of stream '{stream}' in vhost '{vhost}' ...",
)
