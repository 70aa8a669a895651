"""Deliveries as a broker sends them, and whatever else it may send to the bulk parser."""

import struct

from pamqp import commands

from pybroker.spark.parse.frame_batch_parser import CONSUMER_TAG
from pybroker.wire.frame import BODY, HEADER, HEARTBEAT_FRAME, METHOD, frame
from pybroker.wire.methods import encode_method, make_method

HEARTBEAT = HEARTBEAT_FRAME
FRAME_OCTETS_MAX = 4_096


def deliver(
    tag: int,
    body: bytes = b"",
    *,
    exchange: bytes = b"",
    key: bytes = b"k",
    redelivered: bool = False,
    props: bytes = b"\0\0",
    step: int = FRAME_OCTETS_MAX - 8,
) -> bytes:
    """Return the frames of one delivery."""
    consumer = CONSUMER_TAG.encode()
    method = b"\0\x3c\0\x3c" + bytes((len(consumer),)) + consumer + struct.pack(">QB", tag, redelivered)
    method += bytes((len(exchange),)) + exchange + bytes((len(key),)) + key
    header = struct.pack(">HHQ", 60, 0, len(body)) + props
    pieces = [frame(BODY, 1, body[at : at + step]) for at in range(0, len(body), step)]
    return frame(METHOD, 1, method) + frame(HEADER, 1, header) + b"".join(pieces)


def cancel() -> bytes:
    """Return a basic.cancel of the broker's."""
    return encode_method(1, make_method(commands.Basic.Cancel, consumer_tag=CONSUMER_TAG))
