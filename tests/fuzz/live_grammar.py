"""Octets of random AMQP: mostly well-formed methods with hostile arguments, nested tables, contents, spoiled frames.

All of it follows from one `random.Random`, so a session's number is all that is needed to run it again. It knows no
socket.
"""

import random
import struct
from typing import Final

from pamqp import commands

from tests.interop.peer import FRAME_END, NO_PROPERTIES, PROTOCOL_HEADER, frame

METHODS: Final = sorted(commands.INDEX_MAPPING.items())
NAMES: Final = ("", "f1", "f2", "f3", "amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.x", "ü", "x" * 255)
QUEUES: Final = ("f1", "f2", "f3", "ü", "x" * 255)
KEYS: Final = ("", "f1", "f2", "f3", "#", "*.*", "a.b.c", "." * 255, "amq.rabbitmq.reply-to", "ü")
# The methods that clients send most; the rest, among them the server's own, are drawn seldom.
HARSH: Final = ("channel.open", "channel.open", "channel.close", "connection.close")  # they end a session, or nearly
USUAL: Final = (
    *("basic.publish",) * 8, "basic.get", "basic.get", "basic.consume", "basic.consume", *("basic.ack",) * 2,
    "basic.nack", "basic.reject", "basic.qos", "basic.cancel", "basic.recover", *("queue.declare",) * 3, "queue.bind",
    "queue.bind", "queue.unbind", "queue.purge", "queue.delete", *("exchange.declare",) * 2, "exchange.bind",
    "exchange.unbind", "exchange.delete", "channel.flow", "tx.select", "tx.commit", "tx.rollback", "confirm.select",
    *HARSH,
)  # fmt: skip
BY_NAME: Final = {cls.name.lower(): (index, cls) for index, cls in METHODS}
ARGUMENTS: Final = (
    "x-message-ttl", "x-expires", "x-max-length", "x-max-length-bytes", "x-overflow", "x-max-priority", "x-queue-type",
    "x-dead-letter-exchange", "x-dead-letter-routing-key", "x-single-active-consumer", "x-queue-mode", "x-priority",
    "alternate-exchange", "x-match", "CC", "BCC", "x-death", "x-delay", "x-unknown",
)  # fmt: skip
VALUES: Final = ("", "f1", "f2", "drop-head", "reject-publish", "reject-publish-dlx", "classic", "quorum", "all", "any")


def short(octets: bytes) -> bytes:
    """Return a short string."""
    return bytes([len(octets)]) + octets


