"""A client of streams on the raw connection (`peer.py`): it makes streams, publishes, reads, and keeps offsets."""

import struct
from collections.abc import Iterable

from tests.interop.stream.peer import (
    Chunk,
    Code,
    Fields,
    Key,
    Message,
    StreamPeer,
    chunk_of,
    frame,
    octets,
    pairs,
    string,
)

FIRST, LAST, NEXT, OFFSET, TIMESTAMP = range(1, 6)
Where = int | tuple[int, int]


def published(publisher: int, messages: Iterable[tuple[int, bytes]], version: int = 1) -> bytes:
    """Return a Publish of ids and entries as they stand in it."""
    messages = list(messages)
    entries = b"".join(struct.pack(">Q", number) + entry for number, entry in messages)
    return frame(Key.PUBLISH, struct.pack(">BI", publisher, len(messages)) + entries, version)


class Client(StreamPeer):
    """A connection that publishes and reads."""

    def create(self, stream: str, **arguments: str) -> int:
        """Create a stream; underscores in the names of arguments stand for hyphens."""
        given = {name.replace("_", "-"): value for name, value in arguments.items()}
        return self.code(Key.CREATE, string(stream) + pairs(given))

    def delete(self, stream: str) -> int:
        return self.code(Key.DELETE, string(stream))

    def metadata(self, *streams: str) -> tuple[dict[int, tuple[str, int]], dict[str, tuple[int, int, list[int]]]]:
        """Return host and port of each broker, and code, leader and replicas of each stream."""
        self.correlation += 1
        asked = struct.pack(">I", len(streams)) + b"".join(map(string, streams))
        self.send(Key.METADATA, struct.pack(">I", self.correlation) + asked)
        fields = Fields(self.expect(Key.METADATA | 0x8000).payload)
        assert fields.number(4) == self.correlation
        brokers = {fields.number(2): (fields.string(), fields.number(4)) for _ in range(fields.number(4))}
        told = {}
        for _ in range(fields.number(4)):
            name, code, leader = fields.string(), fields.number(2), fields.number(2)
            told[name] = code, leader, [fields.number(2) for _ in range(fields.number(4))]
        assert fields.rest == b""
        return brokers, told

    # Publishing

    def declare(self, publisher: int, stream: str, reference: str | None = "") -> int:
        payload = struct.pack(">B", publisher) + string(reference) + string(stream)
        return self.code(Key.DECLARE_PUBLISHER, payload)

    def delete_publisher(self, publisher: int) -> int:
        return self.code(Key.DELETE_PUBLISHER, struct.pack(">B", publisher))

    def publish(self, publisher: int, bodies: dict[int, bytes]) -> None:
        """Publish bodies by their ids, in one frame."""
        self.publish_entries(publisher, {number: octets(body) for number, body in bodies.items()})

    def publish_entries(self, publisher: int, entries: dict[int, bytes]) -> None:
        self.socket.sendall(published(publisher, entries.items()))

    def number(self, publisher: int, numbers: range) -> None:
        """Publish a message for each number, which is its id and its body, and wait for the confirms."""
        self.publish(publisher, {number: b"%d" % number for number in numbers})
        assert self.confirmed(publisher, len(numbers)) == list(numbers)

    def confirmed(self, publisher: int, count: int) -> list[int]:
        """Return so many confirmed ids, in order, from one or more confirms."""
        ids: list[int] = []
        while len(ids) < count:
            fields = Fields(self.expect(Key.CONFIRM).payload)
            assert fields.number(1) == publisher
            ids += [fields.number(8) for _ in range(fields.number(4))]
            assert fields.rest == b""
        assert len(ids) == count
        return sorted(ids)

    def refused(self, publisher: int) -> list[tuple[int, int]]:
        """Return id and code of each message of a PublishError."""
        fields = Fields(self.expect(Key.PUBLISH_ERROR).payload)
        assert fields.number(1) == publisher
        return [(fields.number(8), fields.number(2)) for _ in range(fields.number(4))]

    def sequence(self, reference: str, stream: str) -> tuple[int, int]:
        """Return code and last publishing id of a reference."""
        code, fields = self.ask(Key.QUERY_SEQUENCE, string(reference) + string(stream))
        return code, fields.number(8)

    # Reading

    def subscribe(
        self, subscription: int, stream: str, where: Where = FIRST, *, credit: int = 100, **properties: str
    ) -> int:
        """Subscribe at an offset: of a kind, or kind and value."""
        kind, value = where if isinstance(where, tuple) else (where, None)
        place = struct.pack(">H", kind) + (b"" if value is None else struct.pack(">q", value))
        payload = struct.pack(">B", subscription) + string(stream) + place + struct.pack(">H", credit)
        return self.code(Key.SUBSCRIBE, payload + (pairs(properties) if properties else b""))

    def unsubscribe(self, subscription: int) -> int:
        return self.code(Key.UNSUBSCRIBE, struct.pack(">B", subscription))

    def credit(self, subscription: int, chunks: int) -> None:
        self.send(Key.CREDIT, struct.pack(">BH", subscription, chunks))

    def chunk(self) -> Chunk:
        """Return the next chunk."""
        return chunk_of(self.expect(Key.DELIVER).payload)

    def take(self, count: int, *, since: int = 0, subscription: int | None = None) -> list[Message]:
        """Return so many messages from an offset on, from as many chunks as it takes; each chunk is credit again."""
        got: list[Message] = []
        while len(got) < count:
            chunk = self.chunk()
            assert subscription in {None, chunk.subscription}
            self.credit(chunk.subscription, 1)
            got += [message for message in chunk.messages if message.offset >= since]
        assert len(got) == count
        return got

    def offsets(self, count: int, *, since: int = 0) -> list[int]:
        return [message.offset for message in self.take(count, since=since)]

    def chunks(self) -> list[Chunk]:
        """Return the chunks that come without any more credit."""
        return [chunk_of(got.payload) for got in self.rest() if got.key == Key.DELIVER]

    # Offsets of consumers, and figures

    def store_offset(self, reference: str, stream: str, offset: int) -> None:
        self.send(Key.STORE_OFFSET, string(reference) + string(stream) + struct.pack(">Q", offset))

    def stored_offset(self, reference: str, stream: str) -> tuple[int, int]:
        """Return code and offset."""
        code, fields = self.ask(Key.QUERY_OFFSET, string(reference) + string(stream))
        return code, fields.number(8)

    def stats(self, stream: str) -> tuple[int, dict[str, int]]:
        code, fields = self.ask(Key.STATS, string(stream))
        if code != Code.OK:
            return code, {}
        return code, {fields.string(): fields.number(8) for _ in range(fields.number(4))}

    def route(self, key: str, super_stream: str) -> tuple[int, list[str]]:
        code, fields = self.ask(Key.ROUTE, string(key) + string(super_stream))
        return code, fields.strings()

    def partitions(self, super_stream: str) -> tuple[int, list[str]]:
        code, fields = self.ask(Key.PARTITIONS, string(super_stream))
        return code, fields.strings()
