"""Answers about streams: where they are, and how far they go."""

from typing import TYPE_CHECKING

from pybroker.core.auth.permissions import READ
from pybroker.stream.access import find_stream, stream_of
from pybroker.stream.advertised import advertised
from pybroker.wire.stream.codes import RESPONSE, Code
from pybroker.wire.stream.fields import numbers_octets, text_octets
from pybroker.wire.stream.frame import frame, response

if TYPE_CHECKING:
    from pybroker.stream.session import StreamSession
    from pybroker.wire.stream import commands

# Of a leader that there is none.
_NO_LEADER = b"\xff\xff"
# The only node, without replicas of its own.
_THIS_NODE = b"\0\0"
_NO_REPLICAS = bytes(4)


def metadata(session: "StreamSession", command: "commands.Metadata") -> None:
    """Answer where streams are, here or nowhere; anybody may ask, as in RabbitMQ 3.13."""
    told, is_here = [], False
    for name in dict.fromkeys(command.streams):
        code = Code.STREAM_DOES_NOT_EXIST if find_stream(session, name) is None else Code.OK
        is_here = is_here or code is Code.OK
        leader = _THIS_NODE if code is Code.OK else _NO_LEADER
        told.append(text_octets(name) + code.to_bytes(2) + leader + _NO_REPLICAS)
    nodes = bytes(4)
    if is_here:
        host, port = advertised(session)
        nodes = b"\0\0\0\1" + _THIS_NODE + text_octets(host) + port.to_bytes(4)
    # The one response without a code of its own.
    content = command.correlation_id.to_bytes(4) + nodes + len(told).to_bytes(4) + b"".join(told)
    session.channel.reply(frame(command.key | RESPONSE, content))


def stream_stats(session: "StreamSession", command: "commands.StreamStats") -> None:
    """Answer how far a stream goes; -1 where it has nothing. RabbitMQ's figures, then ours."""
    stream = stream_of(session, command.stream, READ)
    empty = not stream.messages
    stream.pieces.seal()  # where the last chunk begins stays as it is told
    last_chunk = -1 if empty else stream.last_chunk_offset
    figures = {
        "first_chunk_id": -1 if empty else stream.first_offset,
        "last_chunk_id": last_chunk,
        "committed_chunk_id": last_chunk,
        "committed_offset": -1 if empty else stream.next_offset - 1,
        "pybroker.stream_id": stream.id,
        "pybroker.first_timestamp": stream.oldest_ms,
        "pybroker.octets": stream.octets,
    }
    session.channel.reply(response(command.key, command.correlation_id, Code.OK, numbers_octets(figures)))
