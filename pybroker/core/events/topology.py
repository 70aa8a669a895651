"""Events of virtual hosts, exchanges, queues and bindings, with the facts of RabbitMQ's.

One function an event, called where it happens; none does anything while nobody listens. `connections` has the events of
clients, `admin` those of administration.
"""

from typing import TYPE_CHECKING, Any

from pybroker.core.events.cause import Cause, because
from pybroker.wire.erlang import printed_binary

if TYPE_CHECKING:
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.queue.pause import Pause
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.binding import Binding
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.topology.vhost import VHost

# -- queues, exchanges, bindings --------------------------------------------------------------------------------------


def queue_created(queue: "Queue", cause: Cause) -> None:
    """Tell of a queue that was declared."""
    events = queue.vhost.broker.events
    if events.wanted:
        owner: Any = queue.owner
        facts = {
            "name": queue.name,
            "vhost": queue.vhost.name,
            "durable": queue.durable,
            "auto_delete": queue.auto_delete,
            "arguments": queue.arguments,
            "owner_pid": "" if owner is None else owner.pid,
            "exclusive": queue.exclusive,
        }
        events.emit("queue.created", facts, cause)


def queue_deleted(queue: "Queue", cause: Cause, messages: int) -> None:
    """Tell that a queue is gone, and for the audit log why, and what went with it."""
    events = queue.vhost.broker.events
    if events.wanted:
        facts = {"name": queue.name, "vhost": queue.vhost.name}
        more = {"durable": queue.durable, "messages": messages}
        events.emit("queue.deleted", facts, cause, more)


def queue_purged(queue: "Queue", cause: Cause, messages: int) -> None:
    """Tell the audit log that somebody dropped what was ready; RabbitMQ has no event of it."""
    events = queue.vhost.broker.events
    if events.wanted:
        facts = {"name": queue.name, "vhost": queue.vhost.name, "messages": messages}
        events.note("queue.purged", facts, cause)


def queue_moved(queue: "Queue", target: str, messages: int, cause: Cause) -> None:
    """Tell that somebody moved messages of a queue to a target, named for people; RabbitMQ has no event of it."""
    events = queue.vhost.broker.events
    if events.wanted:
        facts = {"name": queue.name, "vhost": queue.vhost.name, "target": target, "messages": messages}
        events.emit("queue.moved", facts, cause)


def queue_pause(queue: "Queue", replaced: "Pause | None", event: str, cause: Cause) -> None:
    """Tell that an operator paused a queue, or resumed it in part or whole; RabbitMQ has no such event.

    The order may have `replaced` another one.
    """
    events = queue.vhost.broker.events
    if events.wanted:
        order = queue.paused
        facts: dict[str, Any] = {"name": queue.name, "vhost": queue.vhost.name, "paused": order.what if order else ""}
        if order is not None:
            facts |= {"mode": order.publishers_mode, "why": order.why}
        if replaced is not None:
            facts |= {"replaced_user": replaced.user, "replaced_why": replaced.why}
        events.emit(event, facts, cause)


def consumer_pause(consumer: "Consumer", event: str, cause: Cause) -> None:
    """Tell that an operator paused or resumed a consumer, which it tells of before; RabbitMQ has no such event."""
    queue, order = consumer.queue, consumer.paused
    events = queue.vhost.broker.events
    if events.wanted and order is not None:
        name = consumer.channel.session.name
        facts = {"consumer_tag": consumer.tag, "queue": queue.name, "vhost": queue.vhost.name, "connection_name": name}
        events.emit(event, {**facts, "why": order.why}, cause)


def exchange_created(exchange: "Exchange", cause: Cause) -> None:
    """Tell of an exchange that was declared."""
    events = exchange.vhost.broker.events
    if events.wanted:
        facts = {
            "name": exchange.name,
            "vhost": exchange.vhost.name,
            "type": exchange.TYPE,
            "durable": exchange.durable,
            "auto_delete": exchange.auto_delete,
            "internal": exchange.internal,
            "arguments": exchange.arguments,
            "policy": getattr(exchange, "policy", "") or "",
        }
        events.emit("exchange.created", facts, cause)


def exchange_deleted(exchange: "Exchange", cause: Cause, *, asked: bool) -> None:
    """Tell that an exchange is gone: somebody `asked` for it, or its last binding is gone (auto-delete)."""
    events = exchange.vhost.broker.events
    if events.wanted:
        if not asked:
            cause = cause._replace(why="auto-delete: its last binding was removed")
        events.emit("exchange.deleted", {"name": exchange.name, "vhost": exchange.vhost.name}, cause)


def binding_created(binding: "Binding", cause: Cause) -> None:
    """Tell of a new binding."""
    _tell_binding("binding.created", binding, cause)


def binding_deleted(binding: "Binding", cause: Cause) -> None:
    """Tell that a binding is gone."""
    _tell_binding("binding.deleted", binding, cause)


def _tell_binding(event: str, binding: "Binding", cause: Cause) -> None:
    events = binding.source.vhost.broker.events
    if events.wanted:
        facts = {
            "source_name": binding.source.name,
            "source_kind": "exchange",
            "destination_name": binding.destination.name,
            "destination_kind": binding.destination.kind,
            "routing_key": binding.routing_key,
            "arguments": binding.arguments,
            "vhost": binding.source.vhost.name,
        }
        events.emit(event, facts, cause)


# -- virtual hosts ----------------------------------------------------------------------------------------------------


def vhost_created(vhost: "VHost", cause: Cause) -> None:
    """Tell of a new virtual host, and of the exchanges it has from the start."""
    events = vhost.broker.events
    if not events.wanted:
        return
    for exchange in list(vhost.exchanges.values()):
        exchange_created(exchange, cause)
    events.emit("vhost.created", _of_vhost(vhost), cause)


def vhost_described(vhost: "VHost", cause: Cause, *, tags_alone: bool) -> None:
    """Tell that what describes a virtual host was changed."""
    emit = vhost.broker.events.emit
    if tags_alone:
        emit("vhost.tags.set", {"name": vhost.name, "tags": list(vhost.tags)}, cause)
    else:
        emit("vhost.updated", _of_vhost(vhost), cause)


def _of_vhost(vhost: "VHost") -> dict[str, Any]:
    description, tags = printed_binary(vhost.description.encode()), ",".join(vhost.tags)
    return {
        "name": vhost.name,
        "default_queue_type": vhost.default_queue_type or "undefined",
        "metadata": f"#{{description => {description},tags => {printed_binary(tags.encode())}}}",
        "tracing": vhost.firehose,
        "cluster_state": {vhost.broker.settings.node_name: "running"},
        "description": vhost.description,
        "tags": tags,
    }


def vhost_deleted(vhost: "VHost", cause: Cause) -> None:
    """Tell that a virtual host is gone."""
    events = vhost.broker.events
    if not events.wanted:
        return
    events.emit("vhost.deleted", {"name": vhost.name}, cause)
    facts = {"name": vhost.name, "node": vhost.broker.settings.node_name}
    events.emit("vhost.down", facts, because("its virtual host is deleted"))
