"""What is told of nouns as events: each with the facts that RabbitMQ's events have (infos(CREATION_EVENT_KEYS)).

One function an event, called where it happens; none does anything while nobody listens.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pybroker.core.cause import Cause, because, by_client
from pybroker.wire.erlang import printed_binary

if TYPE_CHECKING:
    from pybroker.core.binding import Binding
    from pybroker.core.consumer import Consumer
    from pybroker.core.exchange.exchange import Exchange
    from pybroker.core.policy import Applied
    from pybroker.core.queue.queue import Queue
    from pybroker.core.users import User
    from pybroker.core.vhost import VHost

# Emits an event, caused by who asks for what happens now.
Tell = Callable[[str, Mapping[str, Any]], None]


def nobody_listens(_event: str, _facts: Mapping[str, Any]) -> None:
    """Tell nobody: what belongs to no broker has no events."""


# -- queues, exchanges, bindings --------------------------------------------------------------------------------------


def queue_created(queue: "Queue") -> None:
    """Tell of a queue that was declared."""
    events = queue.vhost.broker.events
    if events.wanted:
        facts = {
            "name": queue.name,
            "vhost": queue.vhost.name,
            "durable": queue.durable,
            "auto_delete": queue.auto_delete,
            "arguments": queue.arguments,
            "owner_pid": "" if queue.owner is None else _pid(queue.owner),
            "exclusive": queue.exclusive,
        }
        events.emit("queue.created", facts, events.cause())


def queue_deleted(queue: "Queue", cause: Cause, messages: int) -> None:
    """Tell that a queue is gone, and for the audit log why, and what went with it."""
    events = queue.vhost.broker.events
    if events.wanted:
        facts = {"name": queue.name, "vhost": queue.vhost.name}
        more = {"durable": queue.durable, "messages": messages}
        events.emit("queue.deleted", facts, cause, more)


def queue_purged(queue: "Queue", messages: int) -> None:
    """Tell the audit log that somebody dropped what was ready; RabbitMQ has no event of it."""
    events = queue.vhost.broker.events
    if events.wanted:
        events.note(
            "queue.purged", {"name": queue.name, "vhost": queue.vhost.name, "messages": messages}, events.cause()
        )


def exchange_created(exchange: "Exchange") -> None:
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
        events.emit("exchange.created", facts, events.cause())


def exchange_deleted(exchange: "Exchange", *, asked: bool) -> None:
    """Tell that an exchange is gone: somebody `asked` for it, or its last binding is gone (auto-delete)."""
    events = exchange.vhost.broker.events
    if events.wanted:
        cause = events.cause()
        if not asked:
            cause = cause._replace(why="auto-delete: its last binding is gone")
        events.emit("exchange.deleted", {"name": exchange.name, "vhost": exchange.vhost.name}, cause)


def binding_created(binding: "Binding") -> None:
    """Tell of a new binding."""
    _tell_binding("binding.created", binding)


def binding_deleted(binding: "Binding") -> None:
    """Tell that a binding is gone."""
    _tell_binding("binding.deleted", binding)


def _tell_binding(event: str, binding: "Binding") -> None:
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
        events.emit(event, facts, events.cause())


# -- connections, channels, consumers ---------------------------------------------------------------------------------


def _pid(session: Any) -> str:
    return str(session.pid)


def _channel_pid(channel: Any) -> str:
    return f"{channel.session.pid[:-2]}{channel.number}>"


def erlang_host(host: str) -> str:
    """Return an address as RabbitMQ's plugin shows one: `{127,0,0,1}`, `{0,0,0,0,0,0,0,1}`; a name as it is."""
    parts = host.split(".")
    if len(parts) == 4 and all(part.isdecimal() for part in parts):
        return f"{{{','.join(parts)}}}"
    if ":" not in host:
        return host
    head, double, tail = host.partition("%")[0].partition("::")
    first, last = ([word for word in half.split(":") if word] for half in (head, tail))
    words = first + ["0"] * (8 - len(first) - len(last) if double else 0) + last
    try:
        return f"{{{','.join(str(int(word, 16)) for word in words)}}}"
    except ValueError:
        return host


def _named(session: Any) -> dict[str, str]:
    name = session.client_properties.get("connection_name")
    return {"user_provided_name": name} if isinstance(name, str) else {}


