"""The recent history exchange ([rmq x-recent-history]): a fanout that hands its last messages to who is bound later.

As in RabbitMQ they are kept in memory and gone after a restart; a message with the header `x-recent-history-no-store`
is not kept.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.content_view import body_size
from pybroker.core.background_task import BackgroundTask
from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.exchange.fanout import FanoutExchange
from pybroker.core.policy.argument_values import INTEGERS
from pybroker.core.reply_text import field_type, printed
from pybroker.core.routing.exchange import Destinations, Exchange
from pybroker.core.routing.publish import enqueue, headers_of
from pybroker.core.routing.router import route
from pybroker.errors import PreconditionFailed
from pybroker.run import Run

if TYPE_CHECKING:
    from pybroker.core.routing.binding import Binding
    from pybroker.core.routing.inbound_message import InboundMessage
    from pybroker.wire.table import Table

LENGTH: Final = "x-recent-history-length"
NO_STORE: Final = "x-recent-history-no-store"
LENGTH_DEFAULT: Final = 20
# Differs from RabbitMQ: it takes any length. Nothing of these is ever paged out.
LENGTH_MAX: Final = 1_000_000
# Given to a new binding in one turn: some milliseconds.
# Differs from RabbitMQ: a client that binds has its answer before the rest of a longer history is there.
SHARE_MESSAGES: Final = 512


class RecentHistoryExchange(FanoutExchange):
    """It keeps each message that comes by, so no route is kept."""

    TYPE: ClassVar[str] = "x-recent-history"
    NEEDS_HEADERS: ClassVar[bool] = True

    __slots__ = ("_recent",)

    @classmethod
    def validate(cls, arguments: "Table") -> None:
        """Refuse a length that is no positive integer. Raises PreconditionFailed (406)."""
        if LENGTH not in arguments:
            return
        value = arguments[LENGTH]
        if field_type(arguments, LENGTH) not in INTEGERS or value <= 0:
            text = f"Invalid argument {printed(value)}, '{LENGTH}' must be a positive integer"
            raise PreconditionFailed(text)

    def find(
        self,
        routing_keys: "Sequence[str]",
        headers: Mapping[str, Any] | None,
        inbound: "InboundMessage | None",
        out: Destinations,
    ) -> None:
        """Add all destinations, and keep the message."""
        if inbound is not None and (headers is None or headers.get(NO_STORE) is not True):
            self._recent.append(inbound)
        super().find(routing_keys, headers, inbound, out)

    def welcome(self, binding: "Binding") -> None:
        """Give the last messages, the oldest first, to a queue that was bound, or to the queues of an exchange."""
        _Welcome(self, binding, deque(self._recent)).deliver(0)

    def has(self, binding: "Binding") -> bool:
        """Tell whether it still is a binding of this exchange."""
        return self._bindings.get(binding.key) is binding

    def _open_index(self) -> None:
        super()._open_index()
        length = self.arguments.get(LENGTH, LENGTH_DEFAULT)
        self._recent: deque[InboundMessage] = deque(maxlen=min(length, LENGTH_MAX))


class _Welcome(BackgroundTask):
    """Messages for a new binding: a few at once, more of them a share in each turn."""

    __slots__ = ("_binding", "_exchange", "_inbound")

    def __init__(self, exchange: RecentHistoryExchange, binding: "Binding", inbound: "deque[InboundMessage]") -> None:
        super().__init__(exchange.vhost.broker.turn)
        self._exchange = exchange
        self._binding = binding
        self._inbound = inbound

    def deliver(self, _now_ms: int) -> None:
        """Give a share, unless the binding is gone."""
        if not self._exchange.has(self._binding):
            return
        vhost, destination = self._exchange.vhost, self._binding.destination
        for _ in range(min(SHARE_MESSAGES, len(self._inbound))):
            inbound = self._inbound.popleft()
            if isinstance(destination, Exchange):
                keys = [inbound.names.routing_key]
                queues = route(vhost, destination, keys, headers_of(inbound.content), inbound=inbound).queues
            else:
                queues = (destination,)
            if queues:
                # The node's log for all, as a publisher does.
                enqueue(vhost.broker.log, self._copy(inbound), range(1), queues, NO_RECEIPT)
        if self._inbound:
            self.wake_again()

    def _copy(self, inbound: "InboundMessage") -> Run:
        content = inbound.content
        body = body_size(content)
        broker = self._exchange.vhost.broker
        return Run(
            inbound.names,
            inbound.attributes,
            broker.log.take(1),
            [content],
            len(content),
            body,
            body,
            broker.clock.now_ms,
            inbound.channel,
            inbound.frame_octets_max,
        )
