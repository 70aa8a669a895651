"""A client of the stream protocol without sockets, in a `World` (tests/fakes.py): real octets, read by its own code."""

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Any, NamedTuple
from zlib import crc32

from pybroker.peer import Peer
from pybroker.stream.session import StreamSession
from pybroker.tls_facts import TlsFacts
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import OffsetType
from pybroker.wire.stream.fields import Offset
from tests.fakes import World

_HEAD = Struct(">LHH")
_CHUNK = Struct(">BBHLqQQLLLL")
FIRST, LAST, NEXT = (Offset(each) for each in (OffsetType.FIRST, OffsetType.LAST, OffsetType.NEXT))


class Answer(NamedTuple):
    """A response: what stands behind its correlation id."""

    key: int
    correlation_id: int
    code: int
    content: bytes


class Received(NamedTuple):
    """A frame that answers nothing."""

    key: int
    version: int
    content: bytes


class Chunk(NamedTuple):
    """A Deliver."""

    subscription_id: int
    committed: int | None
    offset: int
    entries: int
    messages: int
    timestamp_ms: int
    data: bytes

    @property
    def bodies(self) -> list[bytes]:
        """Return the messages; there are no sub-batches."""
        return bodies_of(self.data)


def bodies_of(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4])
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def entry(body: bytes) -> bytes:
    return len(body).to_bytes(4) + body


def publish_frame(publisher_id: int, messages: "Mapping[int, bytes]") -> bytes:
    """Return a Publish with these bodies by their ids."""
    content = b"".join(number.to_bytes(8) + entry(body) for number, body in messages.items())
    return raw_frame(2, 1, bytes([publisher_id]) + len(messages).to_bytes(4) + content)


def filtered_frame(publisher_id: int, messages: "Mapping[int, tuple[bytes | None, bytes]]") -> bytes:
    """Return a Publish of version 2 with filter values and bodies by their ids."""
    content = b"".join(
        number.to_bytes(8) + (b"\xff\xff" if value is None else len(value).to_bytes(2) + value) + entry(body)
        for number, (value, body) in messages.items()
    )
    return raw_frame(2, 2, bytes([publisher_id]) + len(messages).to_bytes(4) + content)


def raw_frame(key: int, version: int, content: bytes) -> bytes:
    return _HEAD.pack(len(content) + 4, key, version) + content


