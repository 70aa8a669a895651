"""Targets of a move: the queue or the exchange that an operator named.

A message goes to all the queues that it is routed to, or it stays where it is. None goes back to the queue that it
comes from: each further move would put it into the others once more.
"""

from typing import TYPE_CHECKING, Generic, TypeVar

from pybroker.core.queue.move.source import Way
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
    """A place that messages go to. Their properties and bodies stay as they are. `name` is for people."""

    __slots__ = ("name",)
    name: str

    def obstacle(self) -> str:
        """Return why nothing can go there; empty if something can. Asked before each step."""
        raise NotImplementedError

    def way(self, run: "Run", indexes: range) -> "tuple[range, Way | str]":
        """Return the first of these messages that go the same way, and that way, or why they cannot go."""
        raise NotImplementedError

    def fits(self, messages: int, octets: int) -> bool:  # noqa: ARG002 - most have to see the messages
        """Tell whether so many messages with bodies of so many octets can go, whatever they are."""
        return False

    def label(self, run: "Run", index: int) -> tuple[str, ...]:  # noqa: ARG002 - one for all
        """Return what a message is counted by before it goes."""
        return ()

    def count(self, way: Way, messages: int) -> None:
        """Learn that messages go that way."""


class QueueTarget(Target):
    """One queue. Messages keep the names under which they were published."""

    __slots__ = ("_queue",)

    def __init__(self, queue: "Queue") -> None:
        self._queue = queue
        self.name = repr(queue)

    def obstacle(self) -> str:
        """Return why nothing can go there; empty if something can."""
        return obstacle(self._queue)

    def way(self, run: "Run", indexes: range) -> "tuple[range, Way | str]":
        """Return all of them, and the way to the queue."""
        return indexes, Way(run.names, (self._queue,))

    def fits(self, messages: int, octets: int) -> bool:
        """Tell whether the queue has room for them now."""
        messages_max, octets_max = self._queue.room()
        return messages <= messages_max and octets <= octets_max


class RoutedTarget(Target, Generic[Key]):
    """A target that finds the way of many messages at once, and keeps it while nothing is bound or unbound."""

    __slots__ = ("_found", "_generation", "_source")

    def __init__(self, source: "Queue") -> None:
        self._source = source
        self._generation = -1
        self._found: dict[Key, Way | str] = {}

    @property
    def _ways(self) -> "dict[Key, Way | str]":
        """Return the ways that are known, by what they depend on."""
        generation = self._source.vhost.generation
        if generation != self._generation:
            self._generation = generation
            self._found.clear()
        return self._found


class ExchangeTarget(RoutedTarget[str]):
    """An exchange, as if the messages were published there, each with its own routing key if none is given."""

    __slots__ = ("_exchange", "_routing_key")

    def __init__(self, source: "Queue", exchange: "Exchange", routing_key: str | None) -> None:
        super().__init__(source)
        self.name = describe("exchange", exchange.name, exchange.vhost.name)
        self._exchange = exchange
        self._routing_key = routing_key

    def obstacle(self) -> str:
        """Return why nothing can go there; empty if something can."""
        exchange, vhost = self._exchange, self._source.vhost
        if vhost.exchanges.get(exchange.name) is not exchange:
            return f"{self.name} was deleted"
        return ""

    def way(self, run: "Run", indexes: range) -> "tuple[range, Way | str]":
        """Return the messages that are routed alike: one, if it takes each message to tell."""
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
        """Count them as published there."""
        self._exchange.publish_in += messages
        self._exchange.publish_out += messages * len(way.targets)

    def _find(self, run: "Run", index: int, key: str, *, carbon: bool) -> "tuple[Way | str, bool]":
        names = names_of(self._exchange.name, key)
        routed = routed_by(self._exchange, names, run, index, carbon=carbon)
        return checked(self._source, self._exchange, names, routed), routed.dynamic


def obstacle(queue: "Queue") -> str:
    """Return why nothing can be moved to a queue; empty if something can."""
    if queue.deleted:
        return f"{queue!r} was deleted"
    if queue.paused is not None and queue.paused.publish:
        return f"{queue!r} is paused: {queue.paused.why}"
    if queue.limits.message_ttl_ms == 0:
        return f"{queue!r} keeps no messages: its message TTL is 0"
    return ""


def routed_by(exchange: "Exchange", names: "Names", run: "Run", index: int, *, carbon: bool) -> Routed:
    """Route one message by its own key, and by those of its CC header (`carbon`)."""
    content = run.content(index)
    headers = headers_of(content)
    keys = [names.routing_key]
    if carbon and headers is not None:
        copies = headers.get("CC")
        keys += [key for key in copies if isinstance(key, str)] if isinstance(copies, list) else []
    inbound = InboundMessage(names, run.attributes, content, run.channel, run.frame_octets_max)
    return route(exchange.vhost, exchange, keys, headers, inbound=inbound)


def checked(source: "Queue", exchange: "Exchange", names: "Names", routed: Routed) -> "Way | str":
    """Return the way that was found, or why a message of `source` must not take it."""
    name = describe("exchange", exchange.name, exchange.vhost.name)
    what = f"{name} routes messages with key '{names.routing_key}'"
    if not routed.queues:
        return f"{what} to no queue"
    if source in routed.queues:
        return f"{what} back to {source!r}"
    for queue in routed.queues:
        if queue.paused is not None and queue.paused.publish:
            return f"{what} to {queue!r}, which is paused: {queue.paused.why}"
    return Way(names, routed.queues, exchange)