class Grammar:
    """A source of octets. Bodies stay small so that a queue of leftovers cannot look like a leak.

    A mild one seldom breaks the protocol's grammar, so that its sessions live long and go deep; a wild one always does.
    """

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.mild = self.random.random() < 0.6
        self.server_named = False
        self.spoiled = False  # nothing sent after this need be understood, or answered

    def chunk(self) -> bytes:
        """Return one step of a session: a method, a content, a spoiled frame, or rubbish."""
        kind = self.random.random()
        if kind < (0.98 if self.mild else 0.80):
            return self.step()
        self.spoiled = True
        if kind < 0.93:
            return self.spoil(self.step())
        if kind < 0.97:
            return frame(self.random.randrange(12), self.channel(), self.random.randbytes(self.random.randrange(40)))
        return self.random.randbytes(self.random.randrange(1, 60))

    def step(self) -> bytes:
        """Return a well-formed method frame, with a content when it is a publish."""
        strange = self.random.random() < (0.01 if self.mild else 0.1)
        name = self.random.choice(list(BY_NAME) if strange else USUAL[: -len(HARSH)] if self.mild else USUAL)
        index, cls = BY_NAME[name]
        channel = 0 if name.startswith("connection") and self.random.random() < 0.9 else self.channel()
        head = frame(1, channel, struct.pack(">I", index) + self.arguments_of(cls))
        return head + self.content(channel) if name == "basic.publish" else head

    def channel(self) -> int:
        """Return a channel number: mostly 1, rarely one nobody opened."""
        if self.mild:
            return self.random.choice((1, 1, 1, 2))
        return self.random.choice((1, 1, 1, 1, 1, 1, 2, 2, 3, 0, 2_047, 65_535))

    def arguments_of(self, cls: type) -> bytes:
        """Return a method's arguments, each of its type, none of them sane for sure."""
        out, bits, count = [], 0, 0
        self.server_named = cls is commands.Queue.Declare and self.random.random() < 0.1
        for argument in cls.__slots__:
            kind = cls.amqp_type(argument)
            if kind == "bit":
                bits |= self.bit(cls, argument) << count
                count += 1
                continue
            if count:
                out.append(bytes([bits]))
                bits = count = 0
            out.append(self.argument(cls, argument, kind))
        if count:
            out.append(bytes([bits]))
        return b"".join(out)

    def bit(self, cls: type, argument: str) -> bool:
        """Return a flag. Server-named queues are exclusive: nobody else could find them again to delete them."""
        if self.server_named and argument in {"exclusive", "passive"}:
            return argument == "exclusive"
        rare = {"nowait": 0.2, "passive": 0.2, "exclusive": 0.1, "durable": 0.1, "internal": 0.1}
        chance = rare.get(argument, 0.4)
        return self.random.random() < chance

    def argument(self, cls: type, argument: str, kind: str) -> bytes:
        """Return one argument that is no flag."""
        pick = self.random
        if kind == "shortstr":
            if argument == "queue":
                return (
                    b"\0"
                    if self.server_named or (cls is not commands.Queue.Declare and pick.random() < 0.1)
                    else short(pick.choice(QUEUES).encode())
                )
            pool = KEYS if argument == "routing_key" else NAMES
            if argument == "exchange_type":
                pool = ("direct", "fanout", "topic", "headers", "nosuch", "")[: 4 if self.mild else 6]
            if argument == "virtual_host":
                pool = ("/", "/", "nosuch")
            text = pick.choice(pool).encode()
            return short(text) if self.mild or pick.random() < 0.98 else short(b"\xff\xfe" + text[:200])
        if kind == "longstr":
            text = pick.choice((b"\0guest\0guest", b"", b"\0guest\0wrong", pick.randbytes(30)))
            return struct.pack(">I", len(text)) + text
        if kind == "table":
            return self.table()
        if argument == "prefetch_size" and self.mild:
            return b"\0\0\0\0"
        if argument == "delivery_tag" and self.mild:
            return pick.randrange(1, 8).to_bytes(8)
        octets = {"octet": 1, "short": 2, "long": 4, "longlong": 8, "timestamp": 8}[kind]
        value = pick.choice((0, 0, 1, 1, 2, 3, 10, (1 << 8 * octets) - 1, 1 << (8 * octets - 1)))
        return value.to_bytes(octets)

    def table(self) -> bytes:
        """Return a table with its length; half of them nest, some of them too deep."""
        pick = self.random.random()
        if pick < 0.4:
            return b"\0\0\0\0"
        if pick < 0.5 and not self.mild:
            return self.nested(self.random.choice((2, 8, 31, 32, 33, 200)))
        entries = b"".join(self.entry(4) for _ in range(self.random.choice((1, 1, 2, 3, 5))))
        return struct.pack(">I", len(entries)) + entries

    def nested(self, depth: int) -> bytes:
        """Return tables or arrays within each other, `depth` of them."""
        octets = b""
        for level in range(depth):
            array = level % 3 == 1 and level < depth - 1
            octets = struct.pack(">I", len(octets)) + octets
            octets = (b"A" if array else b"F") + octets
            if (level + 1) % 3 != 1 or level == depth - 1:
                octets = b"\x01k" + octets
        return struct.pack(">I", len(octets)) + octets

    def entry(self, depth: int) -> bytes:
        """Return one entry of a table."""
        return short(self.random.choice(ARGUMENTS).encode()) + self.value(depth)

    def value(self, depth: int) -> bytes:
        """Return a value with its type."""
        pick = self.random
        kind = pick.choice("SSSSIIItlbBsuifdDxTVFFAA" if self.mild else "SSSSIIItlbBsuifdDxTVFFAAZ")
        if kind in "Sx":
            text = pick.choice(VALUES).encode()
            return kind.encode() + struct.pack(">I", len(text)) + text
        if kind in "FA":
            inner = b""
            if depth:
                items = (
                    self.entry(depth - 1) if kind == "F" else self.value(depth - 1) for _ in range(pick.randrange(3))
                )
                inner = b"".join(items)
            return kind.encode() + struct.pack(">I", len(inner)) + inner
        octets = {"t": 1, "b": 1, "B": 1, "s": 2, "u": 2, "I": 4, "i": 4, "f": 4, "l": 8, "d": 8, "T": 8, "D": 5}.get(
            kind, 0
        )
        return kind.encode() + pick.choice(
            (b"\0" * octets, b"\0" * (octets - 1) + b"\5" * (octets > 0), b"\xff" * octets)
        )

    def content(self, channel: int) -> bytes:
        """Return header and body frames; one in six breaks the rules of §4.2.6."""
        body = b"b" * self.random.choice((0, 1, 16, 16, 200, 5_000))
        size, way = len(body), 0.5 if self.mild else self.random.random()
        if way < 0.04:
            size += 1
        elif way < 0.08:
            size = self.random.choice((max(0, size - 1), 1 << 24, (1 << 24) + 1, (1 << 64) - 1))
        class_id = 60 if way < 0.14 else 10 if way < 0.15 else 60
        head = frame(2, channel, struct.pack(">HHQ", class_id, 0, size) + self.properties())
        pieces = [frame(3, channel, piece) for piece in (body[:1_000], body[1_000:]) if piece]
        if way > 0.98:
            pieces.reverse()
        return b"".join([head, *pieces]) if way < 0.97 else b"".join([*pieces, head])

    def properties(self) -> bytes:
        """Return flags and the values they promise, in the order of §4.2.6.2."""
        if self.random.random() < 0.4:
            return NO_PROPERTIES
        flags, out = 0, []
        kinds = "sshoosssstssss"  # content-type, -encoding, headers, delivery-mode, priority, ... cluster-id
        for at, kind in enumerate(kinds):
            if self.random.random() < 0.75:
                continue
            flags |= 0x8000 >> at
            out.append(self.property(at, kind))
        if not self.mild and self.random.random() < 0.02:
            flags |= self.random.choice((1, 2))
        return struct.pack(">H", flags) + b"".join(out)

    def property(self, at: int, kind: str) -> bytes:
        """Return one property's value."""
        if kind == "h":
            return self.table()
        if kind == "o":
            return bytes([self.random.choice((0, 1, 2, 5, 255))])
        if kind == "t":
            return self.random.randbytes(8)
        pool = {6: ("amq.rabbitmq.reply-to", "f1"), 7: ("0", "1", "60000", "-1", "x"), 11: ("guest", "other")}
        return short(self.random.choice(pool.get(at, VALUES)).encode())

    def spoil(self, octets: bytes) -> bytes:
        """Return the octets with one thing wrong."""
        pick = self.random
        at = pick.randrange(len(octets))
        way = pick.randrange(6)
        if way == 0:
            return octets[:at]
        if way == 1:
            return octets[:at] + bytes([octets[at] ^ (1 << pick.randrange(8))]) + octets[at + 1 :]
        if way == 2:
            return octets[:at] + pick.randbytes(pick.randrange(1, 5)) + octets[at:]
        if way == 3:
            return octets[:3] + pick.choice((0, 1, 4_088, 131_072, 131_073, 0xFFFFFFFF)).to_bytes(4) + octets[7:]
        if way == 4:
            return octets.replace(FRAME_END, pick.choice((b"\0", b"\xcd")), 1)
        return octets[:at] + octets[at + 1 :]

    def protocol_header(self) -> bytes:
        """Return what a peer of another protocol, or of none, begins with."""
        wrong = (b"AMQP\0\0\x09\x02", b"AMQP\x01\x01\x00\x09", b"AMQP\x03\x01\x00\x00", b"AMQP\x00\x01\x00\x00")
        return self.random.choice(
            (*wrong, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", PROTOCOL_HEADER[:5], b"")
        )