class StreamPeer:
    """A client; with `is_open` its connection has entered the virtual host."""

    def __init__(
        self,
        world: World,
        *,
        user: str = "guest",
        password: str = "guest",
        vhost: str = "/",
        frame_octets_max: int = 1_048_576,
        heartbeat_s: int = 0,
        peer: tuple[str, int] = ("127.0.0.1", 40_000),
        local: tuple[str, int] = ("127.0.0.1", 5552),
        peer_is_local: bool = True,
        tls: TlsFacts | None = None,
        is_open: bool = True,
    ) -> None:
        self.world = world
        self.user, self.password, self.vhost = user, password, vhost
        self.frame_octets_max, self.heartbeat_s = frame_octets_max, heartbeat_s
        broker = world.broker
        self.session = StreamSession(broker, Peer(peer, local, peer_is_local, broker.clock.now_ms, tls))
        world.peers[self.session] = self  # type: ignore[assignment]  # it reads what comes, as others do
        self.answers: list[Answer] = []
        self.inbox: list[Received] = []
        self._octets = b""
        self._last_id = 0
        if is_open:
            self.shake_hands()

    # -- out ----------------------------------------------------------------------------------------------------------

    def send_octets(self, octets: bytes) -> None:
        self.session.receive(octets)
        self.world.run()

    def send(self, *sent: commands.Command) -> None:
        self.send_octets(b"".join(each.octets for each in sent))

    def call(self, made: type[commands.Request], *fields: Any) -> Answer:
        """Send a request and return the answer to it, which is the only one."""
        self._last_id += 1
        self.send(made(self._last_id, *fields))
        (answer,) = self.answers
        self.answers.clear()
        assert (made.key, self._last_id) == (answer.key, answer.correlation_id)
        return answer

    def shake_hands(self) -> None:
        assert self.call(commands.PeerProperties, {"connection_name": "test"}).code == 1
        assert self.call(commands.SaslHandshake).code == 1
        assert self.log_in().code == 1
        self.inbox.clear()
        self.send(commands.Tune(self.frame_octets_max, self.heartbeat_s))
        assert self.call(commands.Open, self.vhost).code == 1

    def log_in(self, mechanism: str = "PLAIN") -> Answer:
        response = f"\0{self.user}\0{self.password}".encode()
        return self.call(commands.SaslAuthenticate, mechanism, response)

    def create(self, name: str = "s", **arguments: str) -> None:
        given = {key.replace("_", "-"): value for key, value in arguments.items()}
        assert self.call(commands.CreateStream, name, given).code == 1

    def declare(self, stream: str = "s", publisher_id: int = 1, reference: str = "") -> None:
        assert self.call(commands.DeclarePublisher, publisher_id, reference, stream).code == 1

    def subscribe(
        self, stream: str = "s", subscription_id: int = 1, begin: Offset = FIRST, credit: int = 10, **properties: str
    ) -> None:
        assert self.call(commands.Subscribe, subscription_id, stream, begin, credit, properties).code == 1

    def publish(self, *bodies: bytes, publisher_id: int = 1, first_id: int = 1) -> None:
        self.send_octets(publish_frame(publisher_id, dict(enumerate(bodies, first_id))))

    def disconnect(self) -> None:
        self.session.peer_gone("the peer is gone")
        self.world.run()

    # -- in -----------------------------------------------------------------------------------------------------------

    def read(self, octets: bytes) -> None:
        self._octets += octets
        while len(self._octets) >= 8:
            size, key, version = _HEAD.unpack_from(self._octets)
            if len(self._octets) < size + 4:
                return
            content, self._octets = self._octets[8 : size + 4], self._octets[size + 4 :]
            if not key & 0x8000 or key == 0x8009:
                self.inbox.append(Received(key, version, content))
            elif key == 0x800F:
                self.answers.append(Answer(15, int.from_bytes(content[:4]), 1, content[4:]))
            else:
                code = int.from_bytes(content[4:6])
                self.answers.append(Answer(key & 0x7FFF, int.from_bytes(content[:4]), code, content[6:]))

    def take(self, key: int) -> list[Received]:
        """Return the frames with a key that have come, and forget them."""
        found = [each for each in self.inbox if each.key == key]
        self.inbox = [each for each in self.inbox if each.key != key]
        return found

    def chunks(self) -> list[Chunk]:
        """Return the chunks that have come, their heads checked."""
        found = []
        for _, version, content in self.take(8):
            at = 1 if version == 1 else 9
            magic, kind, entries, messages, timestamp, epoch, offset, crc, size, trailer, last = _CHUNK.unpack_from(
                content, at
            )
            data = content[at + _CHUNK.size :]
            assert (0x50, 0, 1, 0, 0) == (magic, kind, epoch, trailer, last)
            assert (crc, size) == (crc32(data), len(data))
            committed = None if version == 1 else int.from_bytes(content[1:9])
            found.append(Chunk(content[0], committed, offset, entries, messages, timestamp, data))
        return found

    def confirmed(self) -> list[int]:
        """Return the ids that were confirmed, and forget them."""
        found = self.confirmed_of(*range(256))
        self.take(3)
        return found

    def confirmed_of(self, *publisher_ids: int) -> list[int]:
        """Return the ids of publishers that were confirmed."""
        return [
            int.from_bytes(content[at : at + 8])
            for key, _, content in self.inbox
            if key == 3 and content[0] in publisher_ids
            for at in range(5, len(content), 8)
        ]

    def errors(self) -> list[tuple[int, int]]:
        """Return the ids that were refused, with their codes."""
        return [
            (int.from_bytes(content[at : at + 8]), int.from_bytes(content[at + 8 : at + 10]))
            for _, _, content in self.take(4)
            for at in range(5, len(content), 10)
        ]


def ids_frame(publisher_id: int, ids: Iterable[int]) -> bytes:
    """Return a Publish of bodies that say their ids, which may stand in it twice."""
    entries = [number.to_bytes(8) + entry(b"%d" % number) for number in ids]
    return raw_frame(2, 1, bytes([publisher_id]) + len(entries).to_bytes(4) + b"".join(entries))
