"""Offsets that consumers keep under a name, and the offset that a place in a stream has."""

from typing import TYPE_CHECKING

from pybroker.core.auth.permissions import READ
from pybroker.offset_spec import OffsetSpec
from pybroker.stream.access import NAME_OCTETS_MAX, find_stream, may, stream_of, tracking_of
from pybroker.stream.refused import Refused, refusal
from pybroker.wire.stream.codes import Code, OffsetType
from pybroker.wire.stream.frame import response

if TYPE_CHECKING:
    from pybroker.stream.session import StreamSession
    from pybroker.wire.stream import commands
    from pybroker.wire.stream.fields import Offset

_NAMES = {OffsetType.FIRST: "first", OffsetType.LAST: "last", OffsetType.NEXT: "next"}


def spec_of(begin: "Offset") -> OffsetSpec:
    """Return the place where a client wants to begin."""
    if begin.type is OffsetType.OFFSET:
        return OffsetSpec(offset=begin.value)
    if begin.type is OffsetType.TIMESTAMP:
        return OffsetSpec(timestamp_ms=max(0, begin.value))
    return OffsetSpec(_NAMES[begin.type])


def store_offset(session: "StreamSession", command: "commands.StoreOffset") -> None:
    """Keep an offset under a name. The command has no response: if that cannot be done, the log alone says why."""
    stream = find_stream(session, command.stream)
    if not may(session, READ, command.stream):
        why = "the user may not read it"
    elif stream is None:
        why = "there is no such stream"
    elif not command.reference:
        why = "the name is empty"
    elif len(command.reference.encode()) > NAME_OCTETS_MAX:
        why = f"the name has more than {NAME_OCTETS_MAX} octets"
    else:
        tracking_of(stream).store_offset(command.reference, command.offset)
        return
    what = f"offset {command.offset} of {command.reference!r:.300} in stream {command.stream!r:.300}"
    session.broker.warn("stream.offset_not_stored", f"offset {session.id}", f"cannot store {what}: {why}", session)


def query_offset(session: "StreamSession", command: "commands.QueryOffset") -> None:
    """Answer with the offset that is kept under a name."""
    stream = stream_of(session, command.stream, READ)
    offset = tracking_of(stream).offset(command.reference)
    if offset is None:
        raise Refused(Code.NO_OFFSET)
    session.channel.reply(response(command.key, command.correlation_id, Code.OK, offset.to_bytes(8)))


def resolve_offset_spec(session: "StreamSession", command: "commands.ResolveOffsetSpec") -> None:
    """Answer with the offset of a place, which may have to be looked up in the stream's files."""
    stream = stream_of(session, command.stream, READ)
    channel = session.channel

    def found(offset: int | BaseException) -> None:
        if session.finished:
            return
        if not isinstance(offset, int):
            channel.reply(refusal(command, Code.NO_OFFSET))
            return
        there = min(max(offset, stream.first_offset), stream.next_offset)
        content = OffsetType.OFFSET.to_bytes(2) + there.to_bytes(8)
        channel.reply(response(command.key, command.correlation_id, Code.OK, content))

    stream.locate(spec_of(command.begin), found)
