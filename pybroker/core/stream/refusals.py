"""Refusals of methods and consumers that a stream cannot have, in RabbitMQ's words."""

from typing import TYPE_CHECKING

from pybroker.core.reply_text import describe
from pybroker.errors import MethodNotImplemented, PreconditionFailed

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue


def refuse_stream(queue: "Queue", method: str) -> None:
    """Refuse a method that takes messages out of a queue. Raises MethodNotImplemented (540) for a stream."""
    if queue.retains:
        raise MethodNotImplemented(f"{method} not supported by stream queues {_name(queue)}")


def check_consume(stream: "Queue", *, no_ack: bool, prefetch: int, prefetch_global: int) -> None:
    """Check what a new consumer of a stream must have, in RabbitMQ's order: acknowledgements are its credit.

    Raises PreconditionFailed (406), MethodNotImplemented (540).
    """
    name = _name(stream)
    if not prefetch:
        raise PreconditionFailed(f"consumer prefetch count is not set for '{name}'")
    if no_ack:
        raise MethodNotImplemented(f"automatic acknowledgement not supported by stream queues {name}")
    if prefetch_global:
        raise MethodNotImplemented(f"{name} does not support global qos")


def _name(queue: "Queue") -> str:
    return describe("queue", queue.name, queue.vhost.name)
