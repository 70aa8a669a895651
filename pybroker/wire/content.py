"""The hot path: publishes in, deliveries out (AMQP §4.2.6).

    scan          octets -> runs of publishes, ranges of acks; stops at whatever else comes
    encode        contents -> basic.deliver frames
    on_channel    contents -> the same for another channel; `reframe`: for a peer with a smaller frame_max

Contents stay the octets they came as: header frame and body frames, channel number inside. Properties are not decoded,
but for the attributes of a kind of message, remembered by its property octets. This file knows no broker: a route is
any object. Functions take and give plain values, so that C twins stand in for them where `_codec.c` was built; these
here are the reference.
"""

import os
from array import array
from collections.abc import Callable
from contextlib import suppress
from struct import Struct
from typing import Any, Final

from pybroker.errors import AmqpError
from pybroker.run import RunAttributes
from pybroker.wire.properties import attributes_of

# Class and method as one number: basic.publish 60.40, basic.ack 60.80, content class basic 60 with weight 0.
_PUBLISH: Final = 60 << 16 | 40
_ACK: Final = 60 << 16 | 80
_BASIC: Final = 60 << 16

# Property flags of values that no two messages share; remembering such octets would only push useful ones out.
UNIQUE_FLAGS: Final = 0x04C0  # correlation-id, message-id, timestamp
# Kinds of messages remembered at a time. A few dozen is what real applications have.
ATTRIBUTES_CACHE_MAX: Final = 1_024
# Longer ones are read each time: a thousand headers of 128 KiB would be as many to remember.
KIND_OCTETS_MAX: Final = 512
# From here on a body is sent as it is, not copied into a block with its neighbours.
JOIN_OCTETS_MAX: Final = 4_096
# Deliveries joined into one block at a time.
_BLOCK: Final = 256

_method_head = Struct(">BHLL").unpack_from  # type, channel, length, class and method
_header_head = Struct(">BHLLQH").unpack_from  # type, channel, length, class and weight, body size, property flags
_frame_head = Struct(">BHL").unpack_from  # type, channel, length
_ack_tail = Struct(">QBB").unpack_from  # delivery tag, bits, frame-end
_tag = Struct(">Q").pack
_tags: Final = {n: Struct("8s" * n).unpack for n in (16, 64, _BLOCK)}

_attributes_cache: dict[bytes, RunAttributes] = {}

# (route, attributes, contents, octets, body octets, body size or -1) or (None, channel, first tag, last tag, multiple)
Event = tuple[Any, ...]
Scan = Callable[[bytes, int, dict[bytes, Any], int, int, list[Event]], int]
Encode = Callable[[list[bytes], bytes, int, bytes, list[bytes], int], int]
OnChannel = Callable[[list[bytes], int], list[bytes]]

# The version of the interface that `_codec.c` shares with this file: one that was built for an older file is not used.
SEAM: Final = 3


def pure_scan(
    data: bytes, start: int, routes: dict[bytes, Any], octets_max: int, message_max: int, out: list[Event]
) -> int:
    """Read publishes and acks from `data[start:]` into `out`; return where something else or incomplete begins.

    `routes` maps whole basic.publish frames to routes; `octets_max` bounds a frame's length, `message_max` a body.
    Input that breaks a rule is left for the frame path to refuse. Never raises.
    """
    end = len(data)
    position = start
    while position + 12 <= end:
        kind, channel, length, method = _method_head(data, position)
        if kind != 1:
            return position
        if method == _PUBLISH:
            after = _scan_publishes(data, position, routes, octets_max, message_max, out)
            if after == position:
                return position
            position = after
        elif method == _ACK and length == 13 and channel:
            after = _scan_acks(data, position, channel, out)
            if after == position:
                return position
            position = after
        else:
            return position
    return position


