"""Octets as publishers and consumers send them: publishes of many shapes, acks, and pieces that are wrong.

Built without the project's own encoder of frames: what comes out is what AMQP §4.2 says.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from hypothesis import strategies as st

from pybroker.wire.properties import Properties, encode_properties
from pybroker.wire.table import Table

METHOD, HEADER, BODY = 1, 2, 3
PUBLISH, ACK = b"\0\x3c\0\x28", b"\0\x3c\0\x50"


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    return struct.pack(">BHL", kind, channel, len(payload)) + payload + b"\xce"


def shortstr(text: str) -> bytes:
    return struct.pack("B", len(text.encode())) + text.encode()


def publish_frame(channel: int, exchange: str, key: str, *, mandatory: bool = False, immediate: bool = False) -> bytes:
    flags = struct.pack("B", mandatory | immediate << 1)
    return frame(METHOD, channel, PUBLISH + b"\0\0" + shortstr(exchange) + shortstr(key) + flags)


def content_frames(channel: int, body: bytes, properties: bytes = b"\0\0", piece: int = 4_088) -> list[bytes]:
    header = frame(HEADER, channel, struct.pack(">HHQ", 60, 0, len(body)) + properties)
    return [header, *(frame(BODY, channel, body[at : at + piece]) for at in range(0, len(body), piece))]


def publish(
    channel: int,
    exchange: str,
    key: str,
    body: bytes = b"",
    properties: bytes = b"\0\0",
    *,
    piece: int = 4_088,
    mandatory: bool = False,
) -> bytes:
    frames = content_frames(channel, body, properties, piece)
    return publish_frame(channel, exchange, key, mandatory=mandatory) + b"".join(frames)


def ack(channel: int, tag: int, *, multiple: bool = False) -> bytes:
    return frame(METHOD, channel, ACK + struct.pack(">QB", tag, multiple))


def props(**values: Any) -> bytes:
    if "headers" in values:
        values["headers"] = Table(values["headers"])
    return encode_properties(Properties(**values))


def split(octets: bytes) -> list[bytes]:
    """Return the frames of a good stream."""
    frames = []
    while octets:
        size = 8 + int.from_bytes(octets[3:7], "big")
        frames.append(octets[:size])
        octets = octets[size:]
    return frames


def cut(octets: bytes, places: Iterable[int]) -> Iterator[bytes]:
    """Yield the chunks between `places`."""
    at = 0
    for place in sorted({*places, len(octets)}):
        if at < place <= len(octets):
            yield octets[at:place]
            at = place


# -- strategies -------------------------------------------------------------------------------------------------------

PROPERTIES = [
    b"\0\0",
    props(delivery_mode=2),
    props(priority=3),
    props(priority=9, delivery_mode=2),
    props(content_type="text/plain", delivery_mode=1),
    props(message_id="one"),
    props(message_id="other"),
    props(correlation_id="c", delivery_mode=2),
    props(headers={"k": "v"}),
    props(headers={"x": 1}),
    props(headers={"CC": ["plain", "short"]}),
    props(headers={"BCC": ["plain"], "k": "v"}),
    props(user_id="guest"),
    props(user_id="liar"),
    props(user_id="guest", message_id="u"),
    props(expiration="0"),
    props(expiration="60000"),
    props(reply_to="somebody"),
    props(reply_to="amq.rabbitmq.reply-to"),
]
BAD_PROPERTIES = [b"", b"\0", b"\0\1", b"\x80\0", b"\x80\0\5a", b"\0\0rest", props(expiration="soon"), b"\x10\0\7"]
TARGETS = [
    *(("", name) for name in ("plain", "plain", "short", "reject", "octets", "prio", "live", "nowhere")),
    ("amq.fanout", ""),
    ("amq.headers", ""),
    ("amq.topic", "a.b"),
    ("amq.rabbitmq.trace", ""),
    ("missing", ""),
]
channels = st.sampled_from([1, 1, 1, 2, 2, 3])
good_targets = st.sampled_from(TARGETS[:11])
bodies = st.sampled_from([b"", b"", b"a", b"bb", b"same size", b"size same", b"x" * 30, b"y" * 30]) | st.integers(
    0, 200
).map(lambda n: b"n" * n)


@st.composite
def floods(draw: st.DrawFn) -> bytes:
    """Publishes of one route that follow each other: equal, or alike, or not."""
    channel, (exchange, key) = draw(channels), draw(good_targets)
    piece = draw(st.sampled_from([4, 20, 4_088]))
    mandatory = draw(st.booleans())
    kind = draw(st.integers(0, 3))
    body, properties = draw(bodies), draw(st.sampled_from(PROPERTIES))
    out = []
    for _ in range(draw(st.integers(1, 9))):
        if kind & 1:
            body = draw(bodies)
        if kind & 2:
            properties = draw(st.sampled_from(PROPERTIES))
        out.append(publish(channel, exchange, key, body, properties, piece=piece, mandatory=mandatory))
    return b"".join(out)


@st.composite
def acknowledgements(draw: st.DrawFn) -> bytes:
    """Acks in order from somewhere, some multiple, some of tag 0, rarely one twice."""
    channel = draw(st.sampled_from([1, 2]))
    tag = draw(st.integers(0, 8))
    out = []
    for _ in range(draw(st.integers(1, 8))):
        out.append(ack(channel, tag, multiple=draw(st.sampled_from([False, False, False, True]))))
        tag += draw(st.sampled_from([1, 1, 1, 1, 2, 0]))
    return b"".join(out)


@st.composite
def interleaved(draw: st.DrawFn) -> bytes:
    """Two channels' contents, frame by frame in any order."""
    exchange, key = draw(good_targets)
    mine = split(publish(1, exchange, key, b"interleaved" * draw(st.integers(0, 3)), piece=4))
    theirs = split(publish(2, "", "plain", b"others", piece=draw(st.sampled_from([3, 4_088]))) + ack(2, 1))
    out = []
    while mine or theirs:
        source = draw(st.sampled_from([one for one in (mine, theirs) if one]))
        out.append(source.pop(0))
    return b"".join(out)


