"""The bulk parser: octets of one consumer's deliveries -> lists, a list for each column.

Nearly all octets are whole messages of three frames (basic.deliver, header, one body), so those are read by a loop of
their own that makes no object for a message. Whatever else comes goes frame by frame: bodies of many frames, messages
of which only a part has come, other methods. Exchange, routing key and redelivered of a message are one number, an
index of `routes`: few differ. All positions are AMQP's (§4.2.3, §4.2.6, [basic.deliver]):

    0      1         3        7         11   12    13             21            22         7 + length
    +------+---------+--------+---------+----+-----+--------------+-------------+----------+-----------+
    | type | channel | length | deliver | 1  | "s" | delivery tag | redelivered | ex. key  | frame-end |
    +------+---------+--------+---------+----+-----+--------------+-------------+----------+-----------+
"""

import struct
from collections.abc import Callable
from struct import Struct
from typing import Any, Final, NamedTuple

from pybroker.client.content import DELIVER, Assembly
from pybroker.errors import ProtocolSyntaxError
from pybroker.wire.frame import BODY, FRAME_END, HEADER, HEARTBEAT, METHOD, split_frame

# One channel, one consumer: so all that varies in front of a delivery is numbers, and stands at fixed places.
CHANNEL: Final = 1
CONSUMER_TAG: Final = "s"

_METHOD_HEAD: Final = METHOD.to_bytes(1) + CHANNEL.to_bytes(2)
_END: Final = FRAME_END.to_bytes(1)
_HEADER_HEAD: Final = _END + HEADER.to_bytes(1) + CHANNEL.to_bytes(2)
_BODY_HEAD: Final = _END + BODY.to_bytes(1) + CHANNEL.to_bytes(2)
_DELIVER_TO_US: Final = DELIVER + b"\x01" + CONSUMER_TAG.encode()
_BASIC: Final = 60 << 16

_unpack_body: Final = Struct(">4sI").unpack_from
_unpack_tag: Final = Struct(">Q").unpack_from

# Routes that are remembered, and lengths of them.
ROUTES_MAX: Final = 65_536
_Unpack = Callable[[bytes, int], tuple[Any, ...]]


class Route(NamedTuple):
    """What a delivery says besides its content."""

    exchange: str
    routing_key: str
    redelivered: bool


class Columns(NamedTuple):
    """Messages, column by column; `routes` are indexes of `table`."""

    bodies: list[bytes]
    properties: list[bytes]
    routes: list[int]
    table: list[Route]


class Deliveries:
    """What was delivered since the last `take`; `last_tag` is the last delivery tag, `octets` how much about it is.

    `on_method(payload)` is called for every other method of the channel or the connection.
    """

    __slots__ = (
        "_assembly",
        "_columns",
        "_frame_octets_max",
        "_heads",
        "_on_method",
        "_open",
        "_rest",
        "_routes",
        "last_tag",
        "octets",
    )

    def __init__(self, frame_octets_max: int, body_octets_max: int, on_method: Callable[[bytes], None]) -> None:
        self._frame_octets_max = frame_octets_max
        self._on_method = on_method
        self._assembly = Assembly(body_octets_max)
        self._open: tuple[int, int] | None = None  # tag and route of a message of which more must come
        self._rest = b""
        self._heads: dict[bytes, _Unpack] = {}
        self._routes: dict[bytes, int] = {}
        self._columns = Columns([], [], [], [])
        self.last_tag = 0
        self.octets = 0

    def __len__(self) -> int:
        return len(self._columns.bodies)

    def feed(self, data: bytes) -> None:
        """Take octets as they came. Raises AmqpError (hard) for what is no AMQP."""
        if self._rest:
            data = self._rest + data
        at = 0
        while True:
            if self._open is None:
                at = self._take_whole(data, at)
            split = split_frame(data, at, self._frame_octets_max)
            if split is None:
                break
            kind, channel, start, end = split
            at = end + 1
            self._take_frame(kind, channel, data[start:end])
        self._rest = data[at:]

    def take(self) -> Columns:
        """Return what has come, and forget it."""
        taken = self._columns
        table = taken.table
        if len(table) > ROUTES_MAX:
            table = []
            self._routes = {}
        self._columns = Columns([], [], [], table)
        self.octets = 0
        return taken

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
                    head = data[at : at + 13]
                    found = self._heads.get(head) or self._learn_head(head)
                    if found is None:
                        break
                    unpack = found
                    fields = unpack(data, at)
                _, octets, mark, size, kind, length = fields
                if mark != _HEADER_HEAD or kind != _BASIC or size < 14:
                    break
                properties = at + len(octets) + 41
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
            (self.last_tag,) = _unpack_tag(data, last + 13)
            self.octets += at - first
        return at

    def _learn_head(self, head: bytes) -> _Unpack | None:
        """Return what reads deliveries that begin so: head, route, mark, size, kind, length. None: it is none."""
        size = int.from_bytes(head[3:7]) - 14
        if head[:3] != _METHOD_HEAD or head[7:] != _DELIVER_TO_US or not 3 <= size <= 513:
            return None
        unpack = self._heads[head] = Struct(f">13s8x{size}s4sIIQ").unpack_from
        return unpack

    def _learn(self, octets: bytes) -> int:
        """Return the route of redelivered, exchange and routing key. Raises ProtocolSyntaxError (502)."""
        key_at = 2 + octets[1]
        if len(octets) <= key_at or octets[key_at] != len(octets) - key_at - 1:
            raise ProtocolSyntaxError("a basic.deliver that is not well formed")
        # a name that is not UTF-8 must not stand in the way of all that come after it
        exchange, key = octets[2:key_at].decode(errors="replace"), octets[key_at + 1 :].decode(errors="replace")
        table = self._columns.table
        table.append(Route(exchange, key, octets[0] & 1 == 1))
        index = self._routes[octets] = len(table) - 1
        return index

    def _take_frame(self, kind: int, channel: int, payload: bytes) -> None:
        if kind == HEARTBEAT:
            return
        if kind != METHOD:
            whole = self._assembly.header(payload) if kind == HEADER else self._assembly.body(payload)
            if whole is not None:
                self._append(*whole)
        elif channel == CHANNEL and payload.startswith(_DELIVER_TO_US) and len(payload) > 16:
            tag, route = _unpack_tag(payload, 6)[0], self._route_of(payload[14:])
            self._open = tag, route
            self._assembly.begin(("", tag, False, "", ""))
        else:
            self._assembly.expect_method()
            self._on_method(payload)

    def _route_of(self, octets: bytes) -> int:
        route = self._routes.get(octets)
        return self._learn(octets) if route is None else route

    def _append(self, _: Any, properties: bytes, body: bytes) -> None:
        assert self._open is not None
        self.last_tag, route = self._open
        self._open = None
        columns = self._columns
        columns.bodies.append(body)
        columns.properties.append(properties)
        columns.routes.append(route)
        self.octets += len(body) + len(properties)