def _scan_publishes(  # tidy: hot, 0.25 us a message when neighbours are alike, 0.8 us when they are not
    data: bytes, position: int, routes: dict[bytes, Any], octets_max: int, message_max: int, out: list[Event]
) -> int:
    """Read messages as long as they follow each other; one event for each change of route or attributes."""
    end = len(data)
    startswith = data.startswith
    route: Any = None
    channel = method_octets = 0
    method_frame = b""
    contents: list[bytes] = []
    append = contents.append
    attributes: RunAttributes | None = None
    octets = body_octets = 0
    first_size = -2  # body size of this event's first message; -1 as soon as they differ
    while True:
        if route is None or not startswith(method_frame, position):
            if position + 12 > end:
                break
            kind, number, length, method = _method_head(data, position)
            if kind != 1 or method != _PUBLISH or length > octets_max:
                break
            frame = data[position : position + 8 + length]
            known = routes.get(frame)
            if known is None:
                break
            if contents:
                out.append((route, attributes, contents, octets, body_octets, first_size))
                contents = []
                append = contents.append
                octets = body_octets = 0
            route, channel, method_frame, method_octets = known, number, frame, length + 8
            attributes = None
        at = position + method_octets
        if at + 22 > end:
            break
        kind, number, length, class_weight, size, flags = _header_head(data, at)
        if kind != 2 or number != channel or class_weight != _BASIC or length > octets_max or size > message_max:
            break
        header_end = at + 7 + length
        stop = header_end
        if header_end >= end or data[header_end] != 0xCE:
            break
        if size:
            if header_end + 8 > end:
                break
            kind, number, length = _frame_head(data, header_end + 1)
            stop = header_end + 8 + length
            if kind != 3 or number != channel or length > octets_max or stop >= end or data[stop] != 0xCE:
                break
            if length != size:
                # An empty body frame is legal, and some clients cannot read one: the frame path leaves it out.
                stop = _body_end(data, stop, channel, size - length, octets_max) if length else 0
                if not stop:
                    break
        properties = data[at + 19 : header_end]
        kind_of = _attributes_cache.get(properties)
        if kind_of is None:
            try:
                kind_of = attributes_of(properties)
            except AmqpError:
                break
            if not flags & UNIQUE_FLAGS:
                _remember(properties, kind_of)
        if kind_of is not attributes and kind_of != attributes:
            if contents:
                out.append((route, attributes, contents, octets, body_octets, first_size))
                contents = []
                append = contents.append
                octets = body_octets = 0
            attributes = kind_of
            first_size = size
        elif size != first_size:
            first_size = -1
        stop += 1
        content = data[at:stop]
        append(content)
        each = stop - at
        # Neighbours are often alike up to the body: one comparison instead of reading their frames.
        if size == length and size and startswith(data[position : header_end + 8], stop):
            head = data[position : header_end + 8]
            whole = stop - position
            position = stop
            n = 1
            if each <= JOIN_OCTETS_MAX and startswith(content, position + method_octets):
                n += _repeats(data, position, end, whole, method_frame + content)
                contents += [content] * (n - 1)
                position += (n - 1) * whole
            if length == size:  # `head` ends in the head of the only body frame: of several it would not see the others
                while startswith(head, position) and position + whole <= end and data[position + whole - 1] == 0xCE:
                    append(data[position + method_octets : position + whole])
                    position += whole
                    n += 1
            octets += each * n
            body_octets += size * n
        else:
            position = stop
            octets += each
            body_octets += size
    if contents:
        out.append((route, attributes, contents, octets, body_octets, first_size))
    return position


def _body_end(data: bytes, stop: int, channel: int, left: int, octets_max: int) -> int:
    """Return where the last body frame's end is, `left` octets behind the one at `stop`; 0 if not all is there."""
    end = len(data)
    while left > 0:
        if stop + 8 >= end:
            return 0
        kind, number, length = _frame_head(data, stop + 1)
        if kind != 3 or number != channel or not 0 < length <= octets_max:
            return 0
        stop += 8 + length
        left -= length
        if stop >= end or data[stop] != 0xCE:
            return 0
    return stop if not left else 0