@st.composite
def wrong(draw: st.DrawFn) -> bytes:
    """One piece that some rule forbids, or that the scanner must leave alone."""
    channel = draw(channels)
    method = publish_frame(channel, "", "plain")
    header, body = content_frames(channel, b"1234")
    size = struct.pack(">HHQ", 60, 0, 4)
    too_long = frame(BODY, channel, b"z" * 5_000)
    return draw(
        st.sampled_from(
            [
                publish(channel, "missing", ""),
                publish(channel, "amq.rabbitmq.trace", ""),
                publish(channel, "", "plain", b"x" * 70_000),
                publish(9, "", "plain", b"no such channel"),
                publish(0, "", "plain", b"channel 0"),
                ack(9, 1),
                ack(0, 1),
                ack(channel, 1 << 63),
                method + method,
                method + header + header,
                method + body,
                header + body,
                body,
                method + header + body[:-1] + b"\0",
                method + header + frame(BODY, channel, b"12345"),
                method + header + frame(BODY, channel, b"123") + frame(BODY, channel, b"45"),
                method + header + frame(BODY, channel, b"123") + frame(BODY, channel, b"") + frame(BODY, channel, b"4"),
                method + header + frame(BODY, channel, b"12") + frame(METHOD, 2, b"\0\x14\0\x29"),
                method + frame(HEADER, channel, struct.pack(">HHQ", 61, 0, 0) + b"\0\0"),
                method + frame(HEADER, channel, struct.pack(">HHQ", 60, 1, 0) + b"\0\0"),
                method + frame(HEADER, channel, size) + body,
                frame(METHOD, channel, PUBLISH + b"\0\0\0"),
                frame(METHOD, channel, PUBLISH + b"\0\0\0\3\xff\xff\xff\0"),
                frame(METHOD, channel, ACK + b"\0"),
                frame(METHOD, channel, b"\0\x14\0\x29"),
                frame(METHOD, channel, b"\0\x14\0\x0a\0"),
                frame(METHOD, channel, b"\0\x5a\0\x14") if channel == 3 else b"",
                frame(8, 0, b""),
                frame(8, channel, b""),
                too_long,
                method + frame(HEADER, channel, struct.pack(">HHQ", 60, 0, 5_000) + b"\0\0") + too_long,
                *(method + frame(HEADER, channel, size + bad) + body for bad in BAD_PROPERTIES),
            ]
        )
    )


@st.composite
def damaged(draw: st.DrawFn, streams: st.SearchStrategy[bytes]) -> bytes:
    """A stream in which an octet is changed, taken out or put in."""
    octets = draw(streams)
    at = draw(st.integers(0, max(0, len(octets) - 1)))
    put = draw(st.sampled_from([b"", b"\0", b"\1", b"\xce", b"\xff", b"\0\0\0\0"]))
    return octets[:at] + put + octets[at + draw(st.integers(0, 2)) :]


pieces = floods() | floods() | acknowledgements() | interleaved()
good_streams = st.lists(pieces, min_size=1, max_size=6).map(b"".join)
streams = st.lists(pieces | pieces | wrong(), min_size=1, max_size=6).map(b"".join)
any_streams = streams | damaged(streams)
