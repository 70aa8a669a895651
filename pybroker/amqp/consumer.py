"""AmqpConsumer: deliveries of one consumer as basic.deliver frames in its session's outbox."""

from typing import TYPE_CHECKING, Final

from pamqp import commands

from pybroker.content_view import property_octets, with_properties
from pybroker.core.channel.consumer import Consumer
from pybroker.wire import properties
from pybroker.wire.content import encode, on_channel, reframe
from pybroker.wire.methods import make_method
from pybroker.wire.table import encode_value, join_table, split_table

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.core.queue.queue import Queue
    from pybroker.run import Run

# Lengths of names remembered: real applications have a few, and a long tag times 500 lengths is 150 KB a consumer.
HEADS_MAX: Final = 64
DELIVERY_COUNT: Final = b"x-delivery-count"
# A content header frame without its properties: frame header, class, weight, body size, frame-end (AMQP §4.2.6.1).
HEADER_FRAME_OCTETS: Final = 20


class AmqpConsumer(Consumer):
    """Keeps ready-made frame heads by the length of the names behind them: only that makes one differ from another."""

    __slots__ = ("_heads", "_number", "_tag_octets")

    channel: "AmqpChannel"

    def __init__(
        self, queue: "Queue", channel: "AmqpChannel", tag: str, *, no_ack: bool, exclusive: bool, prefetch: int
    ) -> None:
        super().__init__(queue, channel, tag, no_ack=no_ack, exclusive=exclusive, prefetch=prefetch)
        octets = tag.encode()
        self._number = b"\x01" + channel.number.to_bytes(2)
        self._tag_octets = b"\x00\x3c\x00\x3c" + bytes((len(octets),)) + octets
        self._heads: dict[int, bytes] = {}

    def deliver(self, run: "Run", indexes: range, deliveries: int, first_tag: int) -> int:
        """Put the messages into the outbox; return how many octets that is."""
        tail = run.names.tail
        head = self._heads.get(len(tail))
        if head is None:
            if len(self._heads) >= HEADS_MAX:
                self._heads.clear()
            # Method, tag and its length, delivery tag, redelivered, names; `tail` has the frame-end on top.
            length = len(self._tag_octets) + 8 + len(tail)
            head = self._heads[len(tail)] = self._number + length.to_bytes(4) + self._tag_octets
        channel = self.channel
        session = channel.session
        contents = self._contents(run, indexes, deliveries)
        if self.queue.vhost.tracing:
            traces = session.broker.traces
            traces.delivered(self.queue, run, indexes, deliveries, channel, self, no_ack=self.no_ack)
        tail = b"\x01" + tail if deliveries else b"\x00" + tail
        return encode(session.outbox, head, first_tag, tail, contents, run.octets * len(indexes) // run.count)

    def _contents(self, run: "Run", indexes: range, deliveries: int) -> list[bytes]:
        """Return the contents as the peer is to have them."""
        channel = self.channel
        if deliveries or run.channel != channel.number or run.frame_octets_max != channel.session.frame_octets_max:
            return adapt(run, indexes, deliveries, channel)
        return run.contents_at(indexes)

    def cancelled_by_server(self) -> None:
        """Send basic.cancel to clients that know it (consumer_cancel_notify)."""
        channel = self.channel
        if channel.consumers.pop(self.tag, None) is not None:
            channel.session.consumers -= 1
            channel.consumer_gone(self)
        if channel.session.capabilities.get("consumer_cancel_notify") is True and not channel.closing:
            channel.send(make_method(commands.Basic.Cancel, consumer_tag=self.tag, nowait=True))


def adapt(run: "Run", indexes: range, deliveries: int, channel: "AmqpChannel") -> list[bytes]:
    """Return the contents as this channel's peer can take them: its number, its frame_max, the delivery count."""
    contents = run.contents_at(indexes)
    if deliveries > 0:
        # Differs from RabbitMQ: its classic queues do not say how often a message was delivered.
        contents = with_delivery_count(contents, deliveries, channel.session.frame_octets_max)
    return reframed(contents, run, channel)


def reframed(contents: list[bytes], run: "Run", channel: "AmqpChannel") -> list[bytes]:
    """Return contents of a run with this channel's number, in frames that its peer takes."""
    theirs = channel.session.frame_octets_max
    ours = run.frame_octets_max
    if theirs and (not ours or ours > theirs) and run.octets > theirs:
        return [reframe(content, channel.number, theirs) for content in contents]
    if run.channel != channel.number:
        return on_channel(contents, channel.number)
    return contents


def with_delivery_count(contents: list[bytes], deliveries: int, frame_octets_max: int) -> list[bytes]:
    """Return contents whose headers say in x-delivery-count how often they were delivered before, as quorum queues do.

    A header frame that would come to more than `frame_octets_max` (0: not limited) stays as it is: the peer would close
    the connection, and get the same message again. Messages of one kind mostly have the same properties.
    """
    value = encode_value(deliveries, "l")
    before = after = b""
    made = []
    for content in contents:
        octets = property_octets(content)
        if octets != before or not after:
            table = properties.find_headers(octets)
            pairs = [pair for pair in split_table(table) if pair[0] != DELIVERY_COUNT] if table else []
            pairs.append((DELIVERY_COUNT, value))
            before, after = octets, properties.replace_headers(octets, join_table(pairs))
            if frame_octets_max and len(after) + HEADER_FRAME_OCTETS > frame_octets_max:
                after = octets
        made.append(with_properties(content, after))
    return made
