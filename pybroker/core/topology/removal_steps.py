"""The steps in which a queue, an exchange, a connection or a virtual host is removed with all that hangs on it.

Each function here yields after what costs some tens of microseconds; `removal` has a share of that done in each turn.
Lists are emptied on the way (`_each`): to free fifty thousand queues at the end takes Python a tenth of a second.
"""

from typing import TYPE_CHECKING, TypeVar

from pybroker.core.events import connections as connection_events, topology as topology_events
from pybroker.core.metadata.store import forget_binding, forget_exchange, forget_queue, forget_vhost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pybroker.core.channel.state import SessionState
    from pybroker.core.events.cause import Cause
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.binding import Binding
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.topology.removal import Removal, Steps
    from pybroker.core.topology.vhost import VHost

T = TypeVar("T")


def remove_queue(queue: "Queue", messages: int, removal: "Removal") -> "Steps":
    """Take a deleted queue's bindings and consumers, step by step.

    Auto-delete exchanges that lose their last binding go with it.
    """
    vhost = queue.vhost
    removal.hold(vhost, "queue", queue.name)
    forget_queue(queue, removal)
    yield from drop_bindings(vhost, list(vhost.bound.get(queue, {}).values()), removal)
    for consumer in _each(list(queue.consumers)):
        if not consumer.cancelled:
            queue.consumers.remove(consumer)
            consumer.cancelled_by_server()
            connection_events.consumer_deleted(consumer)
            yield
    queue.consumers.forget()
    topology_events.queue_deleted(queue, removal.cause, messages)


def remove_unused(queues: "list[Queue]", cause: "Cause", _removal: "Removal") -> "Steps":
    """Do what it means for queues that a consumer left, one by one: that of the last one may be their end."""
    for queue in _each(queues):
        queue.consumer_left(cause)
        yield


def remove_owned(
    unused: "list[Queue]",
    unused_cause: "Cause",
    exclusive: "list[Queue]",
    requeue: "Removal | None",
    removal: "Removal",
) -> "Steps":
    """Do that for a connection that ended, and delete its exclusive queues, one by one; wait for its `requeue`."""
    yield from remove_unused(unused, unused_cause, removal)
    for queue in _each(exclusive):
        if not queue.deleted:
            yield from delete_queue(queue, removal.cause)
    while requeue is not None and not requeue.is_over:
        yield


def remove_vhost(vhost: "VHost", why: str, removal: "Removal") -> "Steps":
    """Take everything in a virtual host that is deleted, step by step: its connections first, which might make more."""
    broker = vhost.broker
    cause = removal.cause
    along = cause._replace(why=f"its virtual host was deleted: {cause.why}")
    yield from close_sessions(vhost.sessions, why)
    while vhost.queues:
        for queue in _each(list(vhost.queues.values())):
            if not queue.deleted:
                yield from delete_queue(queue, along)
    while vhost.leaving:
        yield  # what was deleted before
    for exchange in list(vhost.exchanges.values()):
        yield from _detach(vhost, list(exchange.bindings()), {}, removal)
        forget_exchange(exchange, removal)
        exchange.discard()
        topology_events.exchange_deleted(exchange, cause, asked=True)
    forget_vhost(vhost, removal)
    topology_events.vhost_deleted(vhost, cause)
    for exchange in vhost.exchanges.values():
        vhost.traffic.exchange_gone(exchange)
    vhost.exchanges.clear()
    vhost.bound.clear()
    yield from broker.parameters.forget_vhost(vhost.name, cause)
    yield from broker.users.forget_vhost(vhost.name, cause)


def close_sessions(sessions: "Iterable[SessionState]", why: str) -> "Steps":
    """Close connections for an operator's wish, step by step."""
    for session in _each(list(sessions)):
        session.close(320, why)
        yield


def delete_queue(queue: "Queue", cause: "Cause") -> "Steps":
    """Delete a queue and wait until all of it is gone, step by step."""
    over: list[int] = []
    queue.vhost.delete_queue(queue, cause, over.append)
    yield
    while not over:
        yield


def drop_bindings(vhost: "VHost", bindings: "list[Binding]", removal: "Removal") -> "Steps":
    """Detach bindings, then delete the auto-delete exchanges that were left without any."""
    unused: dict[Exchange, None] = {}
    yield from _detach(vhost, bindings, unused, removal)
    yield from drop_exchanges(vhost, list(unused), None, removal)


def _detach(vhost: "VHost", bindings: "list[Binding]", unused: "dict[Exchange, None]", removal: "Removal") -> "Steps":
    """Detach bindings at both ends; add the auto-delete exchanges that have none left to `unused`."""
    for binding in _each(bindings):
        source = binding.source
        if not source.remove(binding):
            continue  # its other end goes too, and was here first
        forget_binding(binding, removal)
        topology_events.binding_deleted(binding, removal.cause)
        bound = vhost.bound.get(binding.destination)
        if bound is not None:
            bound.pop(binding.key, None)
            if not bound:
                del vhost.bound[binding.destination]
        vhost.bump()
        if source.auto_delete and not source.in_use:
            unused[source] = None
        yield


def drop_exchanges(
    vhost: "VHost", exchanges: "list[Exchange]", asked: "Exchange | None", removal: "Removal"
) -> "Steps":
    """Delete exchanges with their bindings, and what this leaves unused: a loop, since a chain may be of any length."""
    while exchanges:
        exchange = exchanges.pop()
        if vhost.exchanges.get(exchange.name) is not exchange or (exchange is not asked and exchange.in_use):
            continue
        del vhost.exchanges[exchange.name]
        vhost.traffic.exchange_gone(exchange)
        removal.hold(vhost, "exchange", exchange.name)
        vhost.bump()
        forget_exchange(exchange, removal)
        exchange.discard()
        topology_events.exchange_deleted(exchange, removal.cause, asked=exchange is asked)
        # Outgoing bindings first: a deleted exchange was not "left without bindings" by its own deletion.
        yield from _detach(vhost, list(exchange.bindings()), {}, removal)
        unused: dict[Exchange, None] = {}
        yield from _detach(vhost, list(vhost.bound.get(exchange, {}).values()), unused, removal)
        exchanges.extend(unused)


def _each(things: "list[T]") -> "Iterator[T]":
    """Yield one thing after the other and take it out of the list."""
    things.reverse()
    while things:
        yield things.pop()
