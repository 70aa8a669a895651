"""Moves: what operators ask for, put together of a source and a target."""

from typing import TYPE_CHECKING

from pybroker.core.queue.move.heads import Heads
from pybroker.core.queue.move.move import Move
from pybroker.core.queue.move.target import ExchangeTarget, QueueTarget

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.exchange import Exchange


class Moves:
    """Each method returns a move that has not begun; its callers see to it that the source is no target.

    `messages_max` None is all that were ready when it began; `rate` is messages a second, None as fast as it goes.
    """

    __slots__ = ()

    def to_queue(
        self, source: "Queue", target: "Queue", *, messages_max: int | None = None, rate: float | None = None
    ) -> Move:
        """Move messages to another queue; they keep the names under which they were published."""
        return Move(Heads(source), QueueTarget(target), messages_max=messages_max, rate=rate)

    def to_exchange(
        self,
        source: "Queue",
        exchange: "Exchange",
        routing_key: str | None = None,
        *,
        messages_max: int | None = None,
        rate: float | None = None,
    ) -> Move:
        """Publish messages to an exchange, with their own routing keys if none is given."""
        target = ExchangeTarget(source, exchange, routing_key)
        return Move(Heads(source), target, messages_max=messages_max, rate=rate)
