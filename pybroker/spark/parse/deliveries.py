"""The bulk parser: octets of one consumer's deliveries -> raw batches.

Nearly all octets are whole messages of three frames (basic.deliver, header, one body). Many of them are cut at once
(`frame_batch_parser`); if there are few, if the cut met something else, or without the C module, a loop reads them that
makes no object for a message. All other input goes frame by frame: bodies of many frames, incomplete messages, other
methods. So octets are kept until there is enough to cut, or until somebody asks for messages. Exchange, routing key and
redelivered of a message are one number in the loop, an index of `routes`: few differ. All positions are AMQP's
(§4.2.3, §4.2.6, [basic.deliver]):

    0      1         3        7         11   12        18             26            27         7 + length
    +------+---------+--------+---------+----+---------+--------------+-------------+----------+-----------+
    | type | channel | length | deliver | 6  | "~spark"| delivery tag | redelivered | ex. key  | frame-end |
    +------+---------+--------+---------+----+---------+--------------+-------------+----------+-----------+
"""

import struct
from collections.abc import Callable
from struct import Struct
from typing import Any, Final

import pyarrow as pa

from pybroker.client.channel.content import ContentAssembler
from pybroker.spark.parse.frame_batch_parser import (
    CHANNEL,
    CUTS,
    DELIVER_TO_US as _DELIVER_TO_US,
    ROUTE_OCTETS_MAX,
    ROUTE_OCTETS_MIN,
    cut,
)
from pybroker.spark.parse.raw import Columns, join_batches, raw_batch
from pybroker.spark.route import read_route
from pybroker.wire.frame import BODY, FRAME_END, HEADER, HEARTBEAT, METHOD, split_frame

# Octets that are looked at together: tens of thousands of small messages. From where on a cut costs less than the loop.
READ_OCTETS: Final = 1 << 22
CUT_OCTETS_MIN: Final = 1 << 14
# A cut counts octets with 32 bits; so many come only where a broker knows no limit for a frame.
CUT_OCTETS_MAX: Final = 1 << 30

_METHOD_HEAD: Final = METHOD.to_bytes(1) + CHANNEL.to_bytes(2)
_END: Final = FRAME_END.to_bytes(1)
_HEADER_HEAD: Final = _END + HEADER.to_bytes(1) + CHANNEL.to_bytes(2)
_BODY_HEAD: Final = _END + BODY.to_bytes(1) + CHANNEL.to_bytes(2)
# Of a frame: where the delivery tag is. Of a payload: where the tag is, and what is not exchange and routing key.
_TAG_AT: Final = 7 + len(_DELIVER_TO_US)
_PAYLOAD_TAG_AT: Final = len(_DELIVER_TO_US)
_FIXED: Final = _PAYLOAD_TAG_AT + 8
_BASIC: Final = 60 << 16

_unpack_body: Final = Struct(">4sI").unpack_from
_unpack_tag: Final = Struct(">Q").unpack_from

# Routes that are remembered, and lengths of them.
ROUTES_MAX: Final = 65_536
_Unpack = Callable[[bytes, int], tuple[Any, ...]]


