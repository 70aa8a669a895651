"""Link: a connection by the stream protocol that blocks, for Spark's tasks and for commands. It creates nothing.

    options = stream_options(parse_uri("amqp://broker"))        # the same address, the stream protocol's port
    with Link(options) as link:
        ends = link.ends("orders")                              # its id, first offset, and the offset behind the last
        with link.subscribe("orders", at(ends.first)) as subscription:
            while (chunk := subscription.chunk(timeout_s=5.0)) is not None:
                for message in chunk.messages():                # as encoded, mostly AMQP 1.0 (wire/amqp10)
                    ...
                if chunk.next >= ends.next:
                    break
        publisher = link.publisher("orders", reference="job-7")
        publisher.publish(publisher.last_id + 1, [message, another], timeout_s=60.0)
        publisher.settle(timeout_s=60.0)                        # all are confirmed

One thread uses a link. In a cluster a stream's chunks come from nodes that have it, and only its leader takes messages:
`open_link` finds them. RabbitMQ from 3.9 on is served as well; where it cannot tell how far a stream goes, its last
chunk is read.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from struct import Struct
from types import TracebackType
from typing import Any, Final, Self

from pybroker.client.errors import AuthenticationFailed, CallTimeout, ClientError, ConnectionClosed, ConnectionLost
from pybroker.client.options import Address, Options
from pybroker.client.transport.connect_errors import last_word
from pybroker.client.transport.transport import open_stream
from pybroker.spark.stream.chunk import read_deliver
from pybroker.spark.stream.errors import StreamError, name_code
from pybroker.spark.stream.frames import Frames
from pybroker.spark.stream.handshake import shake_hands
from pybroker.spark.stream.places import FIRST, LAST, NEXT, Ends, Place, read_metadata
from pybroker.spark.stream.publisher import Publisher
from pybroker.spark.stream.subscription import Subscription
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import RESPONSE, UNTIL, Code, Key, OffsetType
from pybroker.wire.stream.fields import FieldReader, Offset, texts_of
from pybroker.wire.stream.frame import Frame, response

CREDIT: Final = 10

_U16, _U32, _I64, _U64 = map(Struct, (">H", ">L", ">q", ">Q"))
_ID_OCTETS: Final = 8
# The purpose of requests, in errors: the stream is their last name.
_WORDS: Final[Mapping[type[commands.Request], str]] = {
    commands.Metadata: "find stream {0}",
    commands.StreamStats: "find stream {0}",
    commands.ResolveOffsetSpec: "find a place in stream {0}",
    commands.Subscribe: "read stream {0}",
    commands.DeclarePublisher: "publish to stream {0}",
    commands.Partitions: "find super stream {0}",
    commands.Route: "find the partition of {1} in super stream {0}",
    commands.Open: "open virtual host {0}",
}
# Numbers of publishers and subscriptions are one octet.
_IDS: Final = 256
# RabbitMQ before 3.11 answers these without the bit of responses.
_UNMARKED: Final = (Key.ROUTE, Key.PARTITIONS)
# Requests that are sent before the first answer is read: both sides' buffers have room for so many.
_ASKED_TOGETHER: Final = 100
# How long a close waits for its answer.
_GOODBYE_S: Final = 2.0


def open_link(options: Options, stream: str, *, to_leader: bool = False, follow: bool = True) -> "Link":
    """Return a link to a node that has a stream. Without `follow` it is the one that answers first, whatever it says.

    Raises as `Link`; StreamError if there is no such stream.
    """
    link = Link(options)
    try:
        place = link.place(stream)
        wanted = [place.leader] if to_leader else [place.leader, *place.replicas]
        there = [each for each in wanted if each is not None]
        if not follow or not there or link.advertised in there:
            return link
    except BaseException:
        link.close()
        raise
    link.close()
    return Link(replace(options, addresses=tuple(there)))


class Link:
    """An open connection; close it, or use it as a context manager. `rpc_timeout_s` is the wait for an answer."""

    def __init__(self, options: Options) -> None:
        """Connect to the first address that answers; `virtual_host` is entered.

        Raises ConnectFailed with what each address said; AuthenticationFailed, StreamError, ConnectionLost of the last.
        """
        self._timeout_s = options.rpc_timeout_s
        self._open_max = options.unconfirmed_max
        self._last_id = 0
        self._answers: dict[int, tuple[int, bytes]] = {}
        self._tune: commands.Tune | None = None
        self._subscriptions: dict[int, Subscription] = {}
        self._publishers: dict[int, Publisher] = {}
        self._is_open = False
        self._connect(options)

    def _connect(self, options: Options) -> None:
        failures: list[tuple[Address, Exception]] = []
        for address in options.addresses:
            self._address = address
            try:
                stream = open_stream(address, options, None)
                self._frames = Frames(stream, options.body_octets_max, options.rpc_timeout_s)
                try:
                    agreed = shake_hands(self, options)
                except BaseException:
                    self._frames.close()
                    raise
            except AuthenticationFailed:
                raise
            except (OSError, ClientError) as error:
                failures.append((address, error))
                continue
            self.properties: Mapping[str, str] = agreed.properties
            self.advertised = agreed.advertised
            self._keys = agreed.keys
            self._frame_octets_max = agreed.frame_octets_max
            self._is_open = True
            if agreed.heartbeat_s:
                self._frames.beat(commands.Heartbeat().octets, agreed.heartbeat_s / 2)
            return
        raise last_word(failures)

    def close(self) -> None:
        """Close the connection in order, if the broker answers soon; else it just ends. Twice is no error."""
        if self._is_open:
            self._is_open = False
            self._timeout_s = _GOODBYE_S
            with contextlib.suppress(OSError, ClientError):  # the broker has gone, and finds out by itself
                self.call(commands.Close, int(Code.OK), "done")
        self._frames.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- streams: where they are, and how far they go -----------------------------------------------------------------

    def metadata(self, *streams: str) -> dict[str, Place]:
        """Return where streams are, for all that were asked for."""
        return read_metadata(self.call(commands.Metadata, streams))

    def place(self, stream: str) -> Place:
        """Return where a stream is. Raises StreamError if it is nowhere."""
        found = self.metadata(stream)[stream]
        if found.code != Code.OK:
            raise StreamError(self._told(commands.Metadata, stream), found.code)
        return found

    def partitions(self, super_stream: str) -> tuple[str, ...]:
        """Return the streams of a super stream, in their order. Raises StreamError."""
        return texts_of(self.call(commands.Partitions, super_stream))

    def routes(self, routing_keys: Sequence[str], super_stream: str) -> Iterator[tuple[str, ...]]:
        """Yield, for each routing key, the streams of a super stream that it leads to. Raises StreamError."""
        for at in range(0, len(routing_keys), _ASKED_TOGETHER):
            keys = routing_keys[at : at + _ASKED_TOGETHER]
            asked = [self._ask(commands.Route, key, super_stream) for key in keys]
            for key, number in zip(keys, asked, strict=True):
                yield texts_of(self._answer(number, commands.Route, key, super_stream))

    def stats(self, stream: str) -> dict[str, int]:
        """Return the figures that the broker has of a stream. Raises StreamError."""
        content = self.call(commands.StreamStats, stream)
        reader = FieldReader(content, 0, len(content))
        return {reader.text(): reader.number(_I64) for _ in range(reader.number(_U32))}

    def ends(self, stream: str) -> Ends:
        """Return how far a stream goes. Raises StreamError."""
        stats = self.stats(stream) if {Key.STREAM_STATS, Key.RESOLVE_OFFSET_SPEC} <= self._keys else {}
        if "pybroker.stream_id" not in stats:
            # RabbitMQ's last offset may be one that it took for itself.
            return self._ends_by_chunks(stream)
        if stats["committed_offset"] < 0:
            # It may have lost all that it had: where it goes on is behind that.
            next_offset = self.resolve(stream, NEXT)
            # A message that came in between is not behind the end, but the first.
            stats = self.stats(stream)
            if stats["committed_offset"] < 0:
                return Ends(stats["pybroker.stream_id"], next_offset, next_offset)
        return Ends(stats["pybroker.stream_id"], stats["first_chunk_id"], stats["committed_offset"] + 1)

    def resolve(self, stream: str, begin: Offset) -> int:
        """Return the offset of a place, which is that of the next message if there is none yet. Raises StreamError."""
        if begin.type is OffsetType.OFFSET:
            # RabbitMQ would tell where the chunk of that offset begins.
            ends = self.ends(stream)
            return min(max(begin.value, ends.first), ends.next)
        if Key.RESOLVE_OFFSET_SPEC in self._keys:
            content = self.call(commands.ResolveOffsetSpec, stream, begin, {})
            return int(_U64.unpack_from(content, 2)[0])
        found = None if begin.type is OffsetType.NEXT else self._probe(stream, begin)
        return self.ends(stream).next if found is None else found[0]

    def _ends_by_chunks(self, stream: str) -> Ends:
        """Return how far a stream goes, by its first and last chunk."""
        last = self._probe(stream, LAST)
        if last is None:
            return Ends(0, 0, 0)
        first = self._probe(stream, FIRST)
        return Ends(0, last[0] if first is None else first[0], last[1])

    def _probe(self, stream: str, begin: Offset) -> tuple[int, int] | None:
        """Return first and next offset of the chunk at a place, None if there is none."""
        with self.subscribe(stream, begin, credit=1) as subscription:
            # A broker answers in turn: what was there is on its way before the answer to this.
            self.metadata(stream)
            chunk = subscription.chunk(0.0)
        return None if chunk is None else (chunk.first, chunk.next)

    @property
    def tells_passed(self) -> bool:
        """Tell whether a subscription may have the property UNTIL, and then tells of what its filter passed over."""
        return UNTIL in self.properties

    # -- offsets of consumers ------------------------------------------------------------------------------------------

    def store_offset(self, reference: str, stream: str, offset: int) -> None:
        """Keep an offset under a name. The broker does not answer; an order that it cannot follow is in its log."""
        self.send(commands.StoreOffset(reference, stream, offset))

    # -- chunks in, messages out ---------------------------------------------------------------------------------------

    def subscribe(self, stream: str, begin: Offset, credit: int = CREDIT, **properties: str) -> Subscription:
        """Have a stream's chunks delivered, so many at a time; the first may begin before the place.

        Properties are `name`, and whatever else the broker knows. Raises StreamError.
        """
        number = _free(self._subscriptions)
        subscription = self._subscriptions[number] = Subscription(self, number, stream, credit)
        try:
            self.call(commands.Subscribe, number, stream, begin, credit, properties)
        except BaseException:
            del self._subscriptions[number]
            raise
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription; chunks on their way are dropped. Raises StreamError."""
        try:
            self.call(commands.Unsubscribe, subscription.id)
        finally:
            self._subscriptions.pop(subscription.id, None)

    def give_credit(self, subscription_id: int, chunks: int) -> None:
        """Ask for more chunks."""
        self.send(commands.Credit(subscription_id, chunks))

    def publisher(self, stream: str, reference: str = "") -> Publisher:
        """Return a publisher; with a reference it knows the last id that the broker has of that. Raises StreamError."""
        number = _free(self._publishers)
        last_id = 0
        self.call(commands.DeclarePublisher, number, reference, stream)
        if reference:
            last_id = int(_U64.unpack(self.call(commands.QueryPublisherSequence, reference, stream))[0])
        made = Publisher(self, number, stream, last_id, self._frame_octets_max, self._open_max)
        self._publishers[number] = made
        return made

    @property
    def is_full(self) -> bool:
        """Tell whether it has as many publishers as a connection can have."""
        return len(self._publishers) >= _IDS

    # -- commands ------------------------------------------------------------------------------------------------------

    def call(self, made: type[commands.Request], *values: Any) -> bytes:
        """Send a request and return what stands behind its answer's code. Raises StreamError, CallTimeout."""
        return self._answer(self._ask(made, *values), made, *values)

    def _ask(self, made: type[commands.Request], *values: Any) -> int:
        """Send a request; return its number."""
        self._last_id += 1
        self.send(made(self._last_id, *values))
        return self._last_id

    def _answer(self, number: int, made: type[commands.Request], *values: Any) -> bytes:
        """Wait for the answer to a request."""
        self.wait(self._timeout_s, lambda: number in self._answers)
        answer = self._answers.pop(number, None)
        if answer is None:
            raise CallTimeout(f"the broker did not answer {made.__name__} in {self._timeout_s:g} s")
        code, content = answer
        if code != Code.OK:
            raise StreamError(self._told(made, *values), code)
        return content

    def _told(self, made: type[commands.Request], *values: Any) -> str:
        """Return what was asked of whom, for an error."""
        named = [repr(value) for value in values if isinstance(value, str)]
        words = _WORDS.get(made)
        asked = " ".join([made.__name__, *named]) if words is None else words.format(*reversed(named))
        return f"{asked} at {self._address.host}:{self._address.port}"

    def tuned(self) -> commands.Tune:
        """Return the limits that the broker offers, behind a login. Raises CallTimeout."""
        self.wait(self._timeout_s, lambda: self._tune is not None)
        if self._tune is None:
            raise CallTimeout(f"the broker did not offer limits in {self._timeout_s:g} s")
        return self._tune

    def send(self, command: commands.Command) -> None:
        """Send a command. Raises ConnectionLost, OSError."""
        self._frames.send(command.octets)

    def send_octets(self, octets: bytes) -> None:
        """Send whole frames. Raises ConnectionLost, OSError."""
        self._frames.send(octets)

    def wait(self, timeout_s: float, is_done: Callable[[], bool]) -> None:
        """Read what comes, and all that is there, until something is done or the time is over.

        Raises ConnectionLost, ConnectionClosed, OSError.
        """
        deadline = time.monotonic() + timeout_s
        while not is_done():
            found = self._frames.next(max(0.0, deadline - time.monotonic()))
            if found is None:
                return
            self._take(*found)

    def _take(self, buffer: bytes, found: Frame) -> None:
        key, version, start, stop = found
        if key == Key.DELIVER:
            number, chunk = read_deliver(buffer, version, start, stop)
            if number in self._subscriptions:
                self._subscriptions[number].deliver(chunk)
        elif key in (Key.PUBLISH_CONFIRM, Key.PUBLISH_ERROR):
            self._take_confirm(key, buffer[start:stop])
        elif key == Key.METADATA | RESPONSE:
            # The one response without a code of its own.
            self._answers[_U32.unpack_from(buffer, start)[0]] = int(Code.OK), buffer[start + 4 : stop]
        elif key in _UNMARKED or (key & RESPONSE and key not in (Key.CREDIT | RESPONSE, Key.TUNE | RESPONSE)):
            code = _U16.unpack_from(buffer, start + 4)[0]
            self._answers[_U32.unpack_from(buffer, start)[0]] = code, buffer[start + 6 : stop]
        elif key in (Key.TUNE, Key.TUNE | RESPONSE, Key.METADATA_UPDATE, Key.CLOSE):
            self._take_command(commands.decode(buffer, found))

    def _take_confirm(self, key: int, content: bytes) -> None:
        publisher = self._publishers.get(content[0])
        count = _U32.unpack_from(content, 1)[0]
        if publisher is None:
            return
        if key == Key.PUBLISH_CONFIRM:
            publisher.confirmed(count)
        else:
            publisher.refused(count, _U16.unpack_from(content, 5 + _ID_OCTETS)[0])

    def _take_command(self, command: commands.Command) -> None:
        if isinstance(command, commands.Tune):
            self._tune = command
        elif isinstance(command, commands.MetadataUpdate):
            users: tuple[Subscription | Publisher, ...]
            users = (*self._subscriptions.values(), *self._publishers.values())
            for each in users:
                if each.stream == command.stream:
                    each.end(command.code)
        elif isinstance(command, commands.Close):
            self._is_open = False
            with contextlib.suppress(OSError, ConnectionLost):
                self._frames.send(response(Key.CLOSE, command.correlation_id, Code.OK))
            raise ConnectionClosed(f"the broker closed the connection: {command.reason} ({name_code(command.code)})")


def _free(taken: Mapping[int, object]) -> int:
    """Return a number that is free. Raises ClientError."""
    for number in range(_IDS):
        if number not in taken:
            return number
    raise ClientError(f"a connection has at most {_IDS} publishers and as many subscriptions")