def connection_created(session: Any) -> None:
    """Tell that a connection entered its virtual host."""
    events = session.broker.events
    if not events.heard:
        # The audit log asks for no more, and connections may come by the thousand.
        if events.wanted:
            facts = {"name": session.name, "vhost": session.vhost.name, "auth_mechanism": session.auth_mechanism}
            events.emit("connection.created", {**facts, **_named(session)}, by_client(session))
        return
    facts = {
        **_named(session),
        "type": "network",
        "pid": session.pid,
        "name": session.name,
        "port": session.port,
        "peer_port": session.peer_port,
        "host": erlang_host(session.host),
        "peer_host": erlang_host(session.peer_host),
        "ssl": False,
        **dict.fromkeys(("peer_cert_subject", "peer_cert_issuer", "peer_cert_validity"), ""),
        "auth_mechanism": session.auth_mechanism,
        **dict.fromkeys(("ssl_protocol", "ssl_key_exchange", "ssl_cipher", "ssl_hash"), ""),
        "protocol": "{0,9,1}",
        "user": session.user.name,
        "vhost": session.vhost.name,
        "timeout": session.heartbeat_s,
        "frame_max": session.frame_octets_max,
        "channel_max": session.channel_max,
        "client_properties": session.client_properties,
        "connected_at": session.connected_at_ms,
        "node": session.broker.settings.node_name,
    }
    events.emit("connection.created", facts, by_client(session))


def connection_closed(session: Any, reason: str) -> None:
    """Tell that a connection is gone, whether it ever came to a virtual host or not."""
    events = session.broker.events
    if events.wanted:
        facts = {
            **_named(session),
            "name": session.name,
            "pid": session.pid,
            "node": session.broker.settings.node_name,
            "client_properties": session.client_properties,
        }
        user = session.user.name if session.user is not None else ""
        vhost = session.vhost.name if session.vhost is not None else ""
        events.emit("connection.closed", facts, None, {"user": user, "vhost": vhost, "reason": reason})


def authenticated(session: Any, name: str, error: str = "") -> None:
    """Tell that somebody was let in, or why not."""
    events = session.broker.events
    if not (events.wanted if error else events.heard):
        return
    facts = {
        "connection_type": "network",
        "name": name,
        "host": erlang_host(session.host),
        "connection_name": session.name,
        "peer_host": erlang_host(session.peer_host),
        "peer_port": session.peer_port,
        "protocol": "{0,9,1}",
        "auth_mechanism": session.auth_mechanism,
        "ssl": False,
    }
    if error:
        # Differs from RabbitMQ: its text is an array of the characters' numbers.
        facts["error"] = error
    events.emit(f"user.authentication.{'failure' if error else 'success'}", facts)


def channel_created(channel: Any) -> None:
    """Tell of a channel that was opened."""
    session = channel.session
    events = session.broker.events
    if events.heard:
        facts = {
            "pid": _channel_pid(channel),
            "name": f"{session.name} ({channel.number})",
            "connection": session.pid,
            "number": channel.number,
            "user": session.user.name,
            "vhost": session.vhost.name,
        }
        events.emit("channel.created", facts, by_client(session))


def channel_closed(channel: Any) -> None:
    """Tell that a channel is gone."""
    events = channel.session.broker.events
    if events.heard:
        events.emit("channel.closed", {"pid": _channel_pid(channel)}, by_client(channel.session))


def consumer_created(consumer: "Consumer") -> None:
    """Tell of a new consumer."""
    events = consumer.queue.vhost.broker.events
    if events.heard:
        facts = {
            "consumer_tag": consumer.tag,
            "exclusive": consumer.exclusive,
            "ack_required": not consumer.no_ack,
            "channel": _channel_pid(consumer.channel),
            "queue": consumer.queue.name,
            "vhost": consumer.queue.vhost.name,
            "prefetch_count": consumer.prefetch,
            "arguments": consumer.arguments,
        }
        events.emit("consumer.created", facts, by_client(consumer.channel.session))


def consumer_deleted(consumer: "Consumer") -> None:
    """Tell that a consumer is gone: cancelled, or with its channel or queue."""
    events = consumer.queue.vhost.broker.events
    if events.heard:
        # Differs from RabbitMQ: it tells twice of one that goes with its queue.
        facts = {
            "consumer_tag": consumer.tag,
            "channel": _channel_pid(consumer.channel),
            "queue": consumer.queue.name,
            "vhost": consumer.queue.vhost.name,
        }
        events.emit("consumer.deleted", facts, by_client(consumer.channel.session))


# -- virtual hosts, and what operators do -----------------------------------------------------------------------------


def vhost_created(vhost: "VHost") -> None:
    """Tell of a new virtual host, and of the exchanges it has from the start."""
    events = vhost.broker.events
    if not events.wanted:
        return
    for exchange in list(vhost.exchanges.values()):
        exchange_created(exchange)
    events.emit("vhost.created", _of_vhost(vhost), events.cause())


