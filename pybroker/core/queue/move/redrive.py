"""Redrive: sends dead letters back where they came from, with the exchange and routing key of their first publish.

A dead letter goes to the queue in which it died and to no other: a message published to several queues died in one of
them, and the others have had it. If that queue is gone, the operator may have the message published to its exchange
again, from where it goes to all queues that are bound now.

Headers are kept, so consumers see the history, and `x-death` continues to count if the message dies again. An
expiration that dead lettering has removed is not restored.
"""

from typing import TYPE_CHECKING

from pybroker.core.queue.move.source import Stop, Way
from pybroker.core.queue.move.target import RoutedTarget, checked, obstacle
from pybroker.core.reply_text import describe
from pybroker.core.routing.inbound_message import InboundMessage
from pybroker.core.routing.publish import headers_of, names_of
from pybroker.core.routing.router import route

if TYPE_CHECKING:
    from pybroker.core.queue.move.deaths import Death, Deaths
    from pybroker.core.queue.queue import Queue
    from pybroker.run import Names, Run


class RedriveTarget(RoutedTarget["Death"]):
    """The queue in which each message died or, with `through_exchange`, the exchange to which it was published.

    It expects parts whose messages have the same death.
    """

    __slots__ = ("_deaths", "_through_exchange")

    def __init__(self, source: "Queue", deaths: "Deaths", *, through_exchange: bool) -> None:
        super().__init__(source)
        self.name = "where they came from"
        self._deaths = deaths
        self._through_exchange = through_exchange

    def obstacle(self) -> Stop | None:
        """Return None: each message has a target of its own."""
        return None

    def way(self, run: "Run", indexes: range) -> "tuple[range, Way | Stop]":
        """Return the messages and their way back; only the first one if each message has to be routed by itself."""
        ways, death = self._ways, self._deaths.of(run, indexes.start)
        assert death is not None
        known = ways.get(death)
        if known is not None:
            return indexes, known
        names = names_of(death.exchange, death.routing_keys[0])
        if not self._through_exchange:
            way = ways[death] = self._to_queue(death, names)
            return indexes, way
        way, dynamic = self._to_exchange(death, names, run, indexes.start)
        if not dynamic:
            ways[death] = way
        return (indexes[:1] if dynamic else indexes), way

    def label(self, run: "Run", index: int) -> tuple[str, ...]:
        """Return the queue and the reason of a message's death."""
        death = self._deaths.of(run, index)
        assert death is not None
        return death.queue, death.reason

    def _to_queue(self, death: "Death", names: "Names") -> Way | Stop:
        vhost = self._source.vhost
        queue = vhost.queues.get(death.queue)
        if queue is None:
            name = describe("queue", death.queue, vhost.name)
            return Stop(f"{name}, in which messages died, does not exist any more")
        return obstacle(queue) or Way(names, (queue,))

    def _to_exchange(self, death: "Death", names: "Names", run: "Run", index: int) -> tuple[Way | Stop, bool]:
        vhost = self._source.vhost
        exchange = vhost.exchanges.get(death.exchange)
        if exchange is None:
            name = describe("exchange", death.exchange, vhost.name)
            return Stop(f"{name}, to which messages were published, does not exist any more"), False
        content = run.content(index)
        inbound = InboundMessage(names, run.attributes, content, run.channel, run.frame_octets_max)
        routed = route(vhost, exchange, death.routing_keys, headers_of(content), inbound=inbound)
        return checked(self._source, exchange, names, routed), routed.dynamic
