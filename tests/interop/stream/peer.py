"""A blocking client of the stream protocol for the tests: every octet by hand, none longer than its socket's timeout.

It knows nothing of the broker's code. Strings and arrays are as the protocol's reference has them; a message is what
the client sent, which AMQP 1.0 is a convention of.
"""

import contextlib
import gzip
import socket
import struct
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from enum import IntEnum
from types import TracebackType
from typing import NamedTuple, Self

RESPONSE = 0x8000
CHUNK_HEAD = struct.Struct(">bbHIqQQIIII")
QUIET_S = 0.15  # nothing more comes if nothing came for so long


class Key(IntEnum):
    """The commands' numbers."""

    DECLARE_PUBLISHER = 1
    PUBLISH = 2
    CONFIRM = 3
    PUBLISH_ERROR = 4
    QUERY_SEQUENCE = 5
    DELETE_PUBLISHER = 6
    SUBSCRIBE = 7
    DELIVER = 8
    CREDIT = 9
    STORE_OFFSET = 10
    QUERY_OFFSET = 11
    UNSUBSCRIBE = 12
    CREATE = 13
    DELETE = 14
    METADATA = 15
    METADATA_UPDATE = 16
    PEER_PROPERTIES = 17
    SASL_HANDSHAKE = 18
    SASL_AUTHENTICATE = 19
    TUNE = 20
    OPEN = 21
    CLOSE = 22
    HEARTBEAT = 23
    ROUTE = 24
    PARTITIONS = 25
    COMMAND_VERSIONS = 27
    STATS = 28


class Code(IntEnum):
    """The response codes."""

    OK = 1
    NO_STREAM = 2
    SUBSCRIPTION_EXISTS = 3
    NO_SUBSCRIPTION = 4
    STREAM_EXISTS = 5
    NOT_AVAILABLE = 6
    NO_MECHANISM = 7
    AUTHENTICATION_FAILURE = 8
    SASL_ERROR = 9
    LOOPBACK = 11
    VHOST_FAILURE = 12
    UNKNOWN_FRAME = 13
    FRAME_TOO_LARGE = 14
    INTERNAL_ERROR = 15
    ACCESS_REFUSED = 16
    PRECONDITION_FAILED = 17
    NO_PUBLISHER = 18
    NO_OFFSET = 19


def string(text: str | bytes | None) -> bytes:
    """Return a string, or none."""
    if text is None:
        return b"\xff\xff"
    octets = text.encode() if isinstance(text, str) else text
    return struct.pack(">H", len(octets)) + octets


def octets(data: bytes) -> bytes:
    """Return octets behind their number."""
    return struct.pack(">I", len(data)) + data


def pairs(properties: dict[str, str]) -> bytes:
    """Return an array of keys and values."""
    return struct.pack(">I", len(properties)) + b"".join(string(k) + string(v) for k, v in properties.items())


def frame(key: int, payload: bytes = b"", version: int = 1) -> bytes:
    """Return the octets of one frame."""
    return struct.pack(">IHH", len(payload) + 4, key, version) + payload


def sub_batch(bodies: Iterable[bytes], *, codec: int = 0) -> bytes:
    """Return a sub-batch as an entry has it: not compressed, or by gzip (1), or of a codec that nobody opens here."""
    bodies = list(bodies)
    plain = b"".join(map(octets, bodies))
    data = gzip.compress(plain) if codec == 1 else plain
    return struct.pack(">BHII", 0x80 | codec << 4, len(bodies), len(plain), len(data)) + data


def amqp_data(body: bytes) -> bytes:
    """Return the AMQP 1.0 message that has these octets as its data, and nothing else."""
    return b"\0\x53\x75\xb0" + octets(body)


class Frame(NamedTuple):
    """One frame as it came; the correlation id of a response begins its payload."""

    key: int
    version: int
    payload: bytes


class Fields:
    """The fields of a payload, one after another."""

    def __init__(self, payload: bytes) -> None:
        self.payload, self.at = payload, 0

    def number(self, octets: int) -> int:
        self.at += octets
        return int.from_bytes(self.payload[self.at - octets : self.at])

    def string(self) -> str:
        size = self.number(2)
        self.at += size
        return self.payload[self.at - size : self.at].decode()

    def strings(self) -> list[str]:
        return [self.string() for _ in range(self.number(4))]

    def pairs(self) -> dict[str, str]:
        return {self.string(): self.string() for _ in range(self.number(4))}

    @property
    def rest(self) -> bytes:
        return self.payload[self.at :]


class Message(NamedTuple):
    """One message of a chunk: where it stands in the stream, and its octets."""

    offset: int
    body: bytes


class Chunk(NamedTuple):
    """The content of one Deliver, its head checked."""

    subscription: int
    first: int
    entries: int
    records: int
    timestamp_ms: int
    epoch: int
    data: bytes

    @property
    def messages(self) -> list[Message]:
        """Return the messages, those of sub-batches, too."""
        return [Message(self.first + index, body) for index, body in enumerate(bodies_of(self.data))]


def bodies_of(data: bytes) -> Iterator[bytes]:
    """Yield the bodies that a chunk's data has."""
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        if not size >> 31:
            at += 4 + size
            yield data[at - size : at]
            continue
        kind, records, plain, size = struct.unpack_from(">BHII", data, at)
        at += 11 + size
        inside = data[at - size : at]
        if kind >> 4 & 7 == 1:
            inside = gzip.decompress(inside)
        assert len(inside) == plain
        bodies = list(bodies_of(inside))
        assert len(bodies) == records
        yield from bodies