class Deliveries:
    """Deliveries since the last `take`; `last_tag` is the last delivery tag, `octets` their approximate size.

    `on_method(payload)` is called for every other method of the channel or the connection.
    """

    __slots__ = (
        "_assembly",
        "_columns",
        "_cut_rows",
        "_cuts",
        "_frame_octets_max",
        "_heads",
        "_on_method",
        "_open",
        "_rest",
        "_routes",
        "_unread",
        "_unread_octets",
        "last_tag",
        "octets",
    )

    def __init__(self, frame_octets_max: int, body_octets_max: int, on_method: Callable[[bytes], None]) -> None:
        self._frame_octets_max = frame_octets_max
        self._on_method = on_method
        self._assembly = ContentAssembler(body_octets_max)
        self._open: tuple[int, bytes] | None = None  # tag and route of a message of which more must come
        self._rest = b""
        self._unread: list[bytes] = []
        self._unread_octets = 0
        self._heads: dict[bytes, _Unpack] = {}
        self._routes: dict[bytes, int] = {}
        # In the order in which they came: what was cut, then what is in the columns.
        self._cuts: list[pa.RecordBatch] = []
        self._cut_rows = 0
        self._columns = Columns([], [], [], [])
        self.last_tag = 0
        self.octets = 0

    def __len__(self) -> int:
        return self._cut_rows + len(self._columns.bodies)

    @property
    def is_unread(self) -> bool:
        """Tell whether octets came that `read` has not looked at."""
        return bool(self._unread)

    def feed(self, data: bytes) -> None:
        """Take octets as they came, and read them once there is enough. Raises as `read`."""
        self._unread.append(data)
        self._unread_octets += len(data)
        if self._unread_octets >= READ_OCTETS:
            self.read()

    def read(self) -> None:
        """Look at all that came. Raises AmqpError (hard) for what is no AMQP."""
        if not self._unread:
            return
        data = b"".join((self._rest, *self._unread))
        self._unread = []
        self._unread_octets = 0
        at = 0
        may_cut = CUTS and CUT_OCTETS_MIN <= len(data) <= CUT_OCTETS_MAX
        while True:
            if self._open is None:
                # Once: if it ends soon something is there that it cannot cut, and may be there again.
                if may_cut:
                    at = self._cut(data, at)
                    may_cut = False
                at = self._take_whole(data, at)
            split = split_frame(data, at, self._frame_octets_max)
            if split is None:
                break
            kind, channel, start, end = split
            at = end + 1
            self._take_frame(kind, channel, data[start:end])
        self._rest = data[at:]

    def pop(self) -> pa.RecordBatch:
        """Return what has been read, and forget it. Raises what `raw_batch` raises."""
        self._close_columns()
        taken = self._cuts
        self._cuts = []
        self._cut_rows = 0
        self.octets = 0
        return join_batches(taken) if taken else raw_batch(self._columns)

    def _close_columns(self) -> None:
        """Make a batch of the columns, and begin new ones."""
        columns = self._columns
        if not columns.bodies:
            return
        self._cuts.append(raw_batch(columns))
        self._cut_rows += len(columns.bodies)
        table = columns.table
        if len(table) > ROUTES_MAX:
            table = []
            self._routes = {}
        self._columns = Columns([], [], [], table)

    def _cut(self, data: bytes, at: int) -> int:
        """Take a run of messages of three frames; return where it ends."""
        found = cut(data, at, self._frame_octets_max)
        if found is None:
            return at
        self._close_columns()
        self._cuts.append(found.batch)
        self._cut_rows += len(found.batch)
        self.last_tag = found.last_tag
        self.octets += found.end - at
        return found.end

    def _take_whole(self, data: bytes, at: int) -> int:
        """Take messages of three frames from `at` on; return where the first other thing begins."""
        routes = self._routes
        bodies, all_properties, indexes, _ = self._columns
        add_body, add_properties, add_route = bodies.append, all_properties.append, indexes.append
        first = last = at
        head = b""
        unpack: _Unpack = _unpack_body
        try:
            while True:
                fields = unpack(data, at)
                if fields[0] != head:
                    # the last one's length was another one
                    head = data[at : at + _TAG_AT]
                    found = self._heads.get(head) or self._learn_head(head)
                    if found is None:
                        break
                    unpack = found
                    fields = unpack(data, at)
                _, octets, mark, size, kind, length = fields
                if mark != _HEADER_HEAD or kind != _BASIC or size < 14:
                    break
                properties = at + len(octets) + _TAG_AT + 28
                end = properties + size - 12
                if length:
                    mark, size = _unpack_body(data, end)
                    body = end + 8
                    after = body + length
                    # looked at first: of a message that has not come whole it raises IndexError
                    if data[after] != FRAME_END or mark != _BODY_HEAD or size != length:
                        break
                    value = data[body:after]
                else:
                    after = end
                    if data[after] != FRAME_END:
                        break
                    value = b""
                route = routes.get(octets)
                if route is None:
                    route = self._learn(octets)
                add_route(route)
                add_body(value)
                add_properties(data[properties:end])
                last = at
                at = after + 1
        except (struct.error, IndexError):
            pass  # the rest has not come yet
        if at > first:
            (self.last_tag,) = _unpack_tag(data, last + _TAG_AT)
            self.octets += at - first
        return at

    def _learn_head(self, head: bytes) -> _Unpack | None:
        """Return what reads deliveries that begin so: head, route, mark, size, kind, length. None: it is none."""
        size = int.from_bytes(head[3:7]) - _FIXED
        known = head[:3] == _METHOD_HEAD and head[7:] == _DELIVER_TO_US
        if not known or not ROUTE_OCTETS_MIN <= size <= ROUTE_OCTETS_MAX:
            return None
        unpack = self._heads[head] = Struct(f">{_TAG_AT}s8x{size}s4sIIQ").unpack_from
        return unpack

    def _learn(self, octets: bytes) -> int:
        """Return the route of redelivered, exchange and routing key. Raises ProtocolSyntaxError (502)."""
        table = self._columns.table
        table.append(read_route(octets))
        index = self._routes[octets] = len(table) - 1
        return index

    def _take_frame(self, kind: int, channel: int, payload: bytes) -> None:
        if kind == HEARTBEAT:
            return
        if kind != METHOD:
            whole = self._assembly.header(payload) if kind == HEADER else self._assembly.body(payload)
            if whole is not None:
                self._append(*whole)
        elif channel == CHANNEL and payload.startswith(_DELIVER_TO_US) and len(payload) > _FIXED + 2:
            (tag,) = _unpack_tag(payload, _PAYLOAD_TAG_AT)
            self._open = tag, payload[_FIXED:]
            self._assembly.begin(("", tag, False, "", ""))
        else:
            self._assembly.expect_method()
            self._on_method(payload)

    def _append(self, _: Any, properties: bytes, body: bytes) -> None:
        assert self._open is not None
        self.last_tag, octets = self._open
        self._open = None
        columns = self._columns
        columns.bodies.append(body)
        columns.properties.append(properties)
        route = self._routes.get(octets)
        columns.routes.append(self._learn(octets) if route is None else route)
        self.octets += len(body) + len(properties)
