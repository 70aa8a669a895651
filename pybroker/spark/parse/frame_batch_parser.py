"""Parsing of many deliveries at once: octets -> a raw batch, without a step of Python's for each message.

A search for the consumer tag gives the places where messages may begin; Arrow then reads all frames at those places,
column by column. A body may contain the tag too without harm: a message counts only if its own lengths end where the
next one begins, and the run ends in front of the first that does not count. Only messages of three frames
(basic.deliver, header, one body) are read, in the layout that `deliveries` draws.

Every place is checked to lie inside the octets before Arrow is sent there, for it would not look.
"""

import sys
from array import array
from struct import Struct
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.client.channel.content import DELIVER
from pybroker.spark.parse.raw import SCHEMA
from pybroker.spark.route import read_route
from pybroker.wire.frame import BODY, FRAME_END, HEADER, METHOD

# One channel, one consumer: so all that varies in front of a delivery is numbers, and stands at fixed places. The tag's
# first octet is a rare one, which makes it quick to find.
CHANNEL: Final = 1
CONSUMER_TAG: Final = "~spark"

_TAG: Final = CONSUMER_TAG.encode()
# From the start of a basic.deliver frame to its delivery tag; and what of its payload is not exchange and routing key.
_TAG_NUMBER_AT: Final = 12 + len(_TAG)
_FIXED: Final = 13 + len(_TAG)
ROUTE_OCTETS_MIN: Final = 3
ROUTE_OCTETS_MAX: Final = 513
# Messages of a run: as many numbers are kept at hand.
_ROWS_MAX: Final = 65_536


def _words(octets: bytes) -> list[int]:
    return [int.from_bytes(octets[at : at + 4]) for at in range(0, len(octets), 4)]


def _mark(kind: int) -> int:
    """Return the octets in front of a frame's length, as a number: the last frame's end, type and channel."""
    return int.from_bytes(bytes([FRAME_END, kind]) + CHANNEL.to_bytes(2))


_DELIVER_WORDS: Final = _words(DELIVER + len(_TAG).to_bytes(1) + _TAG[:3])
_METHOD_MARK: Final = _mark(METHOD)
_HEADER_MARK: Final = _mark(HEADER)
_BODY_MARK: Final = _mark(BODY)
_BASIC: Final = 60 << 16
_HEADER_OCTETS_MIN: Final = 14
_unpack_tag: Final = Struct(">Q").unpack_from


class Cut(NamedTuple):
    """A run of messages: where it ends in the octets, and its last delivery tag."""

    batch: pa.RecordBatch
    end: int
    last_tag: int


def cut(data: bytes, at: int, frame_octets_max: int) -> Cut | None:
    """Return the messages of three frames that follow each other from `at` on, None if there is none.

    `data[at - 1]` is a frame-end. A message that has not come whole is not in it. Raises ProtocolSyntaxError (502).
    """
    most = frame_octets_max or len(data)
    buffer = pa.py_buffer(data)
    starts = _find_tags(data, at)
    if not len(starts) or starts[0].as_py() != at + _TAG_NUMBER_AT:
        return None

    # the method: its length says where the header begins
    mark, size, *method = _read(buffer, pc.subtract(starts, _TAG_NUMBER_AT + 1), 4)
    size = size.cast(pa.int64())
    header = pc.add(starts, pc.subtract(size, _FIXED - 8))
    good = pc.and_(pc.equal(mark, _METHOD_MARK), pc.less_equal(header, len(data) - 20))
    for word, expected in zip(method, _DELIVER_WORDS, strict=True):
        good = pc.and_(good, pc.equal(word, expected))
    good = pc.and_(good, pc.greater_equal(size, _FIXED + ROUTE_OCTETS_MIN))
    good = pc.and_(good, pc.less_equal(size, _FIXED + ROUTE_OCTETS_MAX))
    starts, header = _until_false(good, starts, header)

    # the header: its length and the body's say where the body begins and ends
    mark, size, kind, high, length = _read(buffer, header, 5)
    size, length = size.cast(pa.int64()), length.cast(pa.int64())
    body = pc.add(pc.add(header, size), 8)
    after = pc.add(pc.add(body, length), 8)
    good = pc.and_(pc.equal(mark, _HEADER_MARK), pc.and_(pc.equal(kind, _BASIC), pc.equal(high, 0)))
    good = pc.and_(good, pc.and_(pc.greater_equal(size, _HEADER_OCTETS_MIN), pc.less_equal(size, most)))
    good = pc.and_(good, pc.and_(pc.greater(length, 0), pc.less_equal(length, most)))
    good = pc.and_(good, pc.less(after, len(data)))
    starts, header, body, after, length = _until_false(good, starts, header, body, after, length)

    mark, size = _read(buffer, body, 2)
    good = pc.and_(pc.equal(mark, _BODY_MARK), pc.equal(size, length))
    starts, header, body, after = _until_false(good, starts, header, body, after)

    # each must end where the next one begins, whose mark has the frame-end; the last has no next one
    begins = pc.equal(pc.add(after.slice(0, max(0, len(after) - 1)), 1 + _TAG_NUMBER_AT), starts.slice(1))
    broken = pc.index(begins, False).as_py()
    count = len(starts) if broken < 0 else broken + 1
    if count and data[after[count - 1].as_py()] != FRAME_END:
        count -= 1
    if not count:
        return None
    starts, header, body, after = (places.slice(0, count) for places in (starts, header, body, after))
    value = _pieces(buffer, pc.add(body, 8), after)
    properties = _pieces(buffer, pc.add(header, 20), body)
    routes = _pieces(buffer, pc.add(starts, 8), header).dictionary_encode()
    batch = pa.RecordBatch.from_arrays([value, *_route_columns(routes), properties], schema=SCHEMA)
    return Cut(batch, after[count - 1].as_py() + 1, _unpack_tag(data, starts[count - 1].as_py())[0])


