"""Target: the queue or the exchange that messages are moved to.

A message goes to all queues that it is routed to, or it stays where it is. It must not be routed back to its source:
each further move would put it into the other queues once more.
"""

from typing import TYPE_CHECKING, Generic, TypeVar

from pybroker.core.queue.move.source import Stop, Way
from pybroker.core.reply_text import describe
from pybroker.core.routing.inbound_message import InboundMessage
from pybroker.core.routing.publish import headers_of, names_of
from pybroker.core.routing.router import Routed, route
from pybroker.run import WANTS_CC

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.exchange import Exchange
    from pybroker.run import Names, Run


Key = TypeVar("Key")


class Target:
    """The place that messages are moved to. Their properties and bodies do not change. `name` is for people."""

    __slots__ = ("name",)
    name: str

    def obstacle(self) -> Stop | None:
        """Return why it accepts nothing, or None. Asked before each step."""
        raise NotImplementedError

    def way(self, run: "Run", indexes: range) -> "tuple[range, Way | Stop]":
        """Return the leading messages that go the same way, and that way, or why they cannot be moved."""
        raise NotImplementedError

    def fits(self, messages: int, octets: int) -> bool:  # noqa: ARG002 - most have to see the messages
        """Tell whether it accepts any messages of this number and size, without looking at them."""
        return False

    def label(self, run: "Run", index: int) -> tuple[str, ...]:  # noqa: ARG002 - one for all
        """Return what a survey counts a message by."""
        return ()

    def count(self, way: Way, messages: int) -> None:
        """Count messages that went that way."""


class QueueTarget(Target):
    """A queue. Messages keep the exchange and routing key of their publish."""

    __slots__ = ("_queue",)

    def __init__(self, queue: "Queue") -> None:
        self._queue = queue
        self.name = repr(queue)

    def obstacle(self) -> Stop | None:
        """Return why it accepts nothing, or None."""
        return obstacle(self._queue)

    def way(self, run: "Run", indexes: range) -> "tuple[range, Way | Stop]":
        """Return all messages, and the way to the queue."""
        return indexes, Way(run.names, (self._queue,))

    def fits(self, messages: int, octets: int) -> bool:
        """Tell whether the queue has room for them now."""
        messages_max, octets_max = self._queue.room()
        return messages <= messages_max and octets <= octets_max


class RoutedTarget(Target, Generic[Key]):
    """A target that routes messages which are alike at once, and remembers their way until bindings change."""

    __slots__ = ("_found", "_generation", "_source")

    def __init__(self, source: "Queue") -> None:
        self._source = source
        self._generation = -1
        self._found: dict[Key, Way | Stop] = {}

    @property
    def _ways(self) -> "dict[Key, Way | Stop]":
        """Return the ways found since the last change of bindings."""
        generation = self._source.vhost.generation
        if generation != self._generation:
            self._generation = generation
            self._found.clear()
        return self._found


class ExchangeTarget(RoutedTarget[str]):
    """An exchange, which routes messages by `routing_key`, or each by its own."""

    __slots__ = ("_exchange", "_routing_key")

    def __init__(self, source: "Queue", exchange: "Exchange", routing_key: str | None) -> None:
        super().__init__(source)
        self.name = describe("exchange", exchange.name, exchange.vhost.name)
        self._exchange = exchange
        self._routing_key = routing_key

    def obstacle(self) -> Stop | None:
        """Return why it accepts nothing, or None."""
        exchange, vhost = self._exchange, self._source.vhost
        if vhost.exchanges.get(exchange.name) is not exchange:
            return Stop(f"{self.name} was deleted")
        return None

    def way(self, run: "Run", indexes: range) -> "tuple[range, Way | Stop]":
        """Return the messages that are routed alike, only the first one if each has to be routed by itself."""
        ways, given = self._ways, self._routing_key
        key = run.names.routing_key if given is None else given
        if given is None and run.attributes.wants & WANTS_CC:
            way, _ = self._find(run, indexes.start, key, carbon=True)
            return indexes[:1], way
        known = ways.get(key)
        if known is None:
            known, dynamic = self._find(run, indexes.start, key, carbon=False)
            if dynamic:
                return indexes[:1], known
            ways[key] = known
        return indexes, known

    def count(self, way: Way, messages: int) -> None:
        """Count them as published to the exchange."""
        self._exchange.publish_in += messages
        self._exchange.publish_out += messages * len(way.targets)
        self._exchange.vhost.traffic.count_made(messages * len(way.targets))

    def _find(self, run: "Run", index: int, key: str, *, carbon: bool) -> "tuple[Way | Stop, bool]":
        names = names_of(self._exchange.name, key)
        routed = routed_by(self._exchange, names, run, index, carbon=carbon)
        return checked(self._source, self._exchange, names, routed), routed.dynamic


def obstacle(queue: "Queue") -> Stop | None:
    """Return why a queue accepts no message of a move, or None."""
    if queue.deleted:
        return Stop(f"{queue!r} was deleted")
    if queue.paused is not None and queue.paused.publish:
        return Stop(f"{queue!r} is paused: {queue.paused.why}", temporary=True)
    if queue.limits.message_ttl_ms == 0:
        return Stop(f"{queue!r} keeps no messages: its message TTL is 0")
    return None


def routed_by(exchange: "Exchange", names: "Names", run: "Run", index: int, *, carbon: bool) -> Routed:
    """Route a message by `names` and, with `carbon`, by its CC header."""
    content = run.content(index)
    headers = headers_of(content)
    keys = [names.routing_key]
    if carbon and headers is not None:
        copies = headers.get("CC")
        keys += [key for key in copies if isinstance(key, str)] if isinstance(copies, list) else []
    inbound = InboundMessage(names, run.attributes, content, run.channel, run.frame_octets_max)
    return route(exchange.vhost, exchange, keys, headers, inbound=inbound)


def checked(source: "Queue", exchange: "Exchange", names: "Names", routed: Routed) -> "Way | Stop":
    """Return the way that was found, or why a message from `source` cannot take it."""
    name = describe("exchange", exchange.name, exchange.vhost.name)
    what = f"{name} routes messages with key '{names.routing_key}'"
    if not routed.queues:
        return Stop(f"{what} to no queue")
    if source in routed.queues:
        return Stop(f"{what} back to {source!r}")
    for queue in routed.queues:
        if queue.paused is not None and queue.paused.publish:
            return Stop(f"{what} to {queue!r}, which is paused: {queue.paused.why}", temporary=True)
    return Way(names, routed.queues, exchange)