def _repeats(data: bytes, position: int, end: int, whole: int, message: bytes) -> int:
    """Return how many times `message` stands at `position`: a flood of equal messages is compared as one block."""
    count = 0
    step = (end - position) // whole
    while step:
        if data.startswith(message * step, position):
            count += step
            position += step * whole
            step = min(step, (end - position) // whole)
        else:
            step //= 2
    return count


def _scan_acks(data: bytes, position: int, channel: int, out: list[Event]) -> int:
    """Read basic.ack frames of one channel; single ones of consecutive tags become one event."""
    end = len(data) - 20
    head = data[position : position + 11]
    first = last = 0
    while position < end and data.startswith(head, position):
        tag, multiple, frame_end = _ack_tail(data, position + 11)
        if frame_end != 0xCE:
            break
        position += 21
        if multiple & 1:
            if first:
                out.append((None, channel, first, last, False))
                first = 0
            out.append((None, channel, tag, tag, True))
        elif first and tag == last + 1:
            last = tag
        else:
            if first:
                out.append((None, channel, first, last, False))
            if not tag:
                out.append((None, channel, 0, 0, False))
            first = last = tag
    if first:
        out.append((None, channel, first, last, False))
    return position


def _remember(properties: bytes, attributes: RunAttributes) -> None:
    if len(properties) > KIND_OCTETS_MAX:
        return
    if len(_attributes_cache) >= ATTRIBUTES_CACHE_MAX:
        # First in, first out: what is still in use comes back by itself.
        del _attributes_cache[next(iter(_attributes_cache))]
    _attributes_cache[properties] = attributes


def attributes_for(properties: bytes) -> RunAttributes:
    """Return the attributes of a message by its property octets. Raises what `properties.attributes_of` raises."""
    attributes = _attributes_cache.get(properties)
    if attributes is None:
        attributes = attributes_of(properties)
        if len(properties) >= 2 and not int.from_bytes(properties[:2]) & UNIQUE_FLAGS:
            _remember(properties, attributes)
    return attributes


def pure_encode(out: list[bytes], head: bytes, first_tag: int, tail: bytes, contents: list[bytes], octets: int) -> int:
    """Append deliveries of `contents` to `out` and return how many octets that is.

    `head` is a basic.deliver frame up to its delivery tag, `tail` what follows the tag: redelivered bit, names,
    frame-end. Tags count up from `first_tag`. `octets` is about how long all contents are together; long ones are not
    copied.
    """
    n = len(contents)
    added = (len(head) + 8 + len(tail)) * n
    if n == 1:
        content = contents[0]
        if len(content) <= JOIN_OCTETS_MAX:
            out.append(head + _tag(first_tag) + tail + content)
        else:
            out.append(head + _tag(first_tag) + tail)
            out.append(content)
        return added + len(content)
    if octets > JOIN_OCTETS_MAX * n:
        for tag, content in enumerate(contents, first_tag):
            out.append(head + _tag(tag) + tail)
            out.append(content)
        return added + sum(map(len, contents))
    parts = [head, b"", tail, b""] * n
    parts[1::4] = _encode_tags(first_tag, n)
    parts[3::4] = contents
    block = b"".join(parts)
    out.append(block)
    return len(block)


def _encode_tags(first: int, n: int) -> list[bytes]:
    """Return the delivery tags first .. first + n - 1, eight octets each."""
    if n < 16:
        return [_tag(tag) for tag in range(first, first + n)]
    numbers = array("Q", range(first, first + n))
    numbers.byteswap()
    octets = numbers.tobytes()
    out: list[bytes] = []
    at = 0
    for size in (_BLOCK, 64, 16):
        while n - at >= size:
            out += _tags[size](octets[8 * at : 8 * (at + size)])
            at += size
    out += [octets[8 * i : 8 * i + 8] for i in range(at, n)]
    return out


def pure_on_channel(contents: list[bytes], channel: int) -> list[bytes]:
    """Return the contents, whole frames each, with another channel number in all of these."""
    number = channel.to_bytes(2)
    out = []
    for content in contents:
        octets = bytearray(content)
        at = 0
        while at < len(octets):
            octets[at + 1 : at + 3] = number
            at += 8 + int.from_bytes(octets[at + 3 : at + 7])
        out.append(bytes(octets))
    return out


def reframe(content: bytes, channel: int, frame_octets_max: int) -> bytes:
    """Return the content cut into body frames of at most `frame_octets_max` octets each, all with `channel`.

    Raises nothing: a header frame cannot be cut (§4.2.6.1), so it stays as long as it is.
    """
    header_end = 8 + int.from_bytes(content[3:7])
    body = []
    at = header_end
    while at < len(content):
        size = int.from_bytes(content[at + 3 : at + 7])
        body.append(content[at + 7 : at + 7 + size])
        at += 8 + size
    octets = b"".join(body)
    number = channel.to_bytes(2)
    out = [b"\x02", number, content[3:header_end]]
    step = frame_octets_max - 8 if frame_octets_max else max(len(octets), 1)
    for at in range(0, len(octets), step):
        part = octets[at : at + step]
        out += [b"\x03", number, len(part).to_bytes(4), part, b"\xce"]
    return b"".join(out)


def _choose() -> tuple[str, Scan, Encode, OnChannel]:
    """Return what `status` calls the codec, and its functions: C where it was built, unless PYBROKER_PURE is 1."""
    if os.environ.get("PYBROKER_PURE") != "1":
        with suppress(ImportError):
            from pybroker.wire import _codec  # noqa: PLC0415 - it may be missing

            if _codec.SEAM == SEAM:
                _codec.bind(attributes_for, AmqpError)
                return "C", _codec.scan, _codec.encode, _codec.on_channel
    return "pure Python", pure_scan, pure_encode, pure_on_channel


CODEC, scan, encode, on_channel = _choose()
