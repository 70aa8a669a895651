"""Frames (AMQP §4.2.3): split octets into frames, and build them.

It knows the seven octets in front, the frame-end behind, and RabbitMQ's texts for what is wrong with either. It does
not know which frame may come when: that is the session's.

    0      1         3             7                  7 + length
    +------+---------+-------------+------------------+-----------+
    | type | channel | length      | payload          | frame-end |
    +------+---------+-------------+------------------+-----------+
"""

from struct import Struct
from typing import Final

from pybroker.errors import FrameError, UnexpectedFrame
from pybroker.wire.erlang import printed_binary

METHOD: Final = 1
HEADER: Final = 2
BODY: Final = 3
HEARTBEAT: Final = 8
FRAME_END: Final = 0xCE

# Type, channel and length; and these with the frame-end.
HEAD_OCTETS: Final = 7
EMPTY_FRAME_OCTETS: Final = 8

PROTOCOL_HEADER: Final = b"AMQP\x00\x00\x09\x01"
# The second is that of 0-9, which old clients send and speak 0-9-1 then (RabbitMQ: rabbit_reader.erl, handshake).
PROTOCOL_HEADERS: Final = (PROTOCOL_HEADER, b"AMQP\x01\x01\x00\x09")
HEARTBEAT_FRAME: Final = b"\x08\x00\x00\x00\x00\x00\x00\xce"

# Shortest payload of each known type: class and method; class, weight, body size and property flags are in properties.
_PAYLOAD_OCTETS_MIN: Final = {METHOD: 4, HEADER: 12, BODY: 0, HEARTBEAT: 0}

_HEAD: Final = Struct(">BHI")
_unpack_head = _HEAD.unpack_from
_pack_head = _HEAD.pack


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    """Return the octets of one frame of type `kind`, with frame-end."""
    return b"%b%b\xce" % (_pack_head(kind, channel, len(payload)), payload)


def split_frame(octets: bytes, start: int, frame_octets_max: int) -> tuple[int, int, int, int] | None:
    """Return (type, channel, payload start, payload end) of the frame at `start`; None while it is incomplete.

    The next frame begins one octet behind the payload's end. `frame_octets_max` is the negotiated frame-max, 0 for
    none. A declared length above it is refused before the payload has come, so that nobody has to buffer it.

    Raises FrameError (501), source: rabbit_reader:handle_input, rabbit_command_assembler:analyze_frame.
    """
    payload_start = start + HEAD_OCTETS
    if len(octets) < payload_start:
        return None
    kind, channel, length = _unpack_head(octets, start)
    # RabbitMQ lets clients be eight octets over, because quite some forget to count the frame's own.
    if length > frame_octets_max > 0:
        text = f"{{frame_too_large,{length},{frame_octets_max - EMPTY_FRAME_OCTETS}}}"
        raise FrameError(_describe(kind, b"", text))
    payload_end = payload_start + length
    if len(octets) <= payload_end:
        return None
    if octets[payload_end] != FRAME_END:
        marker = octets[payload_end]
        raise FrameError(_describe(kind, octets[payload_start:payload_end], f"{{invalid_frame_end_marker,{marker}}}"))
    shortest = _PAYLOAD_OCTETS_MIN.get(kind)
    if shortest is None or length < shortest or (kind == HEARTBEAT and length):
        raise unknown_frame(kind, octets[payload_start:payload_end])
    return kind, channel, payload_start, payload_end


def cut_body(octets: bytes, frame_octets_max: int) -> bytes:
    """Return a body frame that is longer than `frame_octets_max`, by less than half, as two that are not."""
    channel, most = int.from_bytes(octets[1:3]), frame_octets_max - EMPTY_FRAME_OCTETS
    payload = octets[HEAD_OCTETS:-1]
    return frame(BODY, channel, payload[:most]) + frame(BODY, channel, payload[most:])


def unknown_frame(kind: int, payload: bytes) -> FrameError:
    """Return the 501 of a frame of no known type, or too short for its type."""
    return FrameError(_describe(kind, payload, "unknown_frame"))


def unexpected_frame(kind: int, payload: bytes) -> UnexpectedFrame:
    """Return the 505 of a good frame at a bad time, e.g. a body on channel 0 or a heartbeat on another channel."""
    return UnexpectedFrame(_describe(kind, payload, ""))


def _describe(kind: int, payload: bytes, fault: str) -> str:
    which = "all" if len(payload) <= 16 else "first 16"
    text = f"type {kind}, {which} octets = {printed_binary(bytes(payload[:16]))}"
    return f"{text}: {fault}" if fault else text