def chunk_of(payload: bytes) -> Chunk:
    """Return what a Deliver of version 1 has. Its CRC is right, and the numbers agree with the data."""
    head = CHUNK_HEAD.unpack_from(payload, 1)
    magic, kind, entries, records, timestamp, epoch, first, crc, size, _, _ = head
    data = payload[1 + CHUNK_HEAD.size :]
    assert (magic, kind) == (0x50, 0)
    assert size == len(data)
    assert crc == zlib.crc32(data)
    chunk = Chunk(payload[0], first, entries, records, timestamp, epoch, data)
    assert len(chunk.messages) == records
    return chunk


class ClosedError(Exception):
    """The broker closed the socket."""


class StreamPeer:
    """One connection; every call blocks, none longer than the socket's timeout."""

    def __init__(self, address: tuple[str, int], *, timeout_s: float = 15.0) -> None:
        self.socket = socket.create_connection(address, timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = bytearray()
        self.aside: deque[Frame] = deque()
        self.correlation = 0
        self.server_properties: dict[str, str] = {}
        self.connection_properties: dict[str, str] = {}
        self.tuned: tuple[int, int] = (0, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    # The handshake

    def properties(self, **client: str) -> dict[str, str]:
        """Exchange properties."""
        code, fields = self.ask(Key.PEER_PROPERTIES, pairs(client))
        assert code == Code.OK
        self.server_properties = fields.pairs()
        return self.server_properties

    def authenticate(self, user: str = "guest", password: str = "guest", mechanism: str = "PLAIN") -> int:
        """Log in, if the code says so."""
        opaque = octets(b"\0".join((b"", user.encode(), password.encode())))
        return self.ask(Key.SASL_AUTHENTICATE, string(mechanism) + opaque)[0]

    def tune(self, frame_max: int | None = None, heartbeat: int = 0) -> tuple[int, int]:
        """Read what the broker proposes, answer, and return the proposal."""
        fields = Fields(self.expect(Key.TUNE).payload)
        self.tuned = fields.number(4), fields.number(4)
        agreed = self.tuned[0] if frame_max is None else frame_max
        self.send(Key.TUNE | RESPONSE, struct.pack(">II", agreed, heartbeat))
        return self.tuned

    def open_vhost(self, vhost: str = "/") -> int:
        code, fields = self.ask(Key.OPEN, string(vhost))
        if code == Code.OK:
            self.connection_properties = fields.pairs()
        return code

    def open(
        self,
        *,
        login: tuple[str, str] = ("guest", "guest"),
        vhost: str = "/",
        frame_max: int | None = None,
        heartbeat: int = 0,
    ) -> Self:
        """Shake hands."""
        self.properties(product="test")
        assert self.ask(Key.SASL_HANDSHAKE)[0] == Code.OK
        assert self.authenticate(*login) == Code.OK
        self.tune(frame_max, heartbeat)
        assert self.open_vhost(vhost) == Code.OK
        return self

    # Frames

    def send(self, key: int, payload: bytes = b"", version: int = 1) -> None:
        self.socket.sendall(frame(key, payload, version))

    def ask(self, key: int, payload: bytes = b"", version: int = 1) -> tuple[int, Fields]:
        """Send a request and return the code of its response, and the fields behind it."""
        self.correlation += 1
        self.send(key, struct.pack(">I", self.correlation) + payload, version)
        # RabbitMQ 3.10 forgets the bit of a response where it answers Route and Partitions.
        fields = Fields(self.expect(key | RESPONSE, key).payload)
        assert fields.number(4) == self.correlation
        return fields.number(2), fields

    def code(self, key: int, payload: bytes = b"") -> int:
        """Send a request and return the code of its response."""
        return self.ask(key, payload)[0]

    def read_frame(self) -> Frame:
        """Return the next frame. Raises ClosedError at the end of the stream."""
        (size,) = struct.unpack(">I", self._read(4))
        payload = self._read(size)
        key, version = struct.unpack_from(">HH", payload)
        return Frame(key, version, payload[4:])

    def expect(self, *keys: int) -> Frame:
        """Return the next frame of one of these commands; what comes before it is kept, but for heartbeats."""
        for index, kept in enumerate(self.aside):
            if kept.key in keys:
                del self.aside[index]
                return kept
        while True:
            got = self.read_frame()
            if got.key in keys:
                return got
            assert got.key != Key.CLOSE, got
            if got.key != Key.HEARTBEAT:
                self.aside.append(got)

    def until_closed(self) -> tuple[int, str] | None:
        """Return code and reason of the broker's Close, or None if it closed the socket without one."""
        try:
            while True:
                got = self.read_frame()
                if got.key == Key.CLOSE:
                    fields = Fields(got.payload)
                    return fields.number(6) & 0xFFFF, fields.string()
        except (ClosedError, ConnectionError):
            return None

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Leave the context when nothing came for a moment."""
        before = self.socket.gettimeout()
        self.socket.settimeout(QUIET_S)
        try:
            yield
        except TimeoutError:
            pass
        finally:
            self.socket.settimeout(before)

    def rest(self) -> list[Frame]:
        """Return what else comes without having been asked for."""
        frames = list(self.aside)
        self.aside.clear()
        with self.quiet():
            while True:
                frames.append(self.read_frame())
        return frames

    def _read(self, size: int) -> bytes:
        while len(self.received) < size:
            more = self.socket.recv(1 << 20)
            if not more:
                raise ClosedError
            self.received += more
        taken = bytes(self.received[:size])
        del self.received[:size]
        return taken
