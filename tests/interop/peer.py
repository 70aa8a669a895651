"""A blocking AMQP 0-9-1 client of a hundred lines for the tests that need to see, or to spoil, every octet.

Methods go through pamqp (an oracle that is not ours to fix); frames and contents are laid out here. It knows nothing
of the broker's code.
"""

import socket
import struct
from collections import deque
from types import TracebackType
from typing import NamedTuple, Self

from pamqp import base, commands, frame as codec

FRAME_END = b"\xce"
METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
PROTOCOL_HEADER = b"AMQP\0\0\x09\x01"
PERSISTENT = b"\x10\x00\x02"
NO_PROPERTIES = b"\0\0"


class Frame(NamedTuple):
    """One frame as it came."""

    type: int
    channel: int
    payload: bytes


class Delivery(NamedTuple):
    """One content with the method in front of it; `properties` are the octets behind the header's body size."""

    method: base.Frame
    properties: bytes
    body: bytes
    frame_octets: list[int]


class ClosedError(Exception):
    """The broker closed the socket."""


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    """Return the octets of one frame."""
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + FRAME_END


def content(body: bytes, properties: bytes, channel: int, piece_octets: int) -> bytes:
    """Return the header frame and the body frames, each with at most `piece_octets` of the body."""
    head = frame(HEADER, channel, struct.pack(">HHQ", 60, 0, len(body)) + properties)
    pieces = (body[at : at + piece_octets] for at in range(0, len(body), piece_octets))
    return head + b"".join(frame(BODY, channel, piece) for piece in pieces)


def publish(exchange: str, key: str, body: bytes, properties: bytes = NO_PROPERTIES, **options: object) -> bytes:
    """Return the octets of a whole publish. Options: mandatory, immediate, channel, piece_octets."""
    channel = int(options.pop("channel", 1))
    piece_octets = int(options.pop("piece_octets", 131_064))
    method = commands.Basic.Publish(exchange=exchange, routing_key=key, **options)
    return codec.marshal(method, channel) + content(body, properties, channel, piece_octets)


class Peer:
    """One connection; every call blocks, none longer than the socket's timeout."""

    def __init__(self, address: tuple[str, int], *, timeout_s: float = 30.0) -> None:
        self.socket = socket.create_connection(address, timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = bytearray()
        self.aside: deque[Frame] = deque()
        self.frame_octets_max = 131_072
        self.server_properties: dict[str, object] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def open(
        self,
        *,
        frame_octets_max: int = 131_072,
        channel_max: int = 2_047,
        channels: int = 1,
        login: tuple[str, str] = ("guest", "guest"),
    ) -> Self:
        """Shake hands, without heartbeats, and open the channels 1..n."""
        self.socket.sendall(PROTOCOL_HEADER)
        self.server_properties = self.expect(commands.Connection.Start).server_properties
        capabilities = dict.fromkeys(
            ("publisher_confirms", "basic.nack", "consumer_cancel_notify", "authentication_failure_close"), True
        )
        self.send(
            commands.Connection.StartOk({"capabilities": capabilities}, "PLAIN", "\0" + "\0".join(login), "en_US"),
            channel=0,
        )
        self.expect(commands.Connection.Tune)
        self.send(commands.Connection.TuneOk(channel_max, frame_octets_max, 0), channel=0)
        self.send(commands.Connection.Open("/"), channel=0)
        self.expect(commands.Connection.OpenOk)
        self.frame_octets_max = frame_octets_max
        for number in range(1, channels + 1):
            self.call(commands.Channel.Open(), commands.Channel.OpenOk, channel=number)
        return self

    def send(self, method: base.Frame, channel: int = 1) -> None:
        """Send one method."""
        self.socket.sendall(codec.marshal(method, channel))

    def call(self, method: base.Frame, reply: type[base.Frame], channel: int = 1) -> base.Frame:
        """Send one method and return the reply, which must be of that class."""
        self.send(method, channel)
        return self.expect(reply)

    def publish(
        self, exchange: str, key: str, body: bytes, properties: bytes = NO_PROPERTIES, **options: object
    ) -> None:
        """Send a whole publish."""
        options.setdefault("piece_octets", self.frame_octets_max - 8)
        self.socket.sendall(publish(exchange, key, body, properties, **options))

    def read_frame(self) -> Frame:
        """Return the next frame. Raises ClosedError at the end of the stream."""
        if self.aside:
            return self.aside.popleft()
        head = self._read(7)
        kind, channel, octets = struct.unpack(">BHI", head)
        payload = self._read(octets)
        assert self._read(1) == FRAME_END
        return Frame(kind, channel, payload)

    def read_method(self) -> base.Frame:
        """Return the next method, leaving out heartbeats."""
        got = self.read_frame()
        while got.type == HEARTBEAT:
            got = self.read_frame()
        assert got.type == METHOD, got
        return codec.unmarshal(frame(*got))[2]

    def expect(self, *wanted: type[base.Frame]) -> base.Frame:
        """Return the next method, which must be of one of these classes."""
        method = self.read_method()
        assert isinstance(method, wanted), f"{method.name}: {dict(method)}"
        return method

    def read_delivery(self) -> Delivery:
        """Return the next deliver, get-ok or return with its content."""
        return self.read_content(self.expect(commands.Basic.Deliver, commands.Basic.GetOk, commands.Basic.Return))

    def read_content(self, method: base.Frame) -> Delivery:
        """Return the content that follows a method already read."""
        head = self.read_frame()
        assert head.type == HEADER, head
        class_id, weight, size = struct.unpack(">HHQ", head.payload[:12])
        assert (class_id, weight) == (60, 0)
        pieces: list[bytes] = []
        while sum(map(len, pieces)) < size:
            piece = self.read_frame()
            assert piece.type == BODY, piece
            assert len(piece.payload) + 8 <= self.frame_octets_max
            pieces.append(piece.payload)
        return Delivery(method, head.payload[12:], b"".join(pieces), [len(piece) for piece in pieces])

    def read_to_end(self) -> list[Frame]:
        """Return all frames until the broker closes the socket."""
        frames = []
        while True:
            try:
                frames.append(self.read_frame())
            except (ClosedError, ConnectionError):
                return frames

    def close(self) -> None:
        """Close in order, whatever still arrives before the close-ok."""
        self.send(commands.Connection.Close(200, "bye", 0, 0), channel=0)
        while True:
            got = self.read_frame()
            if got.type == METHOD and got.payload[:4] == b"\0\x0a\0\x33":
                break
        self.socket.close()

    def _read(self, octets: int) -> bytes:
        while len(self.received) < octets:
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                raise ClosedError
            self.received += chunk
        taken = bytes(self.received[:octets])
        del self.received[:octets]
        return taken
