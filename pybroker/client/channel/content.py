"""Contents (AMQP §2.3.5.2): a publish as octets, and deliveries out of the frames they come in.

basic.publish, deliver, ack and nack are read and written here by hand: they are nearly all a busy connection carries,
and the general codec costs several times as much. Everything else goes through `wire.methods`.
"""

import struct
from struct import Struct
from typing import Any, Final

from pamqp import base, commands

from pybroker.client.errors import FrameError, ProtocolSyntaxError, UnexpectedFrame
from pybroker.wire.frame import BODY, HEADER, METHOD, frame
from pybroker.wire.methods import encode_method, make_method

DELIVER: Final = b"\x00\x3c\x00\x3c"
ACK: Final = b"\x00\x3c\x00\x50"
NACK: Final = b"\x00\x3c\x00\x78"
# Frames of one publish around its body.
_FRAME_OVERHEAD: Final = 8
# Routes remembered at a time by a channel: an application has a few.
ROUTES_MAX: Final = 1_024

_header_head: Final = Struct(">BHIHHQ").pack
_body_head: Final = Struct(">BHI").pack
_unpack_tag: Final = Struct(">Q").unpack_from
_unpack_settle: Final = Struct(">QB").unpack_from
_unpack_header: Final = Struct(">HHQ").unpack_from
_ack_frame: Final = Struct(">BHI4sQBB").pack

NO_PROPERTIES: Final = b"\0\0"


class Encoder:
    """Publishes of one channel as octets."""

    __slots__ = ("_body_octets_max", "_channel", "_routes")

    def __init__(self, channel: int, frame_octets_max: int) -> None:
        self._channel = channel
        self._body_octets_max = frame_octets_max - _FRAME_OVERHEAD
        self._routes: dict[tuple[str, str, bool, bool], bytes] = {}

    def encode(
        self, exchange: str, routing_key: str, props: bytes, body: bytes, *, mandatory: bool, immediate: bool
    ) -> bytes:
        """Return all frames of one publish.

        Raises ValueError for a name above 255 octets, and for properties that are larger than a frame: AMQP sends them
        in one.
        """
        route = (exchange, routing_key, mandatory, immediate)
        method = self._routes.get(route)
        if method is None:
            method = self._encode_route(*route)
        size = len(body)
        channel = self._channel
        header_octets = 12 + len(props)
        if header_octets > self._body_octets_max:
            text = f"the properties with their headers have {len(props)} octets"
            raise ValueError(f"{text}, {self._body_octets_max - 12} fit into a frame of this connection (frame_max)")
        header = _header_head(HEADER, channel, header_octets, 60, 0, size)
        if not size:
            return b"%b%b%b\xce" % (method, header, props)
        if size <= self._body_octets_max:
            return b"%b%b%b\xce%b%b\xce" % (method, header, props, _body_head(BODY, channel, size), body)
        step = self._body_octets_max
        pieces = [frame(BODY, channel, body[at : at + step]) for at in range(0, size, step)]
        return b"".join([method, header, props, b"\xce", *pieces])

    def _encode_route(self, exchange: str, routing_key: str, mandatory: bool, immediate: bool) -> bytes:
        method = make_method(
            commands.Basic.Publish,
            exchange=exchange,
            routing_key=routing_key,
            mandatory=mandatory,
            immediate=immediate,
        )
        octets = encode_method(self._channel, method)
        if len(self._routes) >= ROUTES_MAX:
            del self._routes[next(iter(self._routes))]
        self._routes[exchange, routing_key, mandatory, immediate] = octets
        return octets


def encode_ack(channel: int, delivery_tag: int, multiple: bool) -> bytes:
    """Return a basic.ack frame. Raises struct.error for a tag that is no unsigned 64-bit integer."""
    return _ack_frame(METHOD, channel, 13, ACK, delivery_tag, multiple, 0xCE)


def decode_settle(payload: bytes) -> tuple[int, bool]:
    """Return delivery tag and `multiple` of a basic.ack or basic.nack. Raises ProtocolSyntaxError (502)."""
    if len(payload) != 13:
        raise ProtocolSyntaxError("a basic.ack or basic.nack has 13 octets")
    tag, bits = _unpack_settle(payload, 4)
    return tag, bits & 1 == 1


def decode_deliver(payload: bytes) -> tuple[str, int, bool, str, str]:
    """Return consumer tag, delivery tag, redelivered, exchange, routing key of a basic.deliver. Raises as above."""
    try:
        at = 5 + payload[4]
        consumer_tag = payload[5:at].decode()
        (delivery_tag,) = _unpack_tag(payload, at)
        redelivered = payload[at + 8] & 1 == 1
        start = at + 10
        at = start + payload[at + 9]
        exchange = payload[start:at].decode()
        routing_key = payload[at + 1 :].decode()
        if payload[at] == len(payload) - at - 1:
            return consumer_tag, delivery_tag, redelivered, exchange, routing_key
    except (IndexError, ValueError, struct.error):
        pass
    raise ProtocolSyntaxError("a basic.deliver that is not well formed")


class ContentAssembler:
    """The content that is coming on one channel: its method, then a header, then bodies (AMQP §4.2.6)."""

    __slots__ = ("_left", "_method", "_octets_max", "_parts", "_props")

    def __init__(self, octets_max: int) -> None:
        self._octets_max = octets_max
        self._method: Any = None
        self._props = b""
        self._left = 0
        self._parts: list[bytes] = []

    def begin(self, method: base.Frame | tuple[str, int, bool, str, str]) -> None:
        """Take the method in front of a content. Raises UnexpectedFrame (505)."""
        if self._method is not None:
            raise UnexpectedFrame("a content's method came inside another content")
        self._method = method

    def expect_method(self) -> None:
        """Say that a method without content has come. Raises UnexpectedFrame (505)."""
        if self._method is not None:
            raise UnexpectedFrame("a method came inside a content")

    def header(self, payload: bytes) -> tuple[Any, bytes, bytes] | None:
        """Take the header; return (method, property octets, body) if that was all. Raises AmqpError (hard)."""
        if self._method is None or self._props:
            raise UnexpectedFrame("a content header came where none was due")
        class_id, _, size = _unpack_header(payload)
        if class_id != 60:
            raise FrameError(f"a content header of class {class_id}")
        if size > self._octets_max:
            raise FrameError(f"a body of {size} octets; the maximum of this client is {self._octets_max}")
        self._props = payload[12:]
        if len(self._props) < 2:
            raise ProtocolSyntaxError("a content header without property flags")
        self._left = size
        return None if size else self._finish(b"")

    def body(self, payload: bytes) -> tuple[Any, bytes, bytes] | None:
        """Take a part of the body; return the whole content with its last one. Raises AmqpError (hard)."""
        left = self._left = self._left - len(payload)
        if not self._props or left < 0:
            raise UnexpectedFrame("a body frame came where none was due")
        if not left and not self._parts:
            return self._finish(payload)
        self._parts.append(payload)
        return None if left else self._finish(b"".join(self._parts))

    def _finish(self, body: bytes) -> tuple[Any, bytes, bytes]:
        whole = self._method, self._props, body
        self._method = None
        self._props = b""
        self._parts = []
        return whole
