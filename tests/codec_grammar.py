"""A grammar of what a connection's hot path reads: publishes and acks of every shape, then broken, for both codecs.

Properties and tables are those of `wire_grammar`. Plain `random`, because ten million inputs have to be made soon.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests import wire_grammar
from tests.streams import ack, content_frames, frame, props, publish_frame

OCTETS_MAX = 4_096
MESSAGE_MAX = 60_000
# The uses of one pool of properties before the next is made: making them costs more than reading them.
POOL_INPUTS = 2_000
POOL = 300
ROUTES = [
    publish_frame(1, "", "k"),
    publish_frame(1, "", "k", mandatory=True),
    publish_frame(1, "amq.topic", "a.long.routing.key"),
    publish_frame(2, "", "k"),
    publish_frame(65_535, "x" * 255, "k" * 255),
]
UNKNOWN = [publish_frame(3, "", "k"), publish_frame(1, "", "other"), publish_frame(0, "", "k")]
COMMON = [
    b"\0\0",
    *(props(delivery_mode=mode, priority=priority) for mode in (1, 2) for priority in (None, 0, 9)),
    props(expiration="60000", delivery_mode=2),
    props(expiration="99999999999"),
    props(reply_to="amq.rabbitmq.reply-to"),
    props(reply_to="somebody", correlation_id="c"),
    props(user_id="guest"),
    props(timestamp=7, app_id="a", type="t", cluster_id="c", content_type="text/plain", content_encoding="z"),
    props(headers={"k": "v", "t": {"a": [1, None, {"b": True}]}}),
    props(headers={"ü": "v"}),
    props(headers={"CC": ["a"]}),
    props(headers={"x-delay": 5, "BCC": ["b"]}),
    props(headers={"t": {"CC": 5}}),
    props(headers={"x-stream-filter-value": "eu"}),
    props(headers={"t": {"x-stream-filter-value": 5}, "CC": ["a"], "x-stream-filter-value": 1}),
]
BAD = [b"", b"\0", b"\0\1", b"\x80\0\5a", b"\0\0rest", b"\x10\0\7", b"\x10\0", b"\0\x40\0", props(expiration="soon")]
SIZES = [0, 0, 1, 1, 7, 8, 30, 30, 30, 300]
# Values written over octets: lengths at their limits, channel numbers, types of frames.
WORDS = [struct.pack(">I", n) for n in (0, 1, 13, 14, OCTETS_MAX, OCTETS_MAX + 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)]
WORDS += [b"\1\0\1", b"\2\0\1", b"\3\0\1", b"\3\0\2", b"\0\0", b"\xce", b"\0" * 8, b"\xff" * 8, b"\0\x3c\0\x28"]


class Input(NamedTuple):
    """Octets of a connection, and where they are cut in two."""

    octets: bytes
    cut: int


class Grammar(wire_grammar.Grammar):
    """Makes inputs; the same seed makes the same ones."""

    def streams(self, n: int) -> Iterator[Input]:
        """Yield n inputs, six of ten good to the end."""
        dice = self.random
        pool: list[bytes] = []
        for number in range(n):
            if number % POOL_INPUTS == 0:
                pool = COMMON * 20 + BAD + [self.make_properties(dice.random() < 0.5) for _ in range(POOL)]
            octets = b"".join([self.piece(pool) for _ in range(dice.randrange(1, 4))])
            if dice.random() < 0.4:
                octets = self.spoilt(octets)
            yield Input(octets, dice.randrange(len(octets) + 1))

    def piece(self, pool: list[bytes]) -> bytes:
        """Return a flood: publishes that are equal, alike or not, or acknowledgements."""
        dice = self.random
        roll = dice.random()
        if roll < 0.12:
            return self.acks()
        route = dice.choice(UNKNOWN if roll < 0.14 else ROUTES)
        channel = int.from_bytes(route[1:3])
        if roll < 0.16:
            channel = 7
        count = dice.choice([1, 1, 2, 3, 5, 8])
        octets = self.message(route, channel, dice.choice(pool))
        if roll < 0.4:
            return octets * count
        if roll < 0.6:
            return b"".join([octets[:-2] + bytes([i]) + octets[-1:] for i in range(count)])
        return octets + b"".join([self.message(route, channel, dice.choice(pool)) for _ in range(count - 1)])

    def message(self, route: bytes, channel: int, properties: bytes) -> bytes:
        dice = self.random
        size = dice.choice(SIZES)
        roll = dice.random()
        if roll < 0.01:
            size = dice.choice([OCTETS_MAX, OCTETS_MAX + 1, MESSAGE_MAX, MESSAGE_MAX + 1])
        piece = dice.choice([1, 4, size + 1]) if size < 100 else dice.choice([1_000, OCTETS_MAX, size])
        frames = content_frames(channel, b"b" * size, properties, piece)
        if roll > 0.99:
            frames.insert(dice.randrange(1, len(frames) + 1), frame(3, channel, b""))
        return route + b"".join(frames)

    def acks(self) -> bytes:
        dice = self.random
        tag = dice.choice([0, 1, 1, 5, 2**32 - 2, 2**64 - 3])
        out = []
        for _ in range(dice.randrange(1, 8)):
            out.append(ack(dice.choice([1, 1, 1, 1, 2, 0]), tag, multiple=dice.random() < 0.2))
            tag = (tag + dice.choice([1, 1, 1, 1, 2, 0])) % 2**64
        return b"".join(out)

    def spoilt(self, octets: bytes) -> bytes:
        """Return octets with one to three things wrong, anywhere."""
        dice = self.random
        out = bytearray(octets)
        for _ in range(dice.choice([1, 1, 1, 2, 3])):
            at = dice.randrange(len(out) + 1)
            match dice.randrange(6):
                case 0:
                    out[at : at + 1] = dice.randbytes(1)
                case 1:
                    del out[at:]
                case 2:
                    del out[at : at + dice.randrange(1, 9)]
                case 3:
                    out[at:at] = dice.randbytes(dice.randrange(1, 9))
                case 4:
                    word = dice.choice(WORDS)
                    out[at : at + len(word)] = word
                case 5:
                    out[at:at] = out[dice.randrange(len(out) + 1) :][: dice.randrange(40)]
        return bytes(out)


def routes() -> dict[bytes, Any]:
    """Return what a connection remembers: a route for each frame, one of them for two."""
    return {octets: ("route", max(1, number)) for number, octets in enumerate(ROUTES)}
