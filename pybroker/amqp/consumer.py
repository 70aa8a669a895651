"""AmqpConsumer: deliveries of one consumer as basic.deliver frames in its session's outbox."""

from typing import TYPE_CHECKING

from pamqp import commands

from pybroker.core.consumer import Consumer
from pybroker.core.publish import property_octets, with_properties
from pybroker.wire import properties
from pybroker.wire.content import encode, on_channel, reframe
from pybroker.wire.methods import make_method
from pybroker.wire.table import encode_value, join_table, split_table

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.core.queue.queue import Queue
    from pybroker.run import Names, Run


class AmqpConsumer(Consumer):
    """Keeps the ready-made frame head of the names it delivered last: floods have one route."""

    __slots__ = ("_head", "_names", "_number", "_tag_octets", "_tails")

    channel: "AmqpChannel"

    def __init__(
        self, queue: "Queue", channel: "AmqpChannel", tag: str, *, no_ack: bool, exclusive: bool, prefetch: int
    ) -> None:
        super().__init__(queue, channel, tag, no_ack=no_ack, exclusive=exclusive, prefetch=prefetch)
        octets = tag.encode()
        self._number = b"\x01" + channel.number.to_bytes(2)
        self._tag_octets = b"\x00\x3c\x00\x3c" + bytes((len(octets),)) + octets
        self._names: Names | None = None
        self._head = b""
        self._tails = (b"", b"")

    def deliver(self, run: "Run", indexes: range, deliveries: int, first_tag: int) -> None:
        """Put the messages into the outbox."""
        names = run.names
        if names is not self._names:
            self._names = names
            # Method, tag and its length, delivery tag, redelivered, names; `tail` has the frame-end on top.
            length = len(self._tag_octets) + 8 + len(names.tail)
            self._head = self._number + length.to_bytes(4) + self._tag_octets
            self._tails = (b"\x00" + names.tail, b"\x01" + names.tail)
        channel = self.channel
        session = channel.session
        contents = adapt(run, indexes, deliveries, channel, self.queue)
        octets = run.octets * len(indexes) // run.count
        session.queued(
            encode(session.outbox, self._head, first_tag, self._tails[deliveries > 0], contents, octets),
        )

    def cancelled_by_server(self) -> None:
        """Send basic.cancel to clients that know it (consumer_cancel_notify)."""
        channel = self.channel
        channel.consumers.pop(self.tag, None)
        if channel.session.capabilities.get("consumer_cancel_notify") is True and not channel.closing:
            channel.send(make_method(commands.Basic.Cancel, consumer_tag=self.tag, nowait=True))


def adapt(run: "Run", indexes: range, deliveries: int, channel: "AmqpChannel", queue: "Queue") -> list[bytes]:
    """Return the contents as this channel's peer can take them: its number, its frame_max, the delivery count."""
    contents = run.take(indexes)
    if deliveries and queue.type == "quorum":
        contents = [_with_delivery_count(content, deliveries) for content in contents]
    theirs = channel.session.frame_octets_max
    ours = run.frame_octets_max
    if theirs and (not ours or ours > theirs) and run.octets > theirs:
        return [reframe(content, channel.number, theirs) for content in contents]
    if run.channel != channel.number:
        return on_channel(contents, channel.number)
    return contents


def _with_delivery_count(content: bytes, deliveries: int) -> bytes:
    octets = property_octets(content)
    table = properties.find_headers(octets)
    pairs = [pair for pair in split_table(table) if pair[0] != b"x-delivery-count"] if table else []
    pairs.append((b"x-delivery-count", encode_value(deliveries, "l")))
    return with_properties(content, properties.replace_headers(octets, join_table(pairs)))
