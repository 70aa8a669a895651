"""Moves: builds the moves that operators request, from a source and a target."""

from typing import TYPE_CHECKING, Any

from pybroker.core.queue.browse.filter import Filter
from pybroker.core.queue.move.chosen import Chosen
from pybroker.core.queue.move.dead_letters import DeadLetters
from pybroker.core.queue.move.deaths import Deaths
from pybroker.core.queue.move.heads import Heads
from pybroker.core.queue.move.move import Move
from pybroker.core.queue.move.redrive import RedriveTarget
from pybroker.core.queue.move.target import ExchangeTarget, QueueTarget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybroker.core.queue.move.source import Source
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.exchange import Exchange


class Moves:
    """Each method returns a move that has not begun. The caller must not name the source as the target.

    `messages_max` limits how many messages are moved; None: all that are ready when it begins. `rate` is in messages
    per second; None: unlimited. `where` has the fields of a Filter, which selects the messages.
    """

    __slots__ = ()

    def to_queue(
        self,
        source: "Queue",
        target: "Queue",
        *,
        where: "Mapping[str, Any] | None" = None,
        messages_max: int | None = None,
        rate: float | None = None,
    ) -> Move:
        """Move messages to another queue; they keep the exchange and routing key they were published with."""
        return Move(_source(source, where), QueueTarget(target), messages_max=messages_max, rate=rate)

    def to_exchange(
        self,
        source: "Queue",
        exchange: "Exchange",
        routing_key: str | None = None,
        *,
        where: "Mapping[str, Any] | None" = None,
        messages_max: int | None = None,
        rate: float | None = None,
    ) -> Move:
        """Move messages to an exchange, with `routing_key`, or each with its own."""
        target = ExchangeTarget(source, exchange, routing_key)
        return Move(_source(source, where), target, messages_max=messages_max, rate=rate)

    def redrive(
        self,
        source: "Queue",
        *,
        origin: str | None = None,
        reason: str | None = None,
        through_exchange: bool = False,
        messages_max: int | None = None,
        rate: float | None = None,
    ) -> Move:
        """Move dead letters back to the queue in which they died, or `through_exchange` to where they were published.

        `origin` and `reason` select those that died in that queue, for that reason.
        """
        deaths = Deaths(source.name, origin, reason)
        target = RedriveTarget(source, deaths, through_exchange=through_exchange)
        return Move(DeadLetters(source, deaths), target, messages_max=messages_max, rate=rate)


def _source(queue: "Queue", where: "Mapping[str, Any] | None") -> "Source":
    if where is None:
        return Heads(queue)
    wanted = Filter(**where)
    return Chosen(queue, lambda message: wanted.matches(message) or None)