def _route_columns(routes: pa.DictionaryArray) -> list[pa.Array]:
    """Return routing keys, exchanges and redelivered."""
    table = [read_route(octets) for octets in routes.dictionary.to_pylist()]
    if len(table) == 1:
        return [
            pa.repeat(pa.scalar(table[0].routing_key, pa.string()), len(routes)),
            pa.repeat(pa.scalar(table[0].exchange, pa.string()), len(routes)),
            pa.repeat(pa.scalar(table[0].redelivered, pa.bool_()), len(routes)),
        ]
    return [
        pa.array([route.routing_key for route in table], pa.string()).take(routes.indices),
        pa.array([route.exchange for route in table], pa.string()).take(routes.indices),
        pa.array([route.redelivered for route in table], pa.bool_()).take(routes.indices),
    ]


def _find_tags(data: bytes, at: int) -> pa.Array:
    """Return the places behind the consumer tags, from `at` on, as far as they can be read as such."""
    edges = pa.py_buffer(array("i", (at, len(data))))
    whole = pa.Array.from_buffers(pa.binary(), 1, [None, edges, pa.py_buffer(data)])
    parts = pc.split_pattern(whole, pattern=_TAG).flatten()
    count = min(len(parts) - 1, _ROWS_MAX)
    # The parts lie one behind the other now: what is missing between them are the tags.
    ends = pa.Array.from_buffers(pa.int32(), count, [None, parts.buffers()[1]], offset=parts.offset + 1)
    first = pa.Array.from_buffers(pa.int32(), 1, [None, parts.buffers()[1]], offset=parts.offset)[0].as_py()
    tags = pc.multiply(_COUNT.slice(0, count), pa.scalar(len(_TAG), pa.int32()))
    return pc.add(pc.add(ends, tags), pa.scalar(at + len(_TAG) - first, pa.int32())).cast(pa.int64())


def _until_false(good: pa.BooleanArray, *columns: pa.Array) -> list[pa.Array]:
    """Return the columns up to the first row that is not good."""
    bad = pc.index(good, False).as_py()
    return [column if bad < 0 else column.slice(0, bad) for column in columns]


def _read(buffer: pa.Buffer, places: pa.Array, count: int) -> list[pa.Array]:
    """Return `count` columns: the numbers of four octets that stand at the places."""
    numbers = array("I")
    if len(places):
        octets = _pieces(buffer, places, pc.add(places, 4 * count)).buffers()[2]
        numbers.frombytes(memoryview(octets)[: 4 * count * len(places)])
    if sys.byteorder == "little":
        numbers.byteswap()
    parts = [pa.py_buffer(numbers[at::count]) for at in range(count)]
    return [pa.Array.from_buffers(pa.uint32(), len(places), [None, part]) for part in parts]


def _pieces(buffer: pa.Buffer, begins: pa.Array, ends: pa.Array) -> pa.Array:
    """Return a copy of the octets from each begin to its end."""
    count = len(begins)
    # Also what lies between them, from the buffer's beginning to its end: of damaged octets they need not be in order.
    edges = array("i", bytes(4 * (2 * count + 2)))
    edges[1 : 2 * count : 2] = _numbers(begins)
    edges[2 : 2 * count + 1 : 2] = _numbers(ends)
    edges[-1] = buffer.size
    all_ = pa.Array.from_buffers(pa.binary(), 2 * count + 1, [None, pa.py_buffer(edges), buffer])
    return all_.take(_ODD.slice(0, count))


def _numbers(places: pa.Array) -> "array[int]":
    places = places.cast(pa.int32())
    numbers = array("i")
    numbers.frombytes(memoryview(places.buffers()[1])[4 * places.offset : 4 * (places.offset + len(places))])
    return numbers


def _int32(values: range) -> pa.Array:
    return pa.Array.from_buffers(pa.int32(), len(values), [None, pa.py_buffer(array("i", values))])


_ODD: Final = _int32(range(1, 2 * _ROWS_MAX, 2))
_COUNT: Final = _int32(range(_ROWS_MAX))