def vhost_described(vhost: "VHost", *, tags_alone: bool) -> None:
    """Tell that what describes a virtual host was changed."""
    tell = vhost.broker.events.tell
    if tags_alone:
        tell("vhost.tags.set", {"name": vhost.name, "tags": list(vhost.tags)})
    else:
        tell("vhost.updated", _of_vhost(vhost))


def _of_vhost(vhost: "VHost") -> dict[str, Any]:
    description, tags = printed_binary(vhost.description.encode()), ",".join(vhost.tags)
    return {
        "name": vhost.name,
        "default_queue_type": vhost.default_queue_type or "undefined",
        "metadata": f"#{{description => {description},tags => {printed_binary(tags.encode())}}}",
        "tracing": vhost.tracing,
        "cluster_state": {vhost.broker.settings.node_name: "running"},
        "description": vhost.description,
        "tags": tags,
    }


def vhost_deleted(vhost: "VHost") -> None:
    """Tell that a virtual host is gone, with its exchanges and what is left of their bindings."""
    events = vhost.broker.events
    if not events.wanted:
        return
    for exchange in list(vhost.exchanges.values()):
        for binding in list(exchange.bindings()):
            binding_deleted(binding)
        exchange_deleted(exchange, asked=True)
    events.emit("vhost.deleted", {"name": vhost.name}, events.cause())
    facts = {"name": vhost.name, "node": vhost.broker.settings.node_name}
    events.emit("vhost.down", facts, because("its virtual host is deleted"))


def user_created(tell: Tell, user: "User") -> None:
    """Tell of a new user, with tags and limits if there are any."""
    tell("user.created", {"name": user.name})
    if user.tags:
        tell("user.tags.set", {"name": user.name, "tags": list(user.tags)})
    if user.limits:
        tell("user.limits.set", {"name": "limits", "username": user.name, **user.limits})


def user_limits(tell: Tell, user: "User", before: Mapping[str, int]) -> None:
    """Tell that limits of a user were set, or taken away."""
    changed = {key: limit for key, limit in user.limits.items() if before.get(key) != limit}
    if changed or len(user.limits) == len(before):
        tell("user.limits.set", {"name": "limits", "username": user.name, **user.limits})
    else:
        tell("user.limits.cleared", {"name": "limits", "username": user.name})


def policy_applied(noun: Any, before: "Applied") -> None:
    """Tell of a queue that it is under other policies than before. RabbitMQ tells of queues alone."""
    events = noun.vhost.broker.events
    if not events.wanted or noun.kind != "queue":
        return
    now = noun.applied
    facts = {"name": noun.name, "vhost": noun.vhost.name, "type": f"rabbit_{noun.type}_queue"}
    for policy, old in ((now.user, before.user), (now.operator, before.operator)):
        if policy is old:
            continue
        if policy is None:
            events.tell("queue.policy.cleared", facts)
            continue
        terms = {
            "pattern": policy.pattern.text,
            "definition": policy.definition,
            "priority": policy.priority,
            "apply-to": policy.apply_to,
        }
        events.tell("queue.policy.updated", {**facts, **terms})


def parameter_set(tell: Tell, vhost_name: str, component: str, name: str, value: Any) -> None:
    """Tell that a runtime parameter was set, and what that means: a policy, or limits."""
    if component != "policy":
        tell("parameter.set", {"vhost": vhost_name, "component": component, "name": name, "value": value})
    if component in {"policy", "operator_policy"}:
        tell("policy.set", {"name": name, "vhost": vhost_name, **value})
    elif component == "vhost-limits":
        tell("vhost.limits.set", {"name": name, **dict(value)})


def parameter_cleared(tell: Tell, vhost_name: str, component: str, name: str) -> None:
    """Tell that a runtime parameter was cleared, and what that means."""
    if component != "policy":
        tell("parameter.cleared", {"vhost": vhost_name, "component": component, "name": name})
    if component in {"policy", "operator_policy"}:
        event = "policy.cleared" if component == "policy" else "operator.policy.cleared"
        tell(event, {"name": name, "vhost": vhost_name})
    elif component == "vhost-limits":
        tell("vhost.limits.cleared", {"name": name})


def global_parameter(tell: Tell, event: str, name: str, **value: Any) -> None:
    """Tell that a global parameter was set or cleared.

    # Differs from RabbitMQ: 3.10 tells of both as parameter.set; 3.13 does as we do.
    """
    tell(event, {"component": "global", "name": name, **value})
